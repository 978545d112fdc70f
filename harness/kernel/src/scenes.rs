//! What the unit tests are told with: replies, tools, and a host that plays them.

use std::collections::VecDeque;
use std::sync::Arc;

use async_trait::async_trait;
use foundry_llm::{ErrorKind, LlmError, Reply, StopReason, ToolCall, ToolSpec, Usage};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

use crate::{
    Control, Dispatch, Effect, Event, Execute, Host, ModelCall, Permission, Purpose, Run,
    RunOptions, Settings, Step, Tool, ToolError, UserInput,
};

pub(crate) const NOW: Timestamp = Timestamp::UNIX_EPOCH;

/// A tool made of a function.
pub(crate) struct Does<F>(pub F);

#[async_trait]
impl<F> Execute for Does<F>
where
    F: Fn(Map<String, Value>) -> Result<String, ToolError> + Send + Sync,
{
    async fn execute(&self, arguments: Map<String, Value>) -> Result<String, ToolError> {
        (self.0)(arguments)
    }
}

pub(crate) fn tool(name: &str, effect: Effect, executor: impl Execute + 'static) -> Arc<Tool> {
    let spec = ToolSpec {
        name: name.to_owned(),
        description: format!("does {name}"),
        input_schema: json!({"type": "object"}),
    };
    Arc::new(Tool::new(spec, effect, Arc::new(executor)))
}

/// Says its arguments back.
pub(crate) fn echo() -> Arc<Tool> {
    tool("echo", Effect::Read, Does(|arguments| Ok(Value::Object(arguments).to_string())))
}

pub(crate) fn run_with(settings: Settings, tools: Vec<Arc<Tool>>) -> Run {
    let input = UserInput::from("what is due?");
    Run::new(RunOptions { settings, history: Vec::new(), input, tools }).unwrap()
}

pub(crate) fn settings() -> Settings {
    Settings::new("auto", "you are the system prompt")
}

pub(crate) fn reply(text: Option<&str>, calls: Vec<ToolCall>) -> Reply {
    let stop = if calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse };
    Reply {
        text: text.map(str::to_owned),
        reasoning: Vec::new(),
        calls,
        stop,
        usage: Usage { input_tokens: 10, output_tokens: 1, ..Usage::default() },
        model: "scripted".to_owned(),
    }
}

pub(crate) fn says(text: &str) -> Reply {
    reply(Some(text), Vec::new())
}

pub(crate) fn calls<const N: usize>(calls: [(&str, &str, &str); N]) -> Reply {
    let call = |(id, name, arguments): (&str, &str, &str)| ToolCall {
        id: id.to_owned(),
        name: name.to_owned(),
        arguments: arguments.to_owned(),
    };
    reply(None, calls.map(call).to_vec())
}

pub(crate) fn error(kind: ErrorKind) -> LlmError {
    LlmError { kind, status: None, message: format!("{kind:?}, as it was"), retry_after: None }
}

/// The model call that the run asks for now.
#[track_caller]
pub(crate) fn model_call(run: &mut Run) -> ModelCall {
    match run.step(NOW) {
        Step::CallModel(call) => call,
        Step::Done(outcome) => panic!("not a model call, for it is over: {:?}", outcome.stop),
        other @ Step::CallTools(_) => panic!("not a model call: {other:?}"),
    }
}

#[track_caller]
pub(crate) fn batch(run: &mut Run) -> crate::Batch {
    match run.step(NOW) {
        Step::CallTools(batch) => batch,
        other => panic!("not a batch: {other:?}"),
    }
}

#[track_caller]
pub(crate) fn outcome(run: &mut Run) -> crate::Outcome {
    match run.step(NOW) {
        Step::Done(outcome) => outcome,
        other => panic!("not done: {other:?}"),
    }
}

/// What a scripted model does with one call.
pub(crate) enum Turn {
    Answer(Result<Reply, LlmError>),
    /// Does something to the run, then is silent for ever.
    Silence(fn(&Control)),
}

/// A host whose model follows a script, and whose clock jumps over every wait.
pub(crate) struct ScriptedHost {
    pub(crate) control: Control,
    pub(crate) script: VecDeque<Turn>,
    pub(crate) now: Timestamp,
    pub(crate) waited: SignedDuration,
    /// When set, what is done at the first wait, which then never ends.
    pub(crate) at_wait: Option<fn(&Control)>,
    pub(crate) asked: Vec<ModelCall>,
    pub(crate) events: Vec<String>,
    pub(crate) percents: Vec<u8>,
    /// What is answered to each ask; allowed when there is nothing left.
    pub(crate) permissions: VecDeque<Permission>,
    pub(crate) permits_asked: Vec<String>,
}

impl ScriptedHost {
    pub(crate) fn new(script: impl IntoIterator<Item = Turn>) -> Self {
        Self {
            control: Control::default(),
            script: script.into_iter().collect(),
            now: NOW,
            waited: SignedDuration::ZERO,
            at_wait: None,
            asked: Vec::new(),
            events: Vec::new(),
            percents: Vec::new(),
            permissions: VecDeque::new(),
            permits_asked: Vec::new(),
        }
    }

    pub(crate) fn replies(replies: impl IntoIterator<Item = Reply>) -> Self {
        Self::new(replies.into_iter().map(|reply| Turn::Answer(Ok(reply))))
    }
}

#[async_trait]
impl Host for ScriptedHost {
    fn now(&self) -> Timestamp {
        self.now
    }

    fn control(&self) -> Control {
        self.control.clone()
    }

    async fn call_model(&mut self, call: &ModelCall) -> Result<Reply, LlmError> {
        self.asked.push(call.clone());
        match self.script.pop_front().expect("the script has a turn left") {
            Turn::Answer(answer) => answer,
            Turn::Silence(then) => {
                then(&self.control);
                std::future::pending().await
            }
        }
    }

    async fn wait_until(&mut self, at: Timestamp) {
        if let Some(then) = self.at_wait.take() {
            then(&self.control);
            std::future::pending::<()>().await;
        }
        self.waited += at.duration_since(self.now);
        self.now = at;
    }

    async fn permit(&mut self, call: &Dispatch) -> Permission {
        self.permits_asked.push(call.call.id.clone());
        self.permissions.pop_front().unwrap_or(Permission::Allowed)
    }

    async fn on_event(&mut self, event: Event<'_>) {
        let line = match event {
            Event::Entry(crate::Entry::User { .. }) => "entry user".to_owned(),
            Event::Entry(crate::Entry::Assistant { .. }) => "entry assistant".to_owned(),
            Event::Entry(crate::Entry::Results { .. }) => "entry results".to_owned(),
            Event::Entry(crate::Entry::Fold { .. }) => "entry fold".to_owned(),
            Event::Entry(crate::Entry::Stubs { .. }) => "entry stubs".to_owned(),
            Event::Calling(call) if call.purpose == Purpose::Summary => {
                "calling for a summary".to_owned()
            }
            Event::Calling(call) => format!("calling turn {} attempt {}", call.turn, call.attempt),
            Event::Retry { attempt, error, .. } => format!("retry {attempt} after {error}"),
            Event::Fallback { from, to, error } => {
                format!("fallback from {from} to {to} after {error}")
            }
            Event::Compacted { stage, .. } => format!("compacted by {stage:?}"),
            // Told of in its own test.
            Event::Context { percent } => {
                self.percents.push(percent);
                return;
            }
            Event::Truncated { turn } => format!("truncated turn {turn}"),
            Event::ToolStarted { turn, call } => format!("turn {turn} starts {}", call.call.id),
            Event::ToolSettled { turn, call_id, settled, .. } => {
                format!("turn {turn} settles {call_id}: {}", settled.text())
            }
        };
        self.events.push(line);
    }
}
