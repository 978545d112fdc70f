//! Which answer a request gets.

use std::time::Duration;

use fakes::model::{Bodies, Gate, ModelServer, Point, Reply, Rule, When};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

const DEADLINE: Duration = Duration::from_secs(20);

fn client() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().unwrap()
}

fn body(text: &str) -> Value {
    json!({"model": "m", "messages": [
        {"role": "system", "content": "# Instructions\n\nKeep the\ntide table.\n\n# Thoughts\n\nnone"},
        {"role": "user", "content": text},
    ]})
}

async fn ask(model: &ModelServer, body: &Value) -> (u16, Value) {
    let url = format!("{}/chat/completions", model.url());
    let response = client().post(url).json(body).send().await.unwrap();
    (response.status().as_u16(), response.json().await.unwrap())
}

async fn said(model: &ModelServer, text: &str) -> String {
    let (status, answer) = ask(model, &body(text)).await;
    assert_eq!(status, 200, "{answer}");
    answer["choices"][0]["message"]["content"].as_str().unwrap().to_owned()
}

#[tokio::test]
async fn scripts_come_before_rules_and_the_first_rule_that_matches_wins() {
    let model = ModelServer::start().await;
    model.on(Rule::new(When::any().last_user("rain"), Reply::text("once")).times(1));
    model.on((When::any().last_user("rain"), Reply::text("rule")));
    model.on((When::any(), Reply::text("any")));
    model.script_for(When::any().last_user("scripted"), [Reply::text("script")]);
    let mut heard = Vec::new();
    for text in ["rain", "scripted", "rain", "sun", "scripted"] {
        heard.push(said(&model, text).await);
    }
    assert_eq!(heard, ["once", "script", "rule", "any", "any"]);
    model.finish().unwrap();
}

#[tokio::test]
async fn a_script_for_one_conversation_stays_with_it() {
    let model = ModelServer::start().await;
    model.conversation(When::any(), [Reply::text("a1"), Reply::text("a2")]);
    model.conversation(When::any(), [Reply::text("b1"), Reply::text("b2")]);
    let mut heard = Vec::new();
    for text in ["ann", "bob", "bob", "ann"] {
        heard.push(said(&model, text).await);
    }
    assert_eq!(heard, ["a1", "b1", "b2", "a2"]);
    let nth: Vec<usize> = model.requests().iter().map(|request| request.nth).collect();
    assert_eq!(nth, [1, 1, 2, 2]);
}

#[tokio::test]
async fn a_step_left_over_is_a_complaint() {
    let model = ModelServer::start().await;
    model.script([Reply::text("one"), Reply::text("two")]);
    said(&model, "hello").await;
    let complaint = "1 steps of scripts were never played (1 requests came)";
    assert_eq!(model.finish().unwrap_err(), complaint);
}

#[tokio::test]
async fn a_request_without_an_answer_is_refused_and_is_a_complaint() {
    let model = ModelServer::start().await;
    let (status, answer) = ask(&model, &body("anyone?")).await;
    assert_eq!(status, 400);
    let words = "no script and no rule answers this; it says: anyone?";
    assert_eq!(answer["error"]["message"], words);
    assert_eq!(model.finish().unwrap_err(), format!("request 1: {words}"));
}

#[tokio::test]
async fn an_unlawful_request_is_refused_as_its_provider_would() {
    let model = ModelServer::start().await;
    model.on((When::any(), Reply::text("never")));
    let (status, answer) = ask(&model, &json!({"model": "m", "messages": []})).await;
    assert_eq!((status, &answer["error"]["type"]), (400, &json!("invalid_request_error")));
    assert_eq!(model.finish().unwrap_err(), "request 1: ends_open: there is no message");
}

#[tokio::test]
async fn blanks_are_filled_from_the_request() {
    let model = ModelServer::start().await;
    let text = "{{model}}: {{system_section:Instructions}} {{last_user}} {{unknown}}";
    model.script([Reply::text(text)]);
    assert_eq!(said(&model, "Now?").await, "m: Keep the tide table. Now? {{unknown}}");
    let mut asked = body("look");
    let call = json!({"id": "a", "type": "function",
        "function": {"name": "recall", "arguments": "{}"}});
    let conversation = asked["messages"].as_array_mut().unwrap();
    conversation.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
    conversation.push(json!({"role": "tool", "tool_call_id": "a", "content": "say \"six\"\n"}));
    let remember = Reply::call("remember", json!({"text": "{{last_tool_result}}"}));
    model.on((When::any().result_of("recall").step(2), remember));
    let (_, answer) = ask(&model, &asked).await;
    let arguments = &answer["choices"][0]["message"]["tool_calls"][0]["function"]["arguments"];
    assert_eq!(arguments, r#"{"text":"say \"six\"\n"}"#);
}

#[tokio::test]
async fn a_rule_may_ask_what_a_result_says_and_what_is_not_offered() {
    let model = ModelServer::start().await;
    model.on((When::any().result_contains("refused"), Reply::text("again")));
    model.on((When::any().tool_lacks("finish"), Reply::text("planning")));
    model.on((When::any().tool("finish"), Reply::text("building")));
    let tool = |name: &str| json!([{"type": "function", "function": {"name": name, "parameters": {"type": "object"}}}]);
    let mut asked = body("go on");
    let said = async |asked: &Value| {
        ask(&model, asked).await.1["choices"][0]["message"]["content"].clone()
    };
    asked["tools"] = tool("recall");
    assert_eq!(said(&asked).await, "planning");
    asked["tools"] = tool("finish");
    assert_eq!(said(&asked).await, "building");
    let call = json!({"id": "a", "type": "function",
        "function": {"name": "finish", "arguments": "{}"}});
    let conversation = asked["messages"].as_array_mut().unwrap();
    conversation.push(json!({"role": "assistant", "content": null, "tool_calls": [call]}));
    conversation.push(json!({"role": "tool", "tool_call_id": "a", "content": "refused: no check"}));
    assert_eq!(said(&asked).await, "again");
    model.finish().unwrap();
}

#[tokio::test]
async fn the_window_and_the_key_are_enforced() {
    let model = ModelServer::start().await;
    model.enforce_window(100);
    model.on((When::any(), Reply::text("fits")));
    assert_eq!(said(&model, "short").await, "fits");
    let (status, answer) = ask(&model, &body(&"long ".repeat(200))).await;
    assert_eq!((status, &answer["error"]["code"]), (400, &json!("context_length_exceeded")));
    model.require_key("sk-right");
    assert_eq!(ask(&model, &body("short")).await.0, 401);
    let url = format!("{}/chat/completions", model.url());
    let sent = client().post(url).bearer_auth("sk-right").json(&body("short")).send().await;
    assert_eq!(sent.unwrap().status(), 200);
    model.finish().unwrap();
}

#[tokio::test]
async fn tokens_follow_the_bytes_and_a_system_prompt_seen_before_is_cached() {
    let model = ModelServer::start().await;
    model.on((When::any(), Reply::text("twelve bytes")));
    let (_, first) = ask(&model, &body("hello")).await;
    let (_, second) = ask(&model, &body("hello")).await;
    assert_eq!(first["usage"]["completion_tokens"], 3);
    assert_eq!(first["usage"]["prompt_tokens"], second["usage"]["prompt_tokens"]);
    assert_eq!(first["usage"]["prompt_tokens_details"]["cached_tokens"], 0);
    assert!(second["usage"]["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap() > 0);
}

#[tokio::test]
async fn a_gate_holds_a_reply_until_it_opens() {
    let model = ModelServer::start().await;
    let gate = Gate::new();
    model.script([Reply::text("at last").held(Point::Headers, &gate)]);
    let (held, released) = (gate.clone(), gate);
    let asking = async { tokio::time::timeout(DEADLINE, said(&model, "so?")).await.unwrap() };
    let releasing = async {
        tokio::time::timeout(DEADLINE, held.reached()).await.unwrap();
        assert_eq!(model.request(1).await.last_user_text(), "so?");
        released.open();
    };
    let (heard, ()) = tokio::join!(asking, releasing);
    assert_eq!(heard, "at last");
}

#[tokio::test]
async fn requests_are_captured_as_lines_without_their_keys() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("captured.jsonl");
    let model = ModelServer::start().await;
    model.capture_to(&file, Bodies::All);
    model.on((When::any(), Reply::text("yes")));
    let url = format!("{}/chat/completions", model.url());
    client().post(url).bearer_auth("sk-secret").json(&body("so?")).send().await.unwrap();
    model.finish().unwrap(); // waits until all is written
    let text = std::fs::read_to_string(file).unwrap();
    assert!(!text.contains("sk-secret"), "{text}");
    let line: Value = serde_json::from_str(text.trim_end()).unwrap();
    assert_eq!(line["wire"], "openai");
    assert!(line["at"].as_u64().unwrap() > 1_700_000_000_000_000, "{line}");
    assert_eq!(line["body"], body("so?"));
    assert_eq!(line["headers"]["authorization"], "…");
}
