//! One table of replies, heard alike on both wires.

use std::collections::BTreeMap;

use fakes::model::scenarios::{self, Heard, Said, Scenario};
use fakes::model::{ModelServer, Reply, Stop, Wire};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::talk::{DEADLINE, Talk, WIRES};

#[tokio::test]
async fn each_scenario_is_heard_alike_on_each_wire() {
    for wire in WIRES {
        let mut names = Vec::new();
        for Scenario { name, reply, heard, skip: _ } in scenarios::on(wire) {
            let model = ModelServer::start().await;
            model.script([reply]);
            let mut talk = Talk::new(&model, wire, "So?");
            talk.body["stream"] = json!(true);
            assert_eq!(listen(&talk).await, heard, "{name} on {wire:?}");
            model.finish().unwrap_or_else(|complaint| panic!("{name} on {wire:?}: {complaint}"));
            names.push(name);
        }
        let all = names.len();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), all, "two scenarios have one name");
        assert!(all > 30, "{all} scenarios");
    }
}

/// What is said in one piece is what is said in a stream.
#[tokio::test]
async fn a_document_says_what_the_stream_says() {
    for wire in WIRES {
        let model = ModelServer::start().await;
        let reply = Reply::thinking("First the table.")
            .and_text("I look it up.")
            .and_call("recall", json!({"query": "tide"}));
        model.script([reply]);
        let (status, document) = Talk::new(&model, wire, "So?").ask().await;
        assert_eq!(status, 200);
        let (thinking, text, name, arguments) = match wire {
            Wire::Anthropic => {
                let content = &document["content"];
                (
                    &content[0]["thinking"],
                    &content[1]["text"],
                    &content[2]["name"],
                    content[2]["input"].clone(),
                )
            }
            Wire::OpenAi => {
                let message = &document["choices"][0]["message"];
                let function = &message["tool_calls"][0]["function"];
                let arguments = serde_json::from_str(function["arguments"].as_str().unwrap());
                (
                    &message["reasoning_content"],
                    &message["content"],
                    &function["name"],
                    arguments.unwrap(),
                )
            }
        };
        let told = [thinking, text, name].map(|value| value.as_str().unwrap());
        assert_eq!(told, ["First the table.", "I look it up.", "recall"]);
        assert_eq!(arguments, json!({"query": "tide"}));
    }
}

async fn listen(talk: &Talk) -> Heard {
    let response = talk.send().await;
    if response.status() != 200 {
        return Heard::Refused(response.status().as_u16());
    }
    let body = tokio::time::timeout(DEADLINE, response.text()).await.unwrap();
    match body {
        Ok(body) => heard(talk.wire, &body),
        Err(_) => Heard::CutOff,
    }
}

#[derive(Default)]
struct Listener {
    thinking: String,
    text: String,
    calls: BTreeMap<u64, (String, String)>,
    stop: Option<String>,
}

fn heard(wire: Wire, body: &str) -> Heard {
    let mut listener = Listener::default();
    for event in body.replace("\r\n", "\n").split("\n\n") {
        let data = event.lines().find_map(|line| line.strip_prefix("data: "));
        let Some(data) = data.filter(|data| *data != "[DONE]") else { continue };
        let event: Value = serde_json::from_str(data).unwrap();
        if let Some(kind) = event["error"]["type"].as_str() {
            return Heard::ErrorEvent(kind.to_owned());
        }
        match wire {
            Wire::Anthropic => listener.anthropic(&event),
            Wire::OpenAi => listener.openai(&event),
        }
    }
    listener.says()
}

impl Listener {
    fn anthropic(&mut self, event: &Value) {
        let index = event["index"].as_u64().unwrap_or(0);
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let block = &event["content_block"];
        if block["type"] == "tool_use" {
            self.calls.insert(index, (text(&block["name"]), String::new()));
        }
        let delta = &event["delta"];
        self.thinking += &text(&delta["thinking"]);
        self.text += &text(&delta["text"]);
        if let Some(piece) = delta["partial_json"].as_str() {
            self.calls.get_mut(&index).unwrap().1 += piece;
        }
        if let Some(stop) = delta["stop_reason"].as_str() {
            self.stop = Some(stop.to_owned());
        }
    }

    fn openai(&mut self, event: &Value) {
        let choice = &event["choices"][0];
        let delta = &choice["delta"];
        for key in ["reasoning_content", "reasoning"] {
            self.thinking += delta[key].as_str().unwrap_or_default();
        }
        for key in ["content", "refusal"] {
            self.text += delta[key].as_str().unwrap_or_default();
        }
        for call in delta["tool_calls"].as_array().into_iter().flatten() {
            let function = &call["function"];
            let heard = self.calls.entry(call["index"].as_u64().unwrap_or(0)).or_default();
            if let Some(name) = function["name"].as_str() {
                heard.0 = name.to_owned();
            }
            heard.1 += function["arguments"].as_str().unwrap_or_default();
        }
        if let Some(stop) = choice["finish_reason"].as_str().filter(|stop| !stop.is_empty()) {
            self.stop = Some(stop.to_owned());
        }
    }

    fn says(self) -> Heard {
        let Self { thinking, text, calls, stop } = self;
        let silent = thinking.is_empty() && text.is_empty() && calls.is_empty();
        let Some(stop) = stop else {
            return if silent { Heard::Nothing } else { Heard::CutOff };
        };
        let stop = match stop.as_str() {
            "end_turn" | "tool_use" | "stop" | "tool_calls" => Stop::Fitting,
            "max_tokens" | "length" => Stop::Length,
            "refusal" | "content_filter" => Stop::Refusal,
            _ => Stop::Word(stop),
        };
        Heard::Completion(Said { thinking, text, calls: calls.into_values().collect(), stop })
    }
}
