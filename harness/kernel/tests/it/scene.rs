//! A run, its host over real HTTP, and the model at the other end.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use fakes::model::{ModelServer, Reply as Scripted};
use foundry_kernel::{
    Control, Effect, Entry, Event, Execute, Host, Ladder, ModelCall, Outcome, Purpose, Run,
    RunOptions, Settings, Stage, Tool, ToolError, UserInput, drive,
};
use foundry_llm::{Auth, Endpoint, ErrorKind, Limits, LlmError, Reply, ToolSpec, Transport, Wire};
use jiff::{SignedDuration, Timestamp};
use serde_json::{Map, Value, json};

/// Longer than any run here takes.
const PATIENCE: Duration = Duration::from_secs(30);

pub struct Scene {
    pub model: ModelServer,
    pub control: Control,
    /// How often the tool was run.
    pub notes: Arc<AtomicUsize>,
    pub settings: Settings,
    /// What the model may call beside `note`.
    pub tools: Vec<Arc<Tool>>,
    wire: Wire,
    limits: Limits,
}

/// What came of a scene.
pub struct Played {
    pub outcome: Outcome,
    /// The errors that were retried.
    pub retried: Vec<ErrorKind>,
    /// How long the retries waited, by the host's own clock.
    pub waited: SignedDuration,
    /// How the conversation was shortened.
    pub compacted: Vec<Stage>,
    /// Who took over from whom.
    pub fell_back: Vec<(String, String)>,
}

impl Scene {
    pub async fn new(wire: Wire, script: impl IntoIterator<Item = Scripted>) -> Self {
        let model = ModelServer::start().await;
        model.script(script);
        model.demand_prefix();
        Self {
            model,
            control: Control::default(),
            notes: Arc::default(),
            settings: Settings {
                ladder: Ladder::coding(),
                ..Settings::new("auto", "You keep notes about tides.")
            },
            tools: Vec::new(),
            wire,
            limits: Limits::default(),
        }
    }

    /// The same, with little patience for a silent server.
    pub fn impatient(mut self) -> Self {
        self.limits.idle = Duration::from_secs(1);
        self
    }

    pub fn noted(&self) -> usize {
        self.notes.load(Ordering::SeqCst)
    }

    pub async fn play(&self) -> Played {
        self.play_after(Vec::new()).await
    }

    /// Drives a run that follows this history; every request must have been lawful and
    /// every step of the script played.
    pub async fn play_after(&self, history: Vec<Entry>) -> Played {
        let settings = self.settings.clone();
        let input = UserInput::from("Note what the table says.");
        let note = Arc::new(note(Arc::clone(&self.notes)));
        let tools = [note].into_iter().chain(self.tools.iter().cloned()).collect();
        let mut run = Run::new(RunOptions { settings, history, input, tools }).unwrap();
        let mut host = HttpHost::new(self.transport(), self.control.clone());
        let outcome = tokio::time::timeout(PATIENCE, drive(&mut run, &mut host))
            .await
            .unwrap_or_else(|_| panic!("the run did not end; its log so far: {:#?}", run.log()));
        let HttpHost { waited, retried, compacted, fell_back, .. } = host;
        Played { outcome, retried, waited, compacted, fell_back }
    }

    pub fn transport(&self) -> Transport {
        let base = url::Url::parse(&self.model.url()).unwrap();
        let endpoint = Endpoint::new(self.wire, &base, Auth::None).unwrap();
        Transport::new(endpoint, self.limits, Arc::new(|| Timestamp::UNIX_EPOCH)).unwrap()
    }

    /// The messages of each request as they went over the wire, but for the cache mark on
    /// the last one, which moves on with each turn.
    pub fn sent(&self) -> Vec<Vec<Value>> {
        let messages = |body: &Value| {
            let mut messages = body["messages"].as_array().cloned().unwrap_or_default();
            messages.iter_mut().for_each(without_mark);
            messages
        };
        self.model.requests().iter().map(|request| messages(&request.body)).collect()
    }
}

fn without_mark(message: &mut Value) {
    let blocks = message["content"].as_array_mut().into_iter().flatten();
    for block in blocks.filter_map(Value::as_object_mut) {
        block.remove("cache_control");
    }
}

/// A tool of this name, made of an executor.
pub fn tool(name: &str, effect: Effect, executor: impl Execute + 'static) -> Tool {
    let spec = ToolSpec {
        name: name.to_owned(),
        description: format!("Does {name} for the tide table."),
        input_schema: json!({"type": "object", "properties": {}}),
    };
    Tool::new(spec, effect, Arc::new(executor))
}

struct Note(Arc<AtomicUsize>);

#[async_trait]
impl Execute for Note {
    async fn execute(&self, arguments: Map<String, Value>) -> Result<String, ToolError> {
        let number = self.0.fetch_add(1, Ordering::SeqCst) + 1;
        match arguments["text"].as_str() {
            Some("") | None => Err(ToolError::Failed("a note needs a text".to_owned())),
            Some(text) => Ok(format!("note {number}: {text}")),
        }
    }
}

fn note(count: Arc<AtomicUsize>) -> Tool {
    let spec = ToolSpec {
        name: "note".to_owned(),
        description: "Keeps a note.".to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": {"text": {"type": "string"}},
            "required": ["text"],
        }),
    };
    Tool::new(spec, Effect::Write, Arc::new(Note(count)))
}

/// Real requests, and a clock that jumps over every wait.
pub struct HttpHost {
    transport: Transport,
    control: Control,
    now: Timestamp,
    waited: SignedDuration,
    retried: Vec<ErrorKind>,
    compacted: Vec<Stage>,
    fell_back: Vec<(String, String)>,
}

impl HttpHost {
    pub fn new(transport: Transport, control: Control) -> Self {
        Self {
            transport,
            control,
            now: Timestamp::UNIX_EPOCH,
            waited: SignedDuration::ZERO,
            retried: Vec::new(),
            compacted: Vec::new(),
            fell_back: Vec::new(),
        }
    }
}

#[async_trait]
impl Host for HttpHost {
    fn now(&self) -> Timestamp {
        self.now
    }

    fn control(&self) -> Control {
        self.control.clone()
    }

    async fn call_model(&mut self, call: &ModelCall) -> Result<Reply, LlmError> {
        match call.purpose {
            Purpose::Turn => self.transport.stream(&call.request, &mut |_| ()).await,
            Purpose::Summary => self.transport.complete(&call.request).await, // KERN-04
        }
    }

    async fn wait_until(&mut self, at: Timestamp) {
        self.waited += at.duration_since(self.now);
        self.now = at;
    }

    async fn on_event(&mut self, event: Event<'_>) {
        match event {
            Event::Retry { error, .. } => self.retried.push(error.kind),
            Event::Compacted { stage, before_tokens, after_tokens } => {
                assert!(after_tokens < before_tokens, "{stage:?}: {before_tokens} {after_tokens}");
                self.compacted.push(stage);
            }
            Event::Fallback { from, to, error: _ } => {
                self.fell_back.push((from.to_owned(), to.to_owned()));
            }
            Event::Entry(_)
            | Event::Calling(_)
            | Event::Truncated { .. }
            | Event::Context { .. }
            | Event::ToolStarted { .. }
            | Event::ToolSettled { .. } => {}
        }
    }
}
