//! Whether a call may be run. A refusal is the call's result, and the turn goes on.

use serde_json::{Map, Value};

use super::schema;
use crate::tool::{Tool, Toolbox};

/// Finds the tool of a call; says why not when there is none of that name, or when the
/// arguments do not fit its schema.
pub(crate) fn check(
    tools: &Toolbox,
    name: &str,
    arguments: &Map<String, Value>,
) -> Result<(), String> {
    let tool = known(tools, name)?;
    match schema::mismatch(&tool.spec.input_schema, arguments) {
        Some(mismatch) => Err(format!("the arguments do not fit the schema of {name}: {mismatch}")),
        None => Ok(()),
    }
}

/// The tool of this name, or what there is instead.
pub(crate) fn known<'a>(tools: &'a Toolbox, name: &str) -> Result<&'a Tool, String> {
    if let Some(tool) = tools.get(name) {
        return Ok(tool);
    }
    let existing: Vec<&str> = tools.names().collect();
    Err(if existing.is_empty() {
        format!("there is no tool {name:?}, nor any other")
    } else {
        format!("there is no tool {name:?}. There are: {}", existing.join(", "))
    })
}

#[cfg(test)]
mod tests;
