//! The loop over real HTTP, on both wires.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fakes::model::{Gate, ModelServer, Point, Reply, Wire};
use foundry_client::{Provider, StaticToken};
use foundry_harness::process::{self, Parts};
use foundry_llm::Limits;
use foundry_platform::clock::Clock;
use foundry_platform::fake::{self, FakeApi};
use foundry_platform::process::Process;
use foundry_platform::relay::Relay;
use foundry_platform::settings::ModelSettings;
use jiff::Timestamp;
use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::json;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// Longest time one scenario may take.
const DEADLINE: Duration = Duration::from_secs(20);

struct Scenario {
    api: Arc<FakeApi>,
    model: ModelServer,
    limits: Limits,
}

impl Scenario {
    async fn with(provider: Provider) -> Self {
        drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
        let api = Arc::new(FakeApi::default());
        api.state().models = vec![fake::model("the-model", provider)];
        api.state().agent.model = "the-model".to_owned();
        Self { api, model: ModelServer::start().await, limits: Limits::default() }
    }

    /// Lives until the log has a line that `ends` accepts.
    async fn lives_until(&self, ends: impl Fn(&str) -> bool) {
        let stop = CancellationToken::new();
        let base = self.model.url().parse().unwrap();
        let tokens = Arc::new(StaticToken::new("the-pods-token"));
        let relay =
            Relay::new(&base, tokens, self.limits, Arc::new(|| Timestamp::UNIX_EPOCH)).unwrap();
        let (output, mut lines) = Lines::new();
        let process = Process {
            api: self.api.clone(),
            clock: Clock::new(|| Timestamp::UNIX_EPOCH),
            output: Box::new(output),
            agent_id: "ann".to_owned(),
            agent_namespace: "foundry-agents".to_owned(),
            start_number: None,
            heartbeat_every: Duration::from_mins(10),
        };
        let parts = Parts {
            process,
            broker: Arc::new(relay),
            model: ModelSettings::default(),
            evaluate_every: Duration::from_mins(10),
        };
        let watching = async {
            let mut seen = Vec::new();
            let found = timeout(DEADLINE, async {
                while let Some(line) = lines.recv().await {
                    let ended = ends(&line);
                    seen.push(line);
                    if ended {
                        break;
                    }
                }
            });
            assert!(found.await.is_ok(), "not within {DEADLINE:?}; seen: {seen:#?}");
            stop.cancel();
        };
        tokio::join!(process::run(parts, stop.clone()), watching);
    }

    fn lines(&self, kind: &str) -> Vec<String> {
        let state = self.api.state();
        let lines = state.events.iter().filter(|event| event.kind == kind);
        lines.map(|event| event.message.clone()).collect()
    }
}

/// The output, line by line.
struct Lines {
    rest: Mutex<Vec<u8>>,
    lines: tokio::sync::mpsc::UnboundedSender<String>,
}

impl Lines {
    fn new() -> (Self, tokio::sync::mpsc::UnboundedReceiver<String>) {
        let (lines, received) = tokio::sync::mpsc::unbounded_channel();
        (Self { rest: Mutex::default(), lines }, received)
    }
}

impl Write for Lines {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        let mut rest = self.rest.lock().unwrap();
        rest.extend_from_slice(bytes);
        while let Some(end) = rest.iter().position(|byte| *byte == b'\n') {
            let line = rest.drain(..=end).collect::<Vec<_>>();
            drop(self.lines.send(String::from_utf8_lossy(&line).into_owned()));
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// LOOP-03, LOOP-04, KERN-03
#[rstest]
#[case(Provider::OpenAi, Wire::OpenAi)]
#[case(Provider::Anthropic, Wire::Anthropic)]
#[case(Provider::OpenAiCompatible, Wire::OpenAi)]
#[tokio::test]
async fn an_agent_remembers_and_recalls_over_its_models_own_wire(
    #[case] provider: Provider,
    #[case] wire: Wire,
) {
    let scenario = Scenario::with(provider).await;
    scenario.model.script([
        Reply::call("remember", json!({ "text": "The tide table is on page 4." })),
        Reply::call("recall", json!({ "query": "tide" })),
        Reply::text("The tide table is on page 4."),
    ]);
    scenario.lives_until(|line| line.contains("step 3: done")).await;
    scenario.model.finish().unwrap();

    let requests = scenario.model.requests();
    assert!(requests.iter().all(|request| request.wire == wire), "{requests:?}");
    assert!(requests[0].system().contains("Watch the invoices."));
    assert_eq!(requests[0].model(), "the-model");
    assert_eq!(requests[0].tools(), ["recall", "remember"]);
    assert!(requests[2].extends(&requests[1]), "each request begins with the one before");
    assert_eq!(requests[0].header("authorization"), Some("Bearer the-pods-token"));
    assert_eq!(scenario.api.state().memories[0].text, "The tide table is on page 4.");
    assert_eq!(scenario.lines("tool").len(), 4);
    assert_eq!(scenario.api.state().runs[0].turns, 3);
}

/// LOOP-13
#[tokio::test]
async fn an_anthropic_call_marks_the_system_block_for_the_providers_cache() {
    let scenario = Scenario::with(Provider::Anthropic).await;
    scenario.model.script([Reply::text("Nothing is due.")]);
    scenario.lives_until(|line| line.contains("step 1: done")).await;
    let request = &scenario.model.requests()[0];
    assert_eq!(request.body["system"][0]["cache_control"]["type"], "ephemeral");
}

/// LOOP-24
#[rstest]
#[case(Provider::OpenAi)]
#[case(Provider::Anthropic)]
#[tokio::test]
async fn a_refused_call_is_told_with_its_status_and_the_providers_words(
    #[case] provider: Provider,
) {
    let scenario = Scenario::with(provider).await;
    scenario.model.script([Reply::failure(400, "invalid_request_error", "no such model")]);
    scenario.lives_until(|line| line.contains("broker relay failed")).await;
    let [line] = scenario.lines("error").try_into().unwrap();
    assert!(line.starts_with("broker relay failed: HTTP 400: "), "{line}");
    assert!(line.contains("no such model"), "{line}");
}

/// LOOP-20
#[tokio::test]
async fn a_think_call_without_headers_in_time_is_called_off_and_told() {
    let mut scenario = Scenario::with(Provider::OpenAi).await;
    assert_eq!(scenario.limits.headers, Duration::from_mins(5));
    scenario.limits.headers = Duration::from_millis(200);
    let gate = Gate::new();
    scenario.model.script([Reply::text("Late.").held(Point::Headers, &gate)]);
    scenario.lives_until(|line| line.contains("broker relay failed")).await;
    let lines = scenario.lines("error");
    assert!(lines[0].starts_with("broker relay failed: no response headers within"), "{lines:?}");
}
