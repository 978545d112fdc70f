//! A run, its host over real HTTP, and the model at the other end.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use fakes::model::{ModelServer, Reply as Scripted};
use foundry_kernel::{
    Control, Effect, Entry, Event, Execute, Host, Ladder, ModelCall, Outcome, Run, RunOptions,
    Settings, Tool, ToolError, UserInput, drive,
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
}

impl Scene {
    pub async fn new(wire: Wire, script: impl IntoIterator<Item = Scripted>) -> Self {
        let model = ModelServer::start().await;
        model.script(script);
        Self {
            model,
            control: Control::default(),
            notes: Arc::default(),
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
        let settings = Settings {
            ladder: Ladder::coding(),
            ..Settings::new("auto", "You keep notes about tides.")
        };
        let input = UserInput::from("Note what the table says.");
        let tools = vec![Arc::new(note(Arc::clone(&self.notes)))];
        let mut run = Run::new(RunOptions { settings, history, input, tools }).unwrap();
        let mut host = HttpHost {
            transport: self.transport(),
            control: self.control.clone(),
            now: Timestamp::UNIX_EPOCH,
            waited: SignedDuration::ZERO,
            retried: Mutex::default(),
        };
        let outcome = tokio::time::timeout(PATIENCE, drive(&mut run, &mut host))
            .await
            .unwrap_or_else(|_| panic!("the run did not end; its log so far: {:#?}", run.log()));
        let retried = host.retried.into_inner().unwrap();
        Played { outcome, retried, waited: host.waited }
    }

    fn transport(&self) -> Transport {
        let base = url::Url::parse(&self.model.url()).unwrap();
        let endpoint = Endpoint::new(self.wire, &base, Auth::None).unwrap();
        Transport::new(endpoint, self.limits, Arc::new(|| Timestamp::UNIX_EPOCH)).unwrap()
    }

    /// The messages of each request as they went over the wire.
    pub fn sent(&self) -> Vec<Vec<Value>> {
        let messages = |body: &Value| body["messages"].as_array().cloned().unwrap_or_default();
        self.model.requests().iter().map(|request| messages(&request.body)).collect()
    }
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
struct HttpHost {
    transport: Transport,
    control: Control,
    now: Timestamp,
    waited: SignedDuration,
    retried: Mutex<Vec<ErrorKind>>,
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
        self.transport.stream(&call.request, &mut |_| ()).await
    }

    async fn wait_until(&mut self, at: Timestamp) {
        self.waited += at.duration_since(self.now);
        self.now = at;
    }

    async fn on_event(&mut self, event: Event<'_>) {
        if let Event::Retry { error, .. } = event {
            self.retried.lock().unwrap().push(error.kind);
        }
    }
}
