//! The task list of a run: `list_tasks`, `add_task`, `update_task` (CODE-16).

use std::sync::Arc;

use async_trait::async_trait;
use foundry_kernel::policy::todos::{Status, TodoError};
use foundry_kernel::{Execute, Tool, ToolError};
use foundry_platform::tools::arguments;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Bench, reads, spec, writes};
use crate::task::ledger::Ledger;

pub(super) fn list(bench: &Bench) -> Tool {
    let schema = json!({ "type": "object", "additionalProperties": false, "properties": {} });
    let spec = spec("list_tasks", "Read the task list of this run.", schema);
    reads(spec, List(bench.ledger.clone()))
}

pub(super) fn add(bench: &Bench) -> Tool {
    let schema = json!({
        "type": "object", "additionalProperties": false, "required": ["title"],
        "properties": {
            "title": {
                "type": "string", "minLength": 1, "maxLength": 300,
                "description": "What is to be done."
            }
        }
    });
    let spec = spec("add_task", "Add a task to the list of this run.", schema);
    writes(spec, Add(bench.ledger.clone()))
}

pub(super) fn update(bench: &Bench) -> Tool {
    let schema = json!({
        "type": "object", "additionalProperties": false, "required": ["task_id", "status"],
        "properties": {
            "task_id": { "type": "integer", "minimum": 1, "description": "Number of the task." },
            "status": {
                "type": "string", "enum": ["open", "in_progress", "done", "dropped"],
                "description": "Its new state."
            }
        }
    });
    let spec = spec("update_task", "Change the state of a task of this run.", schema);
    writes(spec, Update(bench.ledger.clone()))
}

struct List(Arc<Ledger>);

struct Add(Arc<Ledger>);

struct Update(Arc<Ledger>);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct AddArguments {
    title: String,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct UpdateArguments {
    task_id: usize,
    status: Status,
}

#[async_trait]
impl Execute for List {
    async fn execute(&self, _: Map<String, Value>) -> Result<String, ToolError> {
        Ok(self.0.notes().todos.to_string())
    }
}

#[async_trait]
impl Execute for Add {
    async fn execute(&self, given: Map<String, Value>) -> Result<String, ToolError> {
        let AddArguments { title } = arguments(given)?;
        let number = self.0.add_todo(&title).map_err(|error| refused(&error, &self.0))?;
        Ok(format!("added as task {number}"))
    }
}

#[async_trait]
impl Execute for Update {
    async fn execute(&self, given: Map<String, Value>) -> Result<String, ToolError> {
        let UpdateArguments { task_id, status } = arguments(given)?;
        self.0.set_todo(task_id, status).map_err(|error| refused(&error, &self.0))?;
        Ok(self.0.notes().todos.to_string())
    }
}

/// What is wrong, and the list as it stands where that helps.
fn refused(error: &TodoError, ledger: &Ledger) -> ToolError {
    ToolError::Failed(match error {
        TodoError::NoSuchItem(_) => format!("{error}. {}", ledger.notes().todos),
        TodoError::NoTitle | TodoError::LongTitle(_) | TodoError::Full(_) => error.to_string(),
    })
}
