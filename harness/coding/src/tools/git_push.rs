use async_trait::async_trait;
use foundry_kernel::{Execute, Tool, ToolError};
use serde_json::{Map, Value, json};

use super::{Bench, spec, writes};

/// `git_push`: the working branch, and no other (CODE-05).
pub(super) fn tool(bench: &Bench) -> Tool {
    let schema = json!({ "type": "object", "additionalProperties": false, "properties": {} });
    let description = "Push the working branch. The target branch of the pull request is refused.";
    writes(spec("git_push", description, schema), GitPush(bench.clone()))
}

struct GitPush(Bench);

#[async_trait]
impl Execute for GitPush {
    async fn execute(&self, _: Map<String, Value>) -> Result<String, ToolError> {
        let pushed = self.0.site.push(&self.0.ledger).await;
        pushed.map_err(|error| ToolError::Failed(error.to_string()))
    }
}
