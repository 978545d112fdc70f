use async_trait::async_trait;
use foundry_kernel::{Execute, Tool, ToolError};
use foundry_platform::tools::arguments;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Bench, spec, writes};

/// `open_pull_request`: of the working branch against the default branch (CODE-06).
pub(super) fn tool(bench: &Bench) -> Tool {
    let schema = json!({
        "type": "object", "additionalProperties": false, "required": ["title", "description"],
        "properties": {
            "title": {
                "type": "string", "minLength": 1, "maxLength": 200, "description": "Title."
            },
            "description": {
                "type": "string", "minLength": 1, "maxLength": 50_000,
                "description": "What changed, why, and how it was checked."
            }
        }
    });
    let description = "Open the pull request of the working branch against the default branch.";
    writes(spec("open_pull_request", description, schema), OpenPullRequest(bench.clone()))
}

struct OpenPullRequest(Bench);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    title: String,
    description: String,
}

#[async_trait]
impl Execute for OpenPullRequest {
    async fn execute(&self, given: Map<String, Value>) -> Result<String, ToolError> {
        let Arguments { title, description } = arguments(given)?;
        for (name, text) in [("title", &title), ("description", &description)] {
            if text.trim().is_empty() {
                return Err(ToolError::Failed(format!("the {name} is empty: write one")));
            }
        }
        let opened = self.0.site.open_pull_request(&title, &description, &self.0.ledger).await;
        opened.map_err(|error| ToolError::Failed(error.to_string()))
    }
}
