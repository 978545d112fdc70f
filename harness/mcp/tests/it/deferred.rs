//! Tools of a server in a run of the kernel.

use std::sync::Arc;

use async_trait::async_trait;
use fakes::model::{Captured, ModelServer, Reply as Scripted};
use foundry_kernel::{
    Control, Event, Host, ModelCall, Run, RunOptions, Settings, Stop, UserInput, drive,
};
use foundry_llm::{Auth, Endpoint, Limits, LlmError, Reply, Transport, Wire};
use foundry_mcp::Options;
use jiff::Timestamp;
use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::json;

use super::scene::{HttpServer, PATIENCE, find, opened};
use super::server::{World, tool_with};

struct TestHost {
    transport: Transport,
    control: Control,
}

#[async_trait]
impl Host for TestHost {
    fn now(&self) -> Timestamp {
        Timestamp::UNIX_EPOCH
    }

    fn control(&self) -> Control {
        self.control.clone()
    }

    async fn call_model(&mut self, call: &ModelCall) -> Result<Reply, LlmError> {
        self.transport.stream(&call.request, &mut |_| ()).await
    }

    async fn wait_until(&mut self, _at: Timestamp) {}

    async fn on_event(&mut self, _event: Event<'_>) {}
}

/// KERN-08
#[rstest]
#[case(Wire::Anthropic)]
#[case(Wire::OpenAi)]
#[tokio::test]
async fn a_servers_schemas_are_out_of_the_request_until_found_and_then_its_tools_are_called(
    #[case] wire: Wire,
) {
    let world = World::default();
    let schema = json!({"type": "object", "properties": {"tide_marker": {"type": "string"}}});
    let others = (0..40).map(|n| tool_with(&format!("other_{n}"), schema.clone()));
    world.offer(others.chain([tool_with("tide", schema.clone())]).collect());
    let server = HttpServer::start(&world);
    let connections = opened(server.url(), Options::default()).await;
    let name = find(&connections, "tide").spec.name.clone();

    let model = ModelServer::start().await;
    model.script([
        Scripted::call("ToolSearch", json!({"query": format!("select:{name}")})),
        Scripted::call(name.clone(), json!({"tide_marker": "high"})),
        Scripted::text("done"),
    ]);
    let base = url::Url::parse(&model.url()).unwrap();
    let endpoint = Endpoint::new(wire, &base, Auth::None).unwrap();
    let clock = Arc::new(|| Timestamp::UNIX_EPOCH);
    let mut host = TestHost {
        transport: Transport::new(endpoint, Limits::default(), clock).unwrap(),
        control: Control::default(),
    };
    let mut run = Run::new(RunOptions {
        settings: Settings::new("auto", "You read tide tables."),
        history: Vec::new(),
        input: UserInput::from("Is the tide high?"),
        tools: connections.tools(),
    })
    .unwrap();
    let outcome = tokio::time::timeout(PATIENCE, drive(&mut run, &mut host)).await.unwrap();
    assert_eq!(outcome.stop, Stop::EndTurn);
    model.finish().unwrap();

    let requests = model.requests();
    let offered: Vec<Vec<String>> = requests.iter().map(Captured::tools).collect();
    let search = "ToolSearch".to_owned();
    let both = vec![search.clone(), name];
    assert_eq!(offered, [vec![search], both.clone(), both]);
    assert!(!requests[0].body.to_string().contains("tide_marker"));
    assert!(requests[1].body["tools"].to_string().contains("tide_marker"));
    assert_eq!(world.count("tide"), 1);
    let told: Vec<String> =
        requests[2].tool_results().into_iter().map(|told| told.content).collect();
    assert_eq!(told.last().map(String::as_str), Some("tide did it"));
}
