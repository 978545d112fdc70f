//! One child, from its task to its answer.

use std::hash::{DefaultHasher, Hash, Hasher};

use async_trait::async_trait;
use foundry_llm::{LlmError, Reply};
use jiff::Timestamp;

use super::role::{CONDUCT, Kind, Role};
use super::{Child, Meter, Subagents, verify};
use crate::drive::drive;
use crate::entry::{Entry, UserInput};
use crate::host::{Control, Event, Host, Permission};
use crate::outcome::{Outcome, Stop};
use crate::policy::empty::EmptyReply;
use crate::policy::limits::Limits;
use crate::policy::permit::Mode;
use crate::run::{Run, RunOptions, Settings};
use crate::step::{Dispatch, ModelCall};
use crate::tool::ToolError;

/// Runs a child to its end; its answer, or why there is none.
pub(super) async fn run(
    subagents: &Subagents,
    role: &Role,
    child: &Child,
    remaining_tokens: Option<u64>,
    meter: &Meter,
) -> Result<String, ToolError> {
    let mut hasher = DefaultHasher::new();
    child.call_id.hash(&mut hasher);
    let mut work = Work {
        subagents,
        role,
        seed: subagents.settings.seed ^ hasher.finish(),
        limits: limits(subagents.settings.limits, remaining_tokens),
        host: Under {
            inner: subagents.spawn.host(child),
            control: child.control.clone(),
            meter: meter.clone(),
        },
        log: Vec::new(),
    };
    let prompt = UserInput::from(child.prompt.as_str());
    match role.kind {
        Kind::Answers => answer(role, &work.turn(prompt).await?),
        Kind::Verifies => verdict(&mut work, prompt).await,
    }
}

/// What is granted to children in general, and no more than what is left.
fn limits(granted: Limits, remaining_tokens: Option<u64>) -> Limits {
    let Limits { max_turns, budget_tokens } = granted;
    let budget_tokens = [budget_tokens, remaining_tokens].into_iter().flatten().min();
    Limits { max_turns, budget_tokens }
}

fn answer(role: &Role, outcome: &Outcome) -> Result<String, ToolError> {
    let said = outcome.text().is_some();
    match &outcome.stop {
        // Of one that was stopped, what it found so far is worth having; the answer says
        // that there is more.
        Stop::EndTurn | Stop::MaxTurns | Stop::Budget { .. } if said => Ok(outcome.answer()),
        stop => Err(ended(role, stop)),
    }
}

fn ended(role: &Role, stop: &Stop) -> ToolError {
    ToolError::Failed(format!("the subagent {} brought no answer: {}", role.name, stop.in_words()))
}

/// A verdict that cites what was never read is refused once, with what is wrong; then it
/// is unclear.
async fn verdict(work: &mut Work<'_>, prompt: UserInput) -> Result<String, ToolError> {
    let first = work.submission(prompt).await?;
    let Err(wrong) = verify::check(&first, &work.log, &work.subagents.tools) else {
        return Ok(first.to_string());
    };
    let Ok(second) = work.submission(verify::refusal(&wrong)).await else {
        return Ok(verify::unclear(&first, &wrong).to_string());
    };
    match verify::check(&second, &work.log, &work.subagents.tools) {
        Ok(()) => Ok(second.to_string()),
        Err(wrong) => Ok(verify::unclear(&second, &wrong).to_string()),
    }
}

/// A child at work.
struct Work<'a> {
    subagents: &'a Subagents,
    role: &'a Role,
    /// Its own: children of one outage come back spread out.
    seed: u64,
    /// What it may still spend.
    limits: Limits,
    host: Under,
    /// Everything said so far.
    log: Vec<Entry>,
}

impl Work<'_> {
    async fn submission(&mut self, input: UserInput) -> Result<verify::Verdict, ToolError> {
        let Outcome { output, stop, .. } = self.turn(input).await?;
        let value = output.ok_or_else(|| ended(self.role, &stop))?;
        serde_json::from_value(value).map_err(|error| {
            ToolError::Failed(format!("the verdict of {} is not readable: {error}", self.role.name))
        })
    }

    async fn turn(&mut self, input: UserInput) -> Result<Outcome, ToolError> {
        let history = std::mem::take(&mut self.log);
        let tools = self.subagents.tools.clone();
        let options = RunOptions { settings: self.settings(), history, input, tools };
        let mut run = Run::new(options).map_err(|error| {
            ToolError::Failed(format!("the subagent {} cannot be run: {error}", self.role.name))
        })?;
        let outcome = drive(&mut run, &mut self.host).await;
        self.log = run.log().to_vec();
        let Limits { max_turns, budget_tokens } = self.limits;
        self.limits = Limits {
            max_turns: max_turns.saturating_sub(outcome.turns),
            budget_tokens: budget_tokens.map(|tokens| tokens.saturating_sub(outcome.usage.total())),
        };
        Ok(outcome)
    }

    fn settings(&self) -> Settings {
        let shared = &self.subagents.settings;
        let parts = [shared.system.as_str(), CONDUCT, self.role.instructions.as_str()];
        let parts: Vec<&str> = parts.into_iter().filter(|part| !part.trim().is_empty()).collect();
        Settings {
            system: parts.join("\n\n"),
            limits: self.limits,
            output: match self.role.kind {
                Kind::Answers => None,
                Kind::Verifies => Some(verify::schema()),
            },
            seed: self.seed,
            // The parent waits for words.
            empty: EmptyReply::AskOnce,
            // It has nothing that would need leave.
            mode: Mode::Bypass,
            ..shared.clone()
        }
    }
}

/// The host of a child, under the step that started it, and metered.
struct Under {
    inner: Box<dyn Host>,
    control: Control,
    meter: Meter,
}

#[async_trait]
impl Host for Under {
    fn now(&self) -> Timestamp {
        self.inner.now()
    }

    fn control(&self) -> Control {
        self.control.clone()
    }

    async fn call_model(&mut self, call: &ModelCall) -> Result<Reply, LlmError> {
        let answer = self.inner.call_model(call).await;
        if let Ok(reply) = &answer {
            // Here, and not at the end, which a child that is dropped never sees.
            self.meter.add(reply.usage);
        }
        answer
    }

    async fn wait_until(&mut self, at: Timestamp) {
        self.inner.wait_until(at).await;
    }

    async fn permit(&mut self, call: &Dispatch) -> Permission {
        self.inner.permit(call).await
    }

    async fn on_event(&mut self, event: Event<'_>) {
        self.inner.on_event(event).await;
    }
}
