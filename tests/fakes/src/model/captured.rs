//! A request as it came, and how to look at it.

use serde_json::value::RawValue;
use serde_json::{Value, json};

/// Which protocol a request spoke.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    /// `…/messages`.
    Anthropic,
    /// `…/chat/completions`.
    OpenAi,
}

impl Wire {
    pub(super) fn of(path: &str) -> Option<Self> {
        if path.ends_with("/chat/completions") {
            Some(Self::OpenAi)
        } else if path.ends_with("/messages") {
            Some(Self::Anthropic)
        } else {
            None
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
        }
    }
}

/// Who a message is from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The system prompt, in the OpenAI form.
    System,
    /// A person, the host, or (in the Anthropic form) tools.
    User,
    /// The model.
    Assistant,
    /// A tool, in the OpenAI form.
    Tool,
    /// No role that either wire knows.
    Unknown,
}

/// A message, in neither wire's form.
#[derive(Clone, Debug, PartialEq)]
pub struct Message {
    /// Who it is from.
    pub role: Role,
    /// Its text parts, joined by line breaks.
    pub text: String,
    /// Thinking blocks: text and signature.
    pub thinking: Vec<(String, String)>,
    /// Calls it makes.
    pub calls: Vec<Call>,
    /// Results it brings: id and content.
    pub results: Vec<(String, String)>,
}

/// A call that the model made earlier.
#[derive(Clone, Debug, PartialEq)]
pub struct Call {
    /// Its id.
    pub id: String,
    /// The tool.
    pub name: String,
    /// Its arguments; a string where they are no JSON.
    pub arguments: Value,
}

/// A result at the end of the conversation.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolResult {
    /// The call's id.
    pub id: String,
    /// The tool that was called; empty when no call has this id.
    pub tool: String,
    /// What the model is told.
    pub content: String,
}

/// One request as it came.
#[derive(Clone, Debug)]
pub struct Captured {
    /// Its place among all requests, from 1.
    pub number: usize,
    /// Its place in its conversation, from 1.
    pub nth: usize,
    /// When it was read, in microseconds since 1970.
    pub at: u64,
    /// The protocol.
    pub wire: Wire,
    /// Path and query.
    pub path: String,
    /// Headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte.
    pub raw: String,
    /// The body; null when it is no JSON.
    pub body: Value,
    /// What its provider would not have accepted.
    pub violations: Vec<String>,
}

impl Captured {
    /// A header's value.
    pub fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| value.as_str())
    }

    /// The key that the request proves itself with.
    pub fn key(&self) -> Option<&str> {
        self.header("x-api-key").or_else(|| {
            self.header("authorization").and_then(|value| value.strip_prefix("Bearer "))
        })
    }

    /// The model asked for.
    pub fn model(&self) -> &str {
        self.body["model"].as_str().unwrap_or_default()
    }

    /// Whether the reply is to be streamed.
    pub fn streams(&self) -> bool {
        self.body["stream"].as_bool().unwrap_or(false)
    }

    /// The system prompt.
    pub fn system(&self) -> String {
        match self.wire {
            Wire::Anthropic => text_of(&self.body["system"]),
            Wire::OpenAi => {
                let system = self.messages().into_iter().filter(|one| one.role == Role::System);
                system.map(|one| one.text).collect::<Vec<_>>().join("\n")
            }
        }
    }

    /// Names of the tools offered.
    pub fn tools(&self) -> Vec<String> {
        let tools = self.body["tools"].as_array().map_or(&[][..], Vec::as_slice);
        let name = |tool: &Value| {
            let name = tool["name"].as_str().or_else(|| tool["function"]["name"].as_str());
            name.unwrap_or_default().to_owned()
        };
        tools.iter().map(name).collect()
    }

    /// The conversation.
    pub fn messages(&self) -> Vec<Message> {
        let messages = self.body["messages"].as_array().map_or(&[][..], Vec::as_slice);
        messages.iter().map(message).collect()
    }

    /// The text that a person or the host wrote last.
    pub fn last_user_text(&self) -> String {
        let said = |one: &Message| one.role == Role::User && !one.text.is_empty();
        let messages = self.messages();
        messages.into_iter().rev().find(said).map(|one| one.text).unwrap_or_default()
    }

    /// The results at the end of the conversation; empty when it ends otherwise.
    pub fn tool_results(&self) -> Vec<ToolResult> {
        let messages = self.messages();
        let calls: Vec<&Call> = messages.iter().flat_map(|one| &one.calls).collect();
        let tool = |id: &str| {
            let call = calls.iter().rev().find(|call| call.id == id);
            call.map(|call| call.name.clone()).unwrap_or_default()
        };
        let trailing = messages.iter().rev().take_while(|one| !one.results.is_empty());
        let mut results: Vec<ToolResult> = trailing
            .flat_map(|one| one.results.iter().rev())
            .map(|(id, content)| ToolResult {
                id: id.clone(),
                tool: tool(id),
                content: content.clone(),
            })
            .collect();
        results.reverse();
        results
    }

    /// Each message's own bytes.
    pub fn message_texts(&self) -> Vec<String> {
        #[derive(serde::Deserialize)]
        struct Body<'a> {
            #[serde(borrow)]
            messages: Vec<&'a RawValue>,
        }
        let body: Result<Body<'_>, _> = serde_json::from_str(&self.raw);
        body.map(|body| body.messages.iter().map(|one| one.get().to_owned()).collect())
            .unwrap_or_default()
    }

    /// Whether this request begins with the messages of `earlier`, byte for byte.
    pub fn extends(&self, earlier: &Self) -> bool {
        self.message_texts().starts_with(&earlier.message_texts())
    }

    /// One line for the capture file. Keys are left out.
    pub fn to_json(&self) -> Value {
        let secret = ["authorization", "x-api-key"];
        let headers: serde_json::Map<String, Value> = self
            .headers
            .iter()
            .map(|(name, value)| {
                let shown = if secret.contains(&name.as_str()) { "…" } else { value };
                (name.clone(), json!(shown))
            })
            .collect();
        json!({
            "number": self.number, "nth": self.nth, "at": self.at, "wire": self.wire.name(), "path": self.path,
            "headers": headers, "body": self.body, "violations": self.violations,
        })
    }

    /// What tells this request's conversation from others: its agent, if it names one,
    /// and the message it starts with.
    pub(super) fn conversation(&self) -> String {
        let messages = self.messages();
        let first = messages.iter().find(|one| one.role == Role::User);
        let agent = self.header("x-flow-agent-id").unwrap_or_default();
        format!("{agent}\n{}", first.map(|one| one.text.as_str()).unwrap_or_default())
    }
}

fn message(value: &Value) -> Message {
    let role = match value["role"].as_str() {
        Some("system" | "developer") => Role::System,
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("tool") => Role::Tool,
        _ => Role::Unknown,
    };
    let mut message = Message {
        role,
        text: String::new(),
        thinking: Vec::new(),
        calls: Vec::new(),
        results: Vec::new(),
    };
    if role == Role::Tool {
        let id = value["tool_call_id"].as_str().unwrap_or_default();
        message.results.push((id.to_owned(), text_of(&value["content"])));
        return message;
    }
    message.text = text_of(&value["content"]);
    for block in value["content"].as_array().into_iter().flatten() {
        let text = |key: &str| block[key].as_str().unwrap_or_default().to_owned();
        match block["type"].as_str() {
            Some("thinking") => message.thinking.push((text("thinking"), text("signature"))),
            Some("tool_use") => message.calls.push(Call {
                id: text("id"),
                name: text("name"),
                arguments: block["input"].clone(),
            }),
            Some("tool_result") => {
                message.results.push((text("tool_use_id"), text_of(&block["content"])));
            }
            _ => {}
        }
    }
    for call in value["tool_calls"].as_array().into_iter().flatten() {
        let arguments = call["function"]["arguments"].as_str().unwrap_or_default();
        message.calls.push(Call {
            id: call["id"].as_str().unwrap_or_default().to_owned(),
            name: call["function"]["name"].as_str().unwrap_or_default().to_owned(),
            arguments: serde_json::from_str(arguments).unwrap_or_else(|_| json!(arguments)),
        });
    }
    message
}

/// Text that is a string, or a list of text parts.
fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}
