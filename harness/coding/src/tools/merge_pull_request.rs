use async_trait::async_trait;
use foundry_kernel::{Execute, Tool, ToolError};
use serde_json::{Map, Value, json};

use super::{spec, writes};

/// `merge_pull_request`: offered, and refused. Nothing can set `allow_merge` (CODE-08).
pub(super) fn tool() -> Tool {
    let schema = json!({ "type": "object", "additionalProperties": false, "properties": {} });
    let description = "Merge the pull request. Refused unless the repository allows it.";
    writes(spec("merge_pull_request", description, schema), Refuse)
}

struct Refuse;

#[async_trait]
impl Execute for Refuse {
    async fn execute(&self, _: Map<String, Value>) -> Result<String, ToolError> {
        Err(ToolError::Failed(
            "merging is refused: allow_merge is false for this repository. A person merges the \
             pull request; finish without it"
                .to_owned(),
        ))
    }
}
