use async_trait::async_trait;
use foundry_client::{Approval, QuestionKind};
use foundry_kernel::{Execute, Tool, ToolError};
use foundry_platform::tools::arguments;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Bench, spec, writes};
use crate::desk::Question;

/// What stands in for an answer where nobody is asked and nothing was recommended.
const DECIDE: &str =
    "Nobody is asked in this run: decide it yourself, and say in your summary how.";

/// `ask_question`: the answer is the call's result (CODE-17).
pub(super) fn tool(bench: &Bench) -> Tool {
    let schema = json!({
        "type": "object", "additionalProperties": false, "required": ["question"],
        "properties": {
            "question": {
                "type": "string", "minLength": 1, "maxLength": 4000,
                "description": "The question, with what is needed to answer it."
            },
            "options": {
                "type": "array", "maxItems": 10, "items": { "type": "string" },
                "description": "Possible answers."
            },
            "recommended": { "type": "string", "description": "The answer you would take." }
        }
    });
    let spec = spec("ask_question", "Ask a person and wait for the answer.", schema);
    writes(spec, AskQuestion(bench.clone()))
}

struct AskQuestion(Bench);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    question: String,
    #[serde(default)]
    options: Vec<String>,
    recommended: Option<String>,
}

#[async_trait]
impl Execute for AskQuestion {
    async fn execute(&self, given: Map<String, Value>) -> Result<String, ToolError> {
        let Arguments { question: text, options, recommended } = arguments(given)?;
        if text.trim().is_empty() {
            return Err(ToolError::Failed("the question is empty: say what to ask".to_owned()));
        }
        let Bench { desk, site: _, ledger, stopwatch, approval } = &self.0;
        let kind = QuestionKind::Question;
        let question = Question { kind, text, options, recommended, plan_sha256: None };
        let answer = match approval {
            // CODE-32
            Approval::Itself => {
                let answer = question.recommended.clone().unwrap_or_else(|| DECIDE.to_owned());
                desk.answered_itself(&question, &answer);
                answer
            }
            Approval::Person => {
                let _still = stopwatch.stand_still(); // CODE-24
                let asked = desk.ask(&question).await;
                asked.map_err(|error| ToolError::Failed(error.to_string()))?.text
            }
        };
        ledger.answered(&question.text, &answer);
        Ok(answer)
    }
}
