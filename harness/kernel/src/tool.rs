//! Tools: what the model may call, as data, and the one trait that runs them.

pub mod name;
mod toolbox;

use std::fmt;
use std::sync::Arc;

use async_trait::async_trait;
use foundry_llm::{ToolSpec, Usage};
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::host::Control;
use crate::policy::schema::{Compiled, SchemaError};
use crate::policy::truncate::{self, ResultForm};

pub(crate) use toolbox::{Found, Toolbox};

/// Characters of a result that reach the model, unless the tool says otherwise (KERN-10).
const DEFAULT_LIMIT_CHARS: usize = 48_000;

/// Most bytes that so many characters can take.
const DEFAULT_LIMIT_BYTES: usize = 4 * DEFAULT_LIMIT_CHARS;

/// A tool that a run may use.
#[derive(Clone)]
pub struct Tool {
    /// How the model sees it.
    pub spec: ToolSpec,
    /// Whether calls of it may run beside each other.
    pub effect: Effect,
    /// Whether a person is asked before it even where routine calls pass (CHAT-15).
    pub guard: Guard,
    /// Whether the run goes on after a call that succeeded.
    pub then: Then,
    /// Whether its schema stays out of the request until `ToolSearch` finds it (KERN-08).
    pub deferred: bool,
    /// Whether what it returned stays in sight when older results become stubs (SKILL-13).
    pub stays: bool,
    /// Longest result the model gets, in characters; anything longer goes through `form`.
    pub limit_chars: usize,
    /// Longest result the model gets, in bytes; the narrower of the two limits counts.
    pub limit_bytes: usize,
    /// How a longer result is shortened.
    pub form: ResultForm,
    /// What runs it.
    pub executor: Arc<dyn Execute>,
    /// Its schema, made ready at the first call. A clone, which may get another schema,
    /// begins without.
    pub(crate) compiled: Compiled,
}

impl Tool {
    /// A tool with the usual result limit, routine, in sight from the start; set the
    /// other fields where it needs its own.
    pub fn new(spec: ToolSpec, effect: Effect, executor: Arc<dyn Execute>) -> Self {
        Self {
            spec,
            effect,
            guard: Guard::Routine,
            then: Then::GoOn,
            deferred: false,
            stays: false,
            limit_chars: DEFAULT_LIMIT_CHARS,
            limit_bytes: DEFAULT_LIMIT_BYTES,
            form: truncate::marked,
            executor,
            compiled: Compiled::default(),
        }
    }

    /// The same tool, ending the run by a call that succeeds.
    #[must_use]
    pub fn ending_the_run(self) -> Self {
        Self { effect: Effect::Write, then: Then::EndRun, ..self }
    }

    /// The same tool, whose success answers in place of words.
    #[must_use]
    pub fn delivering(self) -> Self {
        Self { then: Then::Delivers, ..self }
    }

    /// The same tool, out of sight until `ToolSearch` finds it (KERN-08).
    #[must_use]
    pub fn deferred(self) -> Self {
        Self { deferred: true, ..self }
    }

    /// The same tool, for actions that destroy, govern or hand out credentials (CHAT-15).
    #[must_use]
    pub fn guarded(self) -> Self {
        Self { guard: Guard::Guarded, ..self }
    }

    /// The same tool, whose results stay in sight (SKILL-13).
    #[must_use]
    pub fn staying(self) -> Self {
        Self { stays: true, ..self }
    }

    /// Makes its schema ready; says why it cannot be used.
    pub(crate) fn prepare(&self) -> Result<(), SchemaError> {
        self.compiled.prepare(&self.spec.input_schema)
    }

    /// What of these arguments does not fit the schema, in words for the model.
    pub(crate) fn mismatch(&self, arguments: &Map<String, Value>) -> Option<String> {
        self.compiled.mismatch(&self.spec.input_schema, arguments)
    }
}

impl fmt::Debug for Tool {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            spec,
            effect,
            guard,
            then,
            deferred,
            stays,
            limit_chars,
            limit_bytes,
            form: _,
            executor: _,
            compiled: _,
        } = self;
        f.debug_struct("Tool")
            .field("name", &spec.name)
            .field("effect", effect)
            .field("guard", guard)
            .field("then", then)
            .field("deferred", deferred)
            .field("stays", stays)
            .field("limit_chars", limit_chars)
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

/// How much care a call wants of whoever permits it (CHAT-15).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Guard {
    /// As much as any.
    #[default]
    Routine,
    /// It destroys, governs or hands out credentials.
    Guarded,
}

/// What a call that succeeded means for its run.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Then {
    /// The model reads what it returned and goes on.
    #[default]
    GoOn,
    /// The model goes on, and what it did was the answer itself, as a message that was
    /// posted: an empty reply after it is a rightful end.
    Delivers,
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

    /// The same, for a tool that needs to know which call this is, and how long and at
    /// what price the run lets it work. This is what the driver calls.
    async fn execute_in(
        &self,
        arguments: Map<String, Value>,
        context: &CallContext,
    ) -> Result<String, ToolError> {
        let CallContext { call_id: _, control: _, remaining_tokens: _ } = context;
        self.execute(arguments).await
    }

    /// Whether its calls spend tokens on models of their own: such calls share what the run
    /// may still spend.
    fn spends(&self) -> bool {
        false
    }

    /// Takes what its calls have spent on models since this was last asked; it counts
    /// for the run, even where a call was dropped or failed.
    fn take_usage(&self) -> Usage {
        Usage::default()
    }
}

/// What one call is told of the run it belongs to.
#[derive(Clone, Debug)]
pub struct CallContext {
    /// The provider's id of the call.
    pub call_id: String,
    /// Aborted when the step this call belongs to ends, and no later.
    pub control: Control,
    /// Tokens that it may spend, beside what runs with it; `None` where the run has no budget.
    pub remaining_tokens: Option<u64>,
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
    /// A tool whose argument schema nobody could fill in.
    #[error("tool {tool} has an argument schema that cannot be used: {reason}")]
    BadSchema {
        /// Name of the tool.
        tool: String,
        /// What is wrong, where, and what to do.
        reason: String,
    },
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

#[cfg(test)]
mod tests;
