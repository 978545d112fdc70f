use async_trait::async_trait;
use foundry_kernel::{Execute, Tool, ToolError};
use foundry_platform::tools::arguments;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Bench, spec, writes};

/// `save_coding_plan`: keeps the plan, which ends planning.
pub(super) fn tool(bench: &Bench) -> Tool {
    let schema = json!({
        "type": "object", "additionalProperties": false, "required": ["markdown"],
        "properties": {
            "markdown": {
                "type": "string", "minLength": 1, "maxLength": 200_000,
                "description": "The plan."
            }
        }
    });
    let description = "Save the plan of this task as a markdown document. Building starts when \
        it is approved.";
    writes(spec("save_coding_plan", description, schema), SaveCodingPlan(bench.clone()))
        .ending_the_run()
}

struct SaveCodingPlan(Bench);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    markdown: String,
}

#[async_trait]
impl Execute for SaveCodingPlan {
    async fn execute(&self, given: Map<String, Value>) -> Result<String, ToolError> {
        let Arguments { markdown } = arguments(given)?;
        if markdown.trim().is_empty() {
            return Err(ToolError::Failed("the plan is empty: write it in markdown".to_owned()));
        }
        let saved = self.0.desk.save_plan(&markdown).await;
        let plan = saved.map_err(|error| ToolError::Failed(error.to_string()))?;
        let told = match &plan.location {
            Some(location) => format!("saved at {location}"),
            None => "saved".to_owned(),
        };
        self.0.ledger.planned(plan);
        Ok(told)
    }
}
