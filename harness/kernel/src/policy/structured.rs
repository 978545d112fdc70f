//! `structured_output`: how a run ends with a value (KERN-28).

use std::sync::Arc;

use async_trait::async_trait;
use foundry_llm::ToolSpec;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::schema::{self, SchemaError};
use crate::entry::UserInput;
use crate::tool::{AssembleError, Effect, Execute, Tool, ToolError};

/// Its name on the wire.
pub(crate) const NAME: &str = "structured_output";

const DESCRIPTION: &str = "Submits the result of this task, and ends it. Call it once, alone, when \
    you are done. Its arguments are the result; they must fit the schema exactly.";

const NUDGE: &str = "You have ended without submitting your result. Call structured_output now, \
    with the result as its arguments. Nothing else you say is read.";

/// What a run is to end with: an object of this JSON Schema.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct OutputSchema(Value);

impl OutputSchema {
    /// A schema that a tool can have: a usable JSON Schema of an object.
    pub fn new(schema: Value) -> Result<Self, SchemaError> {
        schema::check(&schema)?;
        Ok(Self(schema))
    }

    /// One of the kernel's own; it is checked as any other when a run is assembled.
    pub(crate) fn trusted(schema: Value) -> Self {
        Self(schema)
    }

    /// The schema, whole.
    pub fn as_value(&self) -> &Value {
        &self.0
    }
}

/// The tool by which the value is submitted: its arguments are the value.
pub(crate) fn tool(output: &OutputSchema) -> Result<Tool, AssembleError> {
    // A stored run may hold one that was never checked.
    schema::check(&output.0).map_err(|error| AssembleError::BadSchema {
        tool: NAME.to_owned(),
        reason: error.to_string(),
    })?;
    let spec = ToolSpec {
        name: NAME.to_owned(),
        description: DESCRIPTION.to_owned(),
        input_schema: output.0.clone(),
    };
    Ok(Tool::new(spec, Effect::Read, Arc::new(Taken)))
}

/// What is said, once, to a model that ended without a value.
pub(crate) fn nudge() -> UserInput {
    UserInput::from(NUDGE)
}

/// The kernel takes the value while it judges the call, so nothing is left to be run.
struct Taken;

#[async_trait]
impl Execute for Taken {
    async fn execute(&self, _: Map<String, Value>) -> Result<String, ToolError> {
        Err(ToolError::Failed(format!("{NAME} is taken by the kernel and never run")))
    }
}

#[cfg(test)]
mod tests;
