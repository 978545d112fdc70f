//! Tools: what the model may call, as data, and the one trait that runs them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use foundry_llm::ToolSpec;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::policy::truncate::{self, ResultForm};

/// Longest tool name that both wires accept.
const NAME_LIMIT: usize = 64;

/// Bytes of a result that reach the model, unless the tool says otherwise (KERN-10).
const DEFAULT_LIMIT_BYTES: usize = 48_000;

/// A tool that a run may use.
#[derive(Clone)]
pub struct Tool {
    /// How the model sees it.
    pub spec: ToolSpec,
    /// Whether calls of it may run beside each other.
    pub effect: Effect,
    /// Whether the run goes on after a call that succeeded.
    pub then: Then,
    /// Longest result the model gets, in bytes; anything longer goes through `form`.
    pub limit_bytes: usize,
    /// How a longer result is shortened.
    pub form: ResultForm,
    /// What runs it.
    pub executor: Arc<dyn Execute>,
}

impl Tool {
    /// A tool with the usual result limit; set the other fields where it needs its own.
    pub fn new(spec: ToolSpec, effect: Effect, executor: Arc<dyn Execute>) -> Self {
        Self {
            spec,
            effect,
            then: Then::GoOn,
            limit_bytes: DEFAULT_LIMIT_BYTES,
            form: truncate::marked,
            executor,
        }
    }

    /// The same tool, ending the run by a call that succeeds.
    #[must_use]
    pub fn ending_the_run(self) -> Self {
        Self { effect: Effect::Write, then: Then::EndRun, ..self }
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { spec, effect, then, limit_bytes, form: _, executor: _ } = self;
        f.debug_struct("Tool")
            .field("name", &spec.name)
            .field("effect", effect)
            .field("then", then)
            .field("limit_bytes", limit_bytes)
            .finish_non_exhaustive()
    }
}

/// What a call of a tool does to the world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Effect {
    /// Nothing: such calls run together (KERN-11).
    Read,
    /// Something, or nobody knows: such calls run one after another.
    #[default]
    Write,
}

/// What a call that succeeded means for its run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Then {
    /// The model reads what it returned and goes on.
    #[default]
    GoOn,
    /// The run has what it was for: it ends its turn, without asking the model again
    /// and without the calls that come after this one. A call that failed ends nothing.
    EndRun,
}

/// Runs a tool.
#[async_trait]
pub trait Execute: Send + Sync {
    /// Does one call. The arguments are a JSON object that fits the tool's schema as
    /// far as the kernel checks it; what they mean is the tool's to judge. The future
    /// is dropped when the run is aborted or interrupted.
    async fn execute(&self, arguments: Map<String, Value>) -> Result<String, ToolError>;
}

/// Why a call brought no output.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ToolError {
    /// It failed; the model reads this text.
    #[error("{0}")]
    Failed(String),
    /// It was sent, and what came of it is not known (KERN-41).
    #[error("outcome unknown: {0}")]
    Unknown(String),
}

/// Why a run cannot be assembled. Nothing has been asked of a model by then (LOOP-29).
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum AssembleError {
    /// A tool without an argument schema.
    #[error("tool {0} has no argument schema: give it a JSON Schema of type object")]
    NoSchema(String),
    /// A name that a provider would refuse.
    #[error("tool name {0:?} is not legal: use 1 to 64 letters, digits, _ or -")]
    IllegalName(String),
    /// Two tools that the model could not tell apart.
    #[error("two tools are named {0}: rename or leave out one of them")]
    DuplicateName(String),
    /// Nothing to answer.
    #[error("the input of the run is empty: say something to the model")]
    EmptyInput,
    /// A history that no provider would accept and no rule can repair.
    #[error("the history does not start with a user message: start it at a user entry or a fold")]
    HistoryStart,
}

/// The tools of one run, by name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Toolbox {
    tools: Vec<Arc<Tool>>,
    by_name: BTreeMap<String, usize>,
}

impl Toolbox {
    /// Takes the tools in the order in which the model will see them.
    pub(crate) fn assemble(tools: Vec<Arc<Tool>>) -> Result<Self, AssembleError> {
        let mut by_name = BTreeMap::new();
        for (position, tool) in tools.iter().enumerate() {
            let name = &tool.spec.name;
            if !is_legal_name(name) {
                return Err(AssembleError::IllegalName(name.clone()));
            }
            if !tool.spec.input_schema.is_object() {
                return Err(AssembleError::NoSchema(name.clone()));
            }
            if by_name.insert(name.clone(), position).is_some() {
                return Err(AssembleError::DuplicateName(name.clone()));
            }
        }
        Ok(Self { tools, by_name })
    }

    pub(crate) fn get(&self, name: &str) -> Option<&Arc<Tool>> {
        self.by_name.get(name).and_then(|position| self.tools.get(*position))
    }

    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.by_name.keys().map(String::as_str)
    }

    pub(crate) fn specs(&self) -> Vec<ToolSpec> {
        self.tools.iter().map(|tool| tool.spec.clone()).collect()
    }
}

fn is_legal_name(name: &str) -> bool {
    (1..=NAME_LIMIT).contains(&name.len())
        && name.bytes().all(|b| b.is_ascii_alphanumeric() || b == b'_' || b == b'-')
}

#[cfg(test)]
mod tests;
