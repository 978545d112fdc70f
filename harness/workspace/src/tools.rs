//! The tools with which a model reads and edits the clone.

use std::io::Read as _;
use std::sync::Arc;

use async_trait::async_trait;
use foundry_kernel::{Effect, Execute, Tool, ToolError};
use foundry_llm::ToolSpec;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

use crate::locate::Place;
use crate::scope::Standing;
use crate::walk::Cancel;
use crate::{EditLog, Error, Workspace, shown};

mod delete_file;
mod edit_file;
mod explore;
mod glob;
mod grep;
mod list_dir;
mod outline;
mod read_file;
mod replace;
mod write_file;

/// Bytes of a file that are held in memory; a larger one is read in parts and never
/// edited.
const MOST_LOADED: u64 = 16 << 20;

/// The tools that change nothing.
pub fn reading(workspace: &Workspace) -> Vec<Arc<Tool>> {
    vec![
        tool(workspace, list_dir::ListDir),
        tool(workspace, glob::Glob),
        tool(workspace, grep::Grep),
        tool(workspace, explore::Explore),
        tool(workspace, read_file::ReadFile),
    ]
}

/// The tools that change files; each change is noted.
pub fn editing(workspace: &Workspace, log: &EditLog) -> Vec<Arc<Tool>> {
    vec![
        tool(workspace, edit_file::EditFile(log.clone())),
        tool(workspace, write_file::WriteFile(log.clone())),
        tool(workspace, delete_file::DeleteFile(log.clone())),
    ]
}

/// What one tool is and does.
trait Job: Send + Sync + 'static {
    const NAME: &'static str;
    /// For the model.
    const DESCRIPTION: &'static str;
    /// JSON Schema of the arguments.
    const SCHEMA: &'static str;
    const EFFECT: Effect;
    /// Longest result; each tool stays below it by its own bounds, so that nothing is
    /// cut out of the middle.
    const MOST_BYTES: usize = 48_000;

    type Arguments: DeserializeOwned + Send + 'static;

    /// Does it, on a thread that may block.
    fn run(
        &self,
        workspace: &Workspace,
        arguments: Self::Arguments,
        cancel: &Cancel,
    ) -> Result<String, Error>;
}

fn tool<J: Job>(workspace: &Workspace, job: J) -> Arc<Tool> {
    let spec = ToolSpec {
        name: J::NAME.to_owned(),
        description: J::DESCRIPTION.to_owned(),
        // A schema that is no JSON would be null, and the kernel refuses such a tool.
        input_schema: serde_json::from_str(J::SCHEMA).unwrap_or_default(),
    };
    let executor = Executor { workspace: workspace.clone(), job: Arc::new(job) };
    let mut tool = Tool::new(spec, J::EFFECT, Arc::new(executor));
    tool.limit_bytes = J::MOST_BYTES;
    Arc::new(tool)
}

struct Executor<J> {
    workspace: Workspace,
    job: Arc<J>,
}

#[async_trait]
impl<J: Job> Execute for Executor<J> {
    async fn execute(&self, arguments: Map<String, Value>) -> Result<String, ToolError> {
        let arguments = serde_json::from_value(Value::Object(arguments))
            .map_err(|error| ToolError::Failed(format!("the arguments do not fit: {error}")))?;
        let failed = |what: &dyn std::fmt::Display| {
            ToolError::Failed(format!("failed to run {}: {what}", J::NAME))
        };
        let turn = self.workspace.jobs().clone().acquire_owned().await.map_err(|e| failed(&e))?;
        let cancel = Cancel::default();
        let waiting = Waiting(cancel.clone());
        let (workspace, job) = (self.workspace.clone(), self.job.clone());
        let done = tokio::task::spawn_blocking(move || {
            let alone = match J::EFFECT {
                Effect::Read => None,
                Effect::Write => Some(workspace.write()),
            };
            let result = job.run(&workspace, arguments, &cancel);
            drop((alone, turn));
            result
        });
        let result = done.await.map_err(|error| failed(&error))?;
        drop(waiting);
        result.map_err(|error| ToolError::Failed(error.to_string()))
    }
}

/// Tells a job to stop when the call is dropped.
struct Waiting(Cancel);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

fn root() -> String {
    ".".to_owned()
}

/// Folders of packages, which are somebody else's code (CODE-11).
fn is_left_out(name: &std::ffi::OsStr) -> bool {
    name == "node_modules"
}

/// What a listing says when it shows only permitted paths (CODE-10).
fn only_permitted(workspace: &Workspace, place: &Place) -> String {
    match place.standing() {
        Standing::Inside | Standing::Outside => String::new(),
        Standing::Above => {
            format!("\n[only permitted paths are shown: {}]", workspace.scope().words())
        }
    }
}

/// Refuses to touch what only leads to permitted paths.
fn writable(workspace: &Workspace, place: &Place) -> Result<(), Error> {
    match place.standing() {
        Standing::Inside => Ok(()),
        Standing::Above | Standing::Outside => {
            Err(Error::NotPermitted { path: place.shown(), permitted: workspace.scope().words() })
        }
    }
}

/// Reads a whole file; none when it is larger than is held in memory.
fn load(file: std::fs::File, path: &str) -> Result<Option<Vec<u8>>, Error> {
    let mut bytes = Vec::new();
    file.take(MOST_LOADED + 1).read_to_end(&mut bytes).map_err(Error::io("read", path))?;
    Ok((bytes.len() as u64 <= MOST_LOADED).then_some(bytes))
}

fn too_large(path: &str) -> Error {
    let most = shown::size(MOST_LOADED);
    Error::Refused(format!(
        "{path} is larger than {most}: it can be read and searched in parts only"
    ))
}

#[cfg(test)]
mod tests;
