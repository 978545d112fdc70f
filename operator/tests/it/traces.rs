//! Spans at a collector of ours: a small one that reads what a real one would.

use std::collections::BTreeSet;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::Bytes;
use axum::http::{HeaderMap, StatusCode};
use axum::routing::post;
use fakes::people::People;
use foundry_crds::AgentState;
use foundry_crds::agent::Activation;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::trace::v1::Span;
use pretty_assertions::assert_eq;
use prost::Message as _;
use testenv::{Process, eventually};
use tokio::net::TcpListener;

use super::world::{DEADLINE, World};

/// How soon an operator with nothing under way must be gone.
const PROMPT: Duration = Duration::from_secs(5);
/// What no span may hold.
const TOKEN: &str = "s3cret-of-the-people-service";

/// What came, as names and attributes.
#[derive(Clone, Default)]
struct Collected(Arc<Mutex<Received>>);

#[derive(Default)]
struct Received {
    spans: Vec<Span>,
    services: BTreeSet<String>,
    bytes: Vec<u8>,
}

impl Collected {
    fn take(&self, headers: &HeaderMap, body: &Bytes) -> StatusCode {
        if headers.get("content-type").is_none_or(|it| it != "application/x-protobuf") {
            return StatusCode::UNSUPPORTED_MEDIA_TYPE;
        }
        let Ok(request) = ExportTraceServiceRequest::decode(body.clone()) else {
            return StatusCode::BAD_REQUEST;
        };
        let mut received = self.0.lock().unwrap();
        received.bytes.extend_from_slice(body);
        for resource in request.resource_spans {
            let attributes = resource.resource.unwrap_or_default().attributes;
            let service = attributes.iter().find(|it| it.key == "service.name");
            received.services.extend(service.map(|it| text(it.value.as_ref())));
            let spans = resource.scope_spans.into_iter().flat_map(|scope| scope.spans);
            received.spans.extend(spans);
        }
        StatusCode::OK
    }

    fn spans(&self) -> Vec<Span> {
        self.0.lock().unwrap().spans.clone()
    }
}

fn text(value: Option<&opentelemetry_proto::tonic::common::v1::AnyValue>) -> String {
    match value.and_then(|value| value.value.as_ref()) {
        Some(Value::StringValue(text)) => text.clone(),
        other => format!("{other:?}"),
    }
}

fn attribute(span: &Span, key: &str) -> String {
    let found = span.attributes.iter().find(|attribute| attribute.key == key);
    found.map(|attribute| text(attribute.value.as_ref())).unwrap_or_default()
}

/// A collector on a free port.
#[expect(clippy::disallowed_methods, reason = "a stand-in has no OpenAPI document")]
async fn collector() -> (String, Collected, tokio::task::JoinSet<()>) {
    let collected = Collected::default();
    let of_route = collected.clone();
    let route = post(move |headers: HeaderMap, body: Bytes| {
        std::future::ready(of_route.take(&headers, &body))
    });
    let listener = TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    let mut task = tokio::task::JoinSet::new();
    task.spawn(async move {
        axum::serve(listener, Router::new().route("/v1/traces", route)).await.unwrap();
    });
    (url, collected, task)
}

/// The executable, in a world of its own, with these variables.
async fn operator(world: &World, log: &std::path::Path, variables: &[(&str, &str)]) -> Process {
    let control_plane = world.control_plane;
    let kubeconfig =
        control_plane.kubeconfig_for_service_account("default", "foundry-operator").await;
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_foundry-operator"));
    let lease = format!("foundry-operator-{}", world.namespace.name);
    command
        .args(["--listen", "127.0.0.1:0", "--runtime", "cluster", "--lease-name", &lease])
        .args(["--watch-namespaces", &world.namespace.name])
        .env("KUBECONFIG", kubeconfig)
        .envs(variables.iter().copied());
    Process::spawn("foundry-operator", &command, log).unwrap()
}

async fn settles(world: &World, name: &str) {
    world.agent(name, |spec| spec.activation = Some(Activation::OnDemand)).await;
    let is_settled =
        |status: &foundry_crds::AgentStatus| status.state == Some(AgentState::OnDemand);
    world.status("the agent settles", name, is_settled).await;
}

async fn leaves_at_once(mut process: Process) {
    process.signal(rustix::process::Signal::TERM);
    let told = Instant::now();
    let status = process.finish(Duration::from_mins(1)).await.unwrap();
    let took = told.elapsed();
    assert!(status.success(), "{status}: {}", process.last_words());
    assert!(took < PROMPT, "it took {took:?}: {}", process.last_words());
}

/// A reconcile is a span with its steps and writes inside; the log has none of them, and
/// neither has a token.
#[tokio::test]
async fn spans_of_a_reconcile_reach_the_collector_and_hold_no_secret() {
    let world = World::new("op-traces").await;
    world.harness("agent-v1").await;
    let (url, collected, _collector) = collector().await;
    let people = People::start(TOKEN).await.unwrap();
    let dir = tempfile::tempdir().unwrap();
    let (log, token) = (dir.path().join("log"), dir.path().join("token"));
    std::fs::write(&token, TOKEN).unwrap();
    let variables = [
        ("OTEL_EXPORTER_OTLP_ENDPOINT", url.as_str()),
        ("OTEL_BSP_SCHEDULE_DELAY", "100"),
        ("FOUNDRY_PEOPLE_URL", &people.url()),
        ("FOUNDRY_PEOPLE_TOKEN_FILE", token.to_str().unwrap()),
        ("FOUNDRY_LOG", "debug"),
    ];
    let process = operator(&world, &log, &variables).await;
    settles(&world, "ann").await;

    let (reconcile, inside) = eventually("a reconcile that wrote arrives", DEADLINE, || async {
        let spans = collected.spans();
        let of_ann = spans.iter().filter(|span| span.name == "reconcile");
        let mut of_ann = of_ann.filter(|span| attribute(span, "name") == "ann");
        let is_beneath = |span: &Span, parent: &Span| span.parent_span_id == parent.span_id;
        let found = of_ann.find_map(|reconcile| {
            let steps = spans.iter().filter(|span| is_beneath(span, reconcile));
            let report = steps.clone().find(|step| step.name == "report")?;
            let write = spans.iter().find(|span| is_beneath(span, report))?;
            let steps = steps.map(|step| step.name.clone());
            Some((reconcile.clone(), (steps.collect::<BTreeSet<_>>(), write.clone())))
        });
        let names: Vec<_> = spans.iter().map(|span| span.name.as_str()).collect();
        found.ok_or_else(|| anyhow::anyhow!("{names:?}"))
    })
    .await;
    assert_eq!(attribute(&reconcile, "kind"), "agent");
    assert_eq!(attribute(&reconcile, "namespace"), world.namespace.name);
    assert_eq!(attribute(&reconcile, "outcome"), "ok");
    let (steps, write) = inside;
    let expected = ["apply", "observe", "report"].map(str::to_owned);
    assert!(steps.is_superset(&BTreeSet::from(expected)), "{steps:?}");
    let verb = attribute(&write, "verb");
    assert_eq!((write.name.as_str(), verb.as_str()), ("write", "report status of"));
    assert_eq!(attribute(&write, "kind"), "Agent");

    eventually("the mailbox is registered", DEADLINE, || async {
        let calls = people.registered();
        anyhow::ensure!(!calls.is_empty(), "{:?}", people.calls());
        anyhow::Ok(())
    })
    .await;
    leaves_at_once(process).await;
    let received = collected.0.lock().unwrap();
    assert_eq!(received.services, BTreeSet::from(["foundry-operator".to_owned()]));
    let said = String::from_utf8_lossy(&received.bytes);
    let log = std::fs::read_to_string(&log).unwrap();
    assert!(!said.contains(TOKEN) && !log.contains(TOKEN), "the token is told");
    assert!(!log.contains("foundry_operator::spans"), "spans are no lines of the log");
}

/// A collector that is away or deaf costs nothing but its spans.
#[tokio::test]
async fn a_collector_that_is_away_or_never_answers_changes_nothing() {
    let world = World::new("op-traces-away").await;
    world.harness("agent-v1").await;
    let dir = tempfile::tempdir().unwrap();
    // Takes connections and says nothing.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let deaf = format!("http://{}", listener.local_addr().unwrap());
    for (name, url) in [("ann", "http://127.0.0.1:1"), ("ben", &deaf)] {
        let variables = [("OTEL_EXPORTER_OTLP_ENDPOINT", url), ("OTEL_BSP_SCHEDULE_DELAY", "50")];
        let process = operator(&world, &dir.path().join(name), &variables).await;
        settles(&world, name).await;
        leaves_at_once(process).await;
    }
}

#[test]
fn a_protocol_that_is_not_spoken_is_refused_at_the_start() {
    let mut command = std::process::Command::new(env!("CARGO_BIN_EXE_foundry-operator"));
    command
        .args(["--runtime", "cluster", "--listen", "127.0.0.1:0"])
        .env("OTEL_EXPORTER_OTLP_ENDPOINT", "http://127.0.0.1:4317")
        .env("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
    let output = command.output().unwrap();
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(said.contains("http/protobuf") && said.lines().count() == 1, "{said}");
}
