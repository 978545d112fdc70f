use std::sync::Arc;

use async_trait::async_trait;
use foundry_client::Memory;
use foundry_kernel::{Execute, ToolError};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{arguments, read_failed, result};
use crate::api::Api;

/// `recall`: finds what is remembered and not among the thoughts (MEM-02).
pub(super) struct Recall(pub(super) Arc<dyn Api>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    query: String,
    limit: Option<u32>,
}

#[async_trait]
impl Execute for Recall {
    async fn execute(&self, given: Map<String, Value>) -> Result<String, ToolError> {
        let Arguments { query, limit } = arguments(given)?;
        let found = self.0.recall(&query, limit).await.map_err(|error| read_failed(&error))?;
        result(&json!({ "items": found.iter().map(shown).collect::<Vec<_>>() }))
    }
}

fn shown(memory: &Memory) -> Value {
    json!({
        "text": memory.text,
        "written_at": memory.created_at,
        "written_by": memory.author_kind,
        "superseded": memory.superseded,
    })
}
