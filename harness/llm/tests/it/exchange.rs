//! One scenario table over both wires, streamed and in one piece.

use fakes::model::{ModelServer, Reply as Scripted, Stop, Usage as Tokens};
use foundry_llm::{
    Delta, Message, Reasoning, Reply, StopReason, ToolCall, ToolResult, Usage, Wire,
};
use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::json;

use super::setup::{KEY, request, transport};

/// What is scripted, and what of it must come out: text, thinking, calls, stop.
struct Scenario {
    name: &'static str,
    scripted: Scripted,
    text: Option<&'static str>,
    thinking: Option<&'static str>,
    calls: Vec<(&'static str, &'static str)>,
    stop: StopReason,
}

const TEXT: &str = "High water at six: 潮汐 🌊, low water at noon.";

fn scenarios() -> Vec<Scenario> {
    vec![
        Scenario {
            name: "text",
            scripted: Scripted::text(TEXT),
            text: Some(TEXT),
            thinking: None,
            calls: vec![],
            stop: StopReason::EndTurn,
        },
        Scenario {
            name: "a call alone",
            scripted: Scripted::call("recall", json!({"query": "tide"})),
            text: None,
            thinking: None,
            calls: vec![("recall", r#"{"query":"tide"}"#)],
            stop: StopReason::ToolUse,
        },
        Scenario {
            name: "thinking, text and two calls with a gap between their indices",
            scripted: Scripted::thinking("Which tide does the person mean?")
                .and_text("Let me look.")
                .and_call("recall", json!({"query": "one"}))
                .and_call("recall", json!({"query": "two"}))
                .with_index_gap(),
            text: Some("Let me look."),
            thinking: Some("Which tide does the person mean?"),
            calls: vec![("recall", r#"{"query":"one"}"#), ("recall", r#"{"query":"two"}"#)],
            stop: StopReason::ToolUse,
        },
        Scenario {
            name: "cut by the output cap",
            scripted: Scripted::text("High water at").with_stop(Stop::Length),
            text: Some("High water at"),
            thinking: None,
            calls: vec![],
            stop: StopReason::MaxTokens,
        },
        Scenario {
            name: "a refusal",
            scripted: Scripted::refusal("I will not say."),
            text: Some("I will not say."),
            thinking: None,
            calls: vec![],
            stop: StopReason::Refusal,
        },
        Scenario {
            name: "an end without words, but with a reason",
            scripted: Scripted::empty(Stop::Fitting),
            text: None,
            thinking: None,
            calls: vec![],
            stop: StopReason::EndTurn,
        },
        Scenario {
            name: "no last event behind the stop reason",
            scripted: Scripted::text(TEXT).without_end(),
            text: Some(TEXT),
            thinking: None,
            calls: vec![],
            stop: StopReason::EndTurn,
        },
    ]
}

impl Scenario {
    fn matches(&self, reply: &Reply) {
        let name = self.name;
        assert_eq!(reply.text.as_deref(), self.text, "{name}");
        assert_eq!(reply.stop, self.stop, "{name}");
        assert_eq!(reply.model, "scripted", "{name}");
        let calls: Vec<_> =
            reply.calls.iter().map(|call| (&*call.name, &*call.arguments)).collect();
        assert_eq!(calls, self.calls, "{name}");
        let thinking: String = reply
            .reasoning
            .iter()
            .map(|block| match block {
                Reasoning::Thinking { text, signature } => {
                    assert!(!signature.is_empty(), "{name}");
                    text.as_str()
                }
                Reasoning::Text { text } => text.as_str(),
                Reasoning::Redacted { data } => data.as_str(),
            })
            .collect();
        assert_eq!(thinking, self.thinking.unwrap_or_default(), "{name}");
        assert!(reply.usage.input_tokens > 0 && reply.usage.output_tokens > 0, "{name}");
    }
}

/// KERN-04, KERN-38
#[rstest]
#[tokio::test]
async fn every_scenario_reads_the_same_streamed_and_in_one_piece(
    #[values(Wire::Anthropic, Wire::OpenAi)] wire: Wire,
) {
    for scenario in scenarios() {
        let model = ModelServer::start().await;
        model.require_key(KEY);
        model.script([scenario.scripted.clone(), scenario.scripted.clone()]);
        let transport = transport(&model, wire);
        let mut deltas = Vec::new();
        let streamed = transport
            .stream(&request("When is high water?"), &mut |delta| deltas.push(delta.into_owned()))
            .await
            .unwrap();
        scenario.matches(&streamed);
        assert_eq!(
            pieced(&deltas),
            (streamed.text.clone().unwrap_or_default(), arguments(&streamed))
        );
        let whole = transport.complete(&request("When is high water?")).await.unwrap();
        scenario.matches(&whole);
        model.finish().unwrap();
    }
}

/// Text and arguments as a viewer pieces them together.
fn pieced(deltas: &[Delta<'_>]) -> (String, String) {
    let mut seen = (String::new(), String::new());
    for delta in deltas {
        match delta {
            Delta::Text(text) => seen.0.push_str(text),
            Delta::Arguments { index: _, fragment } => seen.1.push_str(fragment),
            Delta::Reasoning(_) | Delta::Call { .. } => {}
        }
    }
    seen
}

fn arguments(reply: &Reply) -> String {
    reply.calls.iter().map(|call| call.arguments.as_str()).collect()
}

/// KERN-09: what the model said goes back in a form its provider accepts.
#[rstest]
#[tokio::test]
async fn a_whole_turn_with_tools_is_lawful_on_its_wire(
    #[values(Wire::Anthropic, Wire::OpenAi)] wire: Wire,
) {
    let model = ModelServer::start().await;
    model.script([
        Scripted::thinking("Look first.")
            .and_call("recall", json!({"query": "tide"}))
            .and_raw_call("recall", "{\"query\": \"cut o"),
        Scripted::text("{{last_tool_result}}"),
    ]);
    let transport = transport(&model, wire);
    let mut request = request("When is high water?");
    let reply = transport.stream(&request, &mut |_| ()).await.unwrap();
    let results = reply.calls.iter().map(|ToolCall { id, name, arguments }| ToolResult {
        call_id: id.clone(),
        name: name.clone(),
        content: format!("for {arguments}: at six"),
        is_error: false,
    });
    request.messages.push(Message::ToolResults { results: results.collect() });
    let Reply { text, reasoning, calls, .. } = reply;
    let said = Message::Assistant { text, reasoning, calls };
    request.messages.insert(1, said);
    let reply = transport.stream(&request, &mut |_| ()).await.unwrap();
    assert_eq!(reply.text.as_deref(), Some("for {\"query\": \"cut o: at six"));
    let requests = model.requests();
    assert!(requests[1].extends(&requests[0]), "the prefix must stay as it was");
    model.finish().unwrap();
}

#[rstest]
#[tokio::test]
async fn tokens_are_disjoint_on_both_wires(#[values(Wire::Anthropic, Wire::OpenAi)] wire: Wire) {
    let model = ModelServer::start().await;
    let tokens = Tokens { input: 20, output: 7, cache_read: 80, cache_write: 0 };
    model.script([Scripted::text("yes").with_usage(tokens)]);
    let reply = transport(&model, wire).stream(&request("So?"), &mut |_| ()).await.unwrap();
    let expected =
        Usage { input_tokens: 20, output_tokens: 7, cache_read_tokens: 80, ..Usage::default() };
    assert_eq!(reply.usage, expected);
}

#[tokio::test]
async fn turns_of_one_transport_share_a_connection() {
    let model = ModelServer::start().await;
    model.script([Scripted::text("one"), Scripted::text("two"), Scripted::text("three")]);
    let transport = transport(&model, Wire::OpenAi);
    for text in ["one", "two", "three"] {
        let reply = transport.stream(&request("next"), &mut |_| ()).await.unwrap();
        assert_eq!(reply.text.as_deref(), Some(text));
    }
    assert_eq!(model.connections(), 1);
}

/// BIND-11
#[rstest]
#[tokio::test]
async fn a_key_is_in_its_header_and_in_no_error(
    #[values(Wire::Anthropic, Wire::OpenAi)] wire: Wire,
) {
    let model = ModelServer::start().await;
    model.script([Scripted::failure(401, "authentication_error", format!("wrong key {KEY}"))]);
    let transport = transport(&model, wire);
    let error = transport.complete(&request("So?")).await.unwrap_err();
    assert!(error.message.contains("wrong key [redacted]"), "{error}");
    assert!(!format!("{transport:?}").contains(KEY));
    assert_eq!(model.requests()[0].key(), Some(KEY));
    model.finish().unwrap();
}
