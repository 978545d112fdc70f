use std::sync::Arc;

use async_trait::async_trait;
use foundry_kernel::{Execute, ToolError};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{arguments, read_failed, result, shown};
use crate::api::Api;

/// `list_agents`: the agents of the workspace, without their instructions.
pub(super) struct ListAgents(pub(super) Arc<dyn Api>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    query: Option<String>,
    limit: Option<u32>,
    cursor: Option<String>,
}

#[async_trait]
impl Execute for ListAgents {
    async fn execute(&self, given: Map<String, Value>) -> Result<String, ToolError> {
        let Arguments { query, limit, cursor } = arguments(given)?;
        let page = self
            .0
            .list_agents(query.as_deref(), limit, cursor.as_deref())
            .await
            .map_err(|error| read_failed(&error))?;
        let items = page
            .items
            .iter()
            .map(|agent| shown(agent).into_iter().map(named).collect::<Map<_, _>>())
            .collect::<Vec<_>>();
        result(&json!({ "items": items, "next_cursor": page.next_cursor }))
    }
}

fn named((name, value): (&'static str, Value)) -> (String, Value) {
    (name.to_owned(), value)
}
