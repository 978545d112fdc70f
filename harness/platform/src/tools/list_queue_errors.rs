use std::sync::Arc;

use async_trait::async_trait;
use foundry_kernel::{Execute, ToolError};
use serde::Deserialize;
use serde_json::{Map, Value};

use super::{arguments, read_failed, result};
use crate::api::Api;

/// `list_queue_errors`: the dead-letter queue of the intelligence service (CODE-36).
pub(super) struct ListQueueErrors(pub(super) Arc<dyn Api>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    queue: Option<String>,
    limit: Option<u32>,
}

#[async_trait]
impl Execute for ListQueueErrors {
    async fn execute(&self, given: Map<String, Value>) -> Result<String, ToolError> {
        let Arguments { queue, limit } = arguments(given)?;
        let read = self.0.queue_errors(queue.as_deref(), limit).await;
        result(&read.map_err(|error| read_failed(&error))?)
    }
}
