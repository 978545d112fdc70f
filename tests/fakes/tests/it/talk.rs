//! A lawful client of either wire, in as few words as a test needs.

use std::time::Duration;

use fakes::model::{ModelServer, Wire};
use serde_json::{Value, json};

pub const DEADLINE: Duration = Duration::from_secs(20);

pub const WIRES: [Wire; 2] = [Wire::Anthropic, Wire::OpenAi];

pub fn client() -> reqwest::Client {
    reqwest::Client::builder().no_proxy().build().unwrap()
}

/// A conversation as its client keeps it.
#[derive(Clone)]
pub struct Talk {
    pub wire: Wire,
    pub body: Value,
    url: String,
    client: reqwest::Client,
}

impl Talk {
    pub fn new(model: &ModelServer, wire: Wire, text: &str) -> Self {
        let schema = json!({"type": "object"});
        let body = match wire {
            Wire::Anthropic => json!({
                "model": "m", "max_tokens": 100, "stream": false,
                "system": [{"type": "text", "text": "You keep the tide table."}],
                "tools": [{"name": "recall", "input_schema": schema}], "messages": [],
            }),
            Wire::OpenAi => json!({
                "model": "m", "stream": false,
                "tools": [{"type": "function", "function": {"name": "recall", "parameters": schema}}],
                "messages": [{"role": "system", "content": "You keep the tide table."}],
            }),
        };
        let mut talk =
            Self { wire, body, url: format!("{}/{}", model.url(), wire.route()), client: client() };
        talk.say(text);
        talk
    }

    pub fn messages(&mut self) -> &mut Vec<Value> {
        self.body["messages"].as_array_mut().unwrap()
    }

    /// A person says this.
    pub fn say(&mut self, text: &str) {
        let content = match self.wire {
            Wire::Anthropic => json!([{"type": "text", "text": text}]),
            Wire::OpenAi => json!(text),
        };
        self.messages().push(json!({"role": "user", "content": content}));
    }

    pub fn request(&self) -> reqwest::RequestBuilder {
        self.client.post(&self.url).header("anthropic-version", "2023-06-01").json(&self.body)
    }

    pub async fn send(&self) -> reqwest::Response {
        tokio::time::timeout(DEADLINE, self.request().send()).await.unwrap().unwrap()
    }

    /// Asks; gives status and body.
    pub async fn ask(&self) -> (u16, Value) {
        let response = self.send().await;
        (response.status().as_u16(), response.json().await.unwrap())
    }

    /// Asks, and takes the model's message into the conversation.
    pub async fn turn(&mut self) -> Value {
        let (status, answer) = self.ask().await;
        assert_eq!(status, 200, "{answer}");
        let message = match self.wire {
            Wire::Anthropic => json!({"role": "assistant", "content": answer["content"]}),
            Wire::OpenAi => answer["choices"][0]["message"].clone(),
        };
        let mut kept = message.clone();
        if let Some(fields) = kept.as_object_mut() {
            fields.retain(|_, value| !value.is_null() || self.wire == Wire::Anthropic);
            if self.wire == Wire::OpenAi {
                fields.entry("content").or_insert(Value::Null);
            }
        }
        self.messages().push(kept);
        answer
    }

    /// The results of all calls of the model's last message.
    pub fn results(&mut self, text: &str) {
        let last = self.messages().last().unwrap().clone();
        match self.wire {
            Wire::Anthropic => {
                let uses = last["content"].as_array().unwrap().iter();
                let results = uses.filter(|block| block["type"] == "tool_use").map(
                    |call| json!({"type": "tool_result", "tool_use_id": call["id"], "content": text}),
                );
                let results: Vec<Value> = results.collect();
                self.messages().push(json!({"role": "user", "content": results}));
            }
            Wire::OpenAi => {
                for call in last["tool_calls"].as_array().unwrap() {
                    self.messages()
                        .push(json!({"role": "tool", "tool_call_id": call["id"], "content": text}));
                }
            }
        }
    }

    /// The words of an error.
    pub fn words(answer: &Value) -> &str {
        answer["error"]["message"].as_str().unwrap()
    }
}
