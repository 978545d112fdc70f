use std::sync::Arc;

use async_trait::async_trait;
use foundry_kernel::{Execute, ToolError};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{arguments, write_failed};
use crate::api::Api;
use crate::text::instant;

/// `remember`: writes a fact to the archive (MEM-04; the API decides the tier by
/// who calls).
pub(super) struct Remember(pub(super) Arc<dyn Api>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    text: String,
}

#[async_trait]
impl Execute for Remember {
    async fn execute(&self, given: Map<String, Value>) -> Result<String, ToolError> {
        let Arguments { text } = arguments(given)?;
        let text = text.trim();
        if text.is_empty() {
            return Err(ToolError::Failed("text is empty: say what to remember".to_owned()));
        }
        let memory = self.0.remember(text).await.map_err(|error| write_failed(&error))?;
        Ok(format!("remembered at {}: {}", instant(memory.created_at), memory.text))
    }
}
