use std::sync::{Mutex, PoisonError};

use foundry_llm::{ErrorKind, Request, StopReason, ToolChoice, Usage};
use pretty_assertions::assert_eq;

use super::*;

/// Remembers by which way each model was called.
#[derive(Default)]
struct Ways(Mutex<Vec<String>>);

impl Ways {
    fn called(&self, way: &str, provider: Provider, request: &Request) -> Reply {
        let called = format!("{way} {} {provider:?}", request.model);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(called);
        Reply {
            text: Some("ok".to_owned()),
            reasoning: Vec::new(),
            calls: Vec::new(),
            stop: StopReason::EndTurn,
            usage: Usage::default(),
            model: request.model.clone(),
        }
    }
}

#[async_trait]
impl Broker for Ways {
    async fn ask(&self, provider: Provider, request: &Request) -> Result<Reply, LlmError> {
        Ok(self.called("stream", provider, request))
    }

    async fn complete(&self, provider: Provider, request: &Request) -> Result<Reply, LlmError> {
        Ok(self.called("one-shot", provider, request))
    }
}

#[derive(Default)]
struct Told(Mutex<Vec<String>>);

impl Lines for Told {
    fn write(&self, kind: &str, level: LogLevel, line: &str, _: Option<Value>) {
        self.0.lock().unwrap().push(format!("{kind} {level:?}: {line}"));
    }
}

struct Scene {
    ways: Arc<Ways>,
    told: Arc<Told>,
    vitals: Arc<Vitals>,
}

impl Scene {
    fn new() -> Self {
        let vitals = Arc::new(Vitals::new(Uuid::nil()));
        Self { ways: Arc::default(), told: Arc::default(), vitals }
    }

    /// The host of one more run of the same process.
    fn run(&self) -> Teller {
        let means = Means {
            broker: self.ways.clone(),
            route: Route::unread(),
            fallback: Some(Fallback { model: "other".to_owned(), provider: Provider::Anthropic }),
            clock: Clock::new(|| Timestamp::UNIX_EPOCH),
            lines: self.told.clone(),
            vitals: self.vitals.clone(),
        };
        Teller::new(means, Uuid::nil(), &CancellationToken::new())
    }

    fn lines(&self) -> Vec<String> {
        self.told.0.lock().unwrap().clone()
    }
}

fn call(model: &str, purpose: Purpose) -> ModelCall {
    let request = Request {
        model: model.to_owned(),
        system: String::new(),
        messages: Vec::new(),
        tools: Vec::new(),
        tool_choice: ToolChoice::Auto,
        max_output_tokens: 1,
        temperature: None,
        reasoning_effort: None,
        thinking_budget: None,
    };
    ModelCall { request, purpose, turn: 1, attempt: 0, not_before: None, after: None }
}

/// KERN-04
#[tokio::test]
async fn turns_stream_and_summaries_come_in_one_piece_each_from_its_models_own_provider() {
    let scene = Scene::new();
    let mut host = scene.run();
    host.call_model(&call("main", Purpose::Turn)).await.unwrap();
    host.call_model(&call("main", Purpose::Summary)).await.unwrap();
    host.call_model(&call("other", Purpose::Turn)).await.unwrap();
    let called = scene.ways.0.lock().unwrap().clone();
    assert_eq!(called, ["stream main OpenAi", "one-shot main OpenAi", "stream other Anthropic"]);
}

/// CODE-40
#[test]
fn the_gauge_is_a_line_at_each_change_whichever_run_it_is_of() {
    let scene = Scene::new();
    for percents in [[3, 7], [7, 4]] {
        let mut host = scene.run();
        for percent in percents {
            host.tell(&Event::Context { percent });
        }
    }
    let line = |percent: u8| format!("context Info: {percent} % of the model's window is used");
    assert_eq!(scene.lines(), [3, 7, 4].map(line));
}

#[test]
fn what_was_shortened_and_who_took_over_is_told() {
    let scene = Scene::new();
    let mut host = scene.run();
    let error = LlmError {
        kind: ErrorKind::Server,
        status: Some(502),
        message: "HTTP 502: bad gateway".to_owned(),
        retry_after: None,
    };
    host.tell(&Event::Fallback { from: "main", to: "other", error: &error });
    let (before_tokens, after_tokens) = (120_000, 30_000);
    host.tell(&Event::Compacted { stage: Stage::Summary, before_tokens, after_tokens });
    assert_eq!(
        scene.lines(),
        [
            "warning Warn: model other takes over from main: broker relay failed: HTTP 502: bad \
             gateway",
            "compaction Info: about 120000 tokens became 30000: the older part is shown as a \
             summary by the model",
        ]
    );
}
