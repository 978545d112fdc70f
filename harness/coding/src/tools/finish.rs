use async_trait::async_trait;
use foundry_client::{CodingOutcome, CodingResult};
use foundry_git::chain;
use foundry_kernel::{Execute, Tool, ToolError};
use foundry_platform::tools::arguments;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Bench, spec, writes};
use crate::task::finish;

/// `finish`: ends the task, which the gate may refuse (CODE-18).
pub(super) fn tool(bench: &Bench) -> Tool {
    let schema = json!({
        "type": "object", "additionalProperties": false, "required": ["outcome", "summary"],
        "properties": {
            "outcome": {
                "type": "string", "enum": ["completed", "failed"],
                "description": "How it ended."
            },
            "summary": {
                "type": "string", "minLength": 1, "maxLength": 10_000,
                "description": "What was done and what is left."
            }
        }
    });
    let description = "End this run. completed needs a check that passed after the last edit, \
        unless only documents changed.";
    writes(spec("finish", description, schema), Finish(bench.clone())).ending_the_run()
}

struct Finish(Bench);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    outcome: Outcome,
    summary: String,
}

#[derive(Clone, Copy, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Outcome {
    Completed,
    Failed,
}

#[async_trait]
impl Execute for Finish {
    async fn execute(&self, given: Map<String, Value>) -> Result<String, ToolError> {
        let Arguments { outcome, summary } = arguments(given)?;
        let summary = summary.trim().to_owned();
        if summary.is_empty() {
            return Err(ToolError::Failed("the summary is empty: say what was done".to_owned()));
        }
        let Bench { site, ledger, .. } = &self.0;
        let outcome = match outcome {
            Outcome::Failed => CodingOutcome::Failed,
            Outcome::Completed => {
                let standing = site.standing(ledger).await;
                let standing = standing.map_err(|error| ToolError::Failed(chain(&error)))?;
                let missing = finish::missing(&standing);
                if !missing.is_empty() {
                    return Err(ToolError::Failed(format!(
                        "not completed yet:\n- {}",
                        missing.join("\n- ")
                    )));
                }
                CodingOutcome::Completed
            }
        };
        ledger.finished(CodingResult { outcome, summary });
        Ok("the task has ended".to_owned())
    }
}
