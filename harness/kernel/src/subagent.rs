//! `spawn_agent`: a run that a run starts as its helper (KERN-29, KERN-30, KERN-31).
//!
//! A child gets tools that change nothing, and of those only what its parent has; a model
//! of its own; and what is left of its parent's tokens. It ends with the step that
//! started it, and what it used is its parent's use.

mod child;
mod role;
mod verify;

use std::sync::{Arc, Mutex, PoisonError};

use async_trait::async_trait;
use foundry_llm::{ToolSpec, Usage};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::host::{Control, Host};
use crate::run::Settings;
use crate::tool::{CallContext, Effect, Execute, Guard, Then, Tool, ToolError};

pub use role::Role;

/// Its name on the wire.
pub const NAME: &str = "spawn_agent";

/// Characters of the task that a child is given.
const MOST_PROMPT_CHARS: usize = 50_000;

/// Gives each child its world.
pub trait Spawn: Send + Sync {
    /// The host of one child. Its [`Host::control`] is not asked: a child is under the
    /// control of the step that started it.
    fn host(&self, child: &Child) -> Box<dyn Host>;
}

/// A child that is about to be run.
#[derive(Clone, Debug)]
pub struct Child {
    /// Which type of subagent it is.
    pub subagent_type: String,
    /// Id of the call that started it, as the provider gave it.
    pub call_id: String,
    /// What it is to do.
    pub prompt: String,
    /// Steers and ends it; it is aborted with the step that started it.
    pub control: Control,
}

/// The subagents that one run may start.
pub struct Subagents {
    roles: Vec<Role>,
    settings: Settings,
    tools: Vec<Arc<Tool>>,
    spawn: Arc<dyn Spawn>,
}

impl Subagents {
    /// The built-in types. `settings` are the children's: the subagent model, their limits
    /// and ladder, and a system prompt that stands before each role's, if it says
    /// anything. `parents` are the tools of the run that starts them.
    pub fn new(settings: Settings, parents: &[Arc<Tool>], spawn: Arc<dyn Spawn>) -> Self {
        let tools = parents.iter().filter(|tool| is_for_children(tool)).cloned().collect();
        Self { roles: role::built_in(), settings, tools, spawn }
    }

    /// Adds registered agents (KERN-29). A name that is taken keeps what it stands for, so
    /// a built-in type is what it says; `own` is the agent that this run itself is, and it
    /// is left out.
    #[must_use]
    pub fn registered(mut self, agents: impl IntoIterator<Item = Role>, own: Option<&str>) -> Self {
        for agent in agents {
            let is_taken = self.roles.iter().any(|role| role.name == agent.name);
            if !is_taken && own != Some(agent.name.as_str()) {
                self.roles.push(agent);
            }
        }
        self
    }

    /// The tool that starts them. Make one for each run: what its children used is told to
    /// the run that asks first.
    pub fn tool(self) -> Tool {
        let spec = self.spec();
        Tool::new(spec, Effect::Read, Arc::new(Spawner { subagents: self, used: Meter::default() }))
    }

    fn spec(&self) -> ToolSpec {
        let names: Vec<&str> = self.roles.iter().map(|role| role.name.as_str()).collect();
        ToolSpec {
            name: NAME.to_owned(),
            description: format!(
                "Starts a subagent, waits for it, and returns what it found. It sees nothing of \
                 this conversation, can only read, and can start no others. Several calls in one \
                 turn run at the same time. Types:\n{}",
                role::listed(&self.roles)
            ),
            input_schema: json!({
                "type": "object", "additionalProperties": false,
                "required": ["subagent_type", "prompt"],
                "properties": {
                    "subagent_type": {
                        "type": "string", "enum": names, "description": "Which type to start."
                    },
                    "prompt": {
                        "type": "string", "minLength": 1, "maxLength": MOST_PROMPT_CHARS,
                        "description": "The whole task: what to do, what is known, what to return."
                    }
                }
            }),
        }
    }
}

/// What a child may have of its parent's tools (KERN-30). Nobody is there to be asked for
/// a guarded one, and what ends or answers the parent's run is the parent's to say.
fn is_for_children(tool: &Tool) -> bool {
    tool.effect == Effect::Read
        && tool.guard == Guard::Routine
        && tool.then == Then::GoOn
        && tool.spec.name != NAME
}

/// What children have used of models, and nobody was told yet.
#[derive(Clone, Default)]
struct Meter(Arc<Mutex<Usage>>);

impl Meter {
    fn add(&self, usage: Usage) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).add(usage);
    }

    fn take(&self) -> Usage {
        std::mem::take(&mut *self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

struct Spawner {
    subagents: Subagents,
    used: Meter,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    subagent_type: String,
    prompt: String,
}

#[async_trait]
impl Execute for Spawner {
    async fn execute(&self, _: Map<String, Value>) -> Result<String, ToolError> {
        Err(ToolError::Failed(format!("{NAME} was called outside a run")))
    }

    async fn execute_in(
        &self,
        arguments: Map<String, Value>,
        context: &CallContext,
    ) -> Result<String, ToolError> {
        let Arguments { subagent_type, prompt } = serde_json::from_value(Value::Object(arguments))
            .map_err(|error| ToolError::Failed(format!("the arguments do not fit: {error}")))?;
        let role = self.subagents.roles.iter().find(|role| role.name == subagent_type);
        let role = role.ok_or_else(|| {
            ToolError::Failed(format!("there is no subagent type {subagent_type:?}"))
        })?;
        let CallContext { call_id, control, remaining_tokens } = context;
        let child =
            Child { subagent_type, call_id: call_id.clone(), prompt, control: control.clone() };
        child::run(&self.subagents, role, &child, *remaining_tokens, &self.used).await
    }

    fn spends(&self) -> bool {
        true
    }

    fn take_usage(&self) -> Usage {
        self.used.take()
    }
}

#[cfg(test)]
mod tests;
