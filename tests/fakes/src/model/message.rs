//! Messages of a request, in neither wire's form.

use serde_json::{Value, json};

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
    /// Thinking blocks: text and signature. A redacted one has its data for a text, and no
    /// signature; what came as `reasoning_content` has no signature either.
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

impl Message {
    /// Whether it brings results and says nothing beside them.
    pub(super) fn only_results(&self) -> bool {
        !self.results.is_empty() && self.text.is_empty()
    }

    /// Reads a message of either wire.
    pub(super) fn read(value: &Value) -> Self {
        let role = role(value);
        let mut message = Self {
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
            message.add_block(block);
        }
        if let Some(reasoning) = value["reasoning_content"].as_str() {
            message.thinking.push((reasoning.to_owned(), String::new()));
        }
        let calls = value["tool_calls"].as_array().into_iter().flatten();
        message.calls.extend(calls.map(call));
        message
    }

    fn add_block(&mut self, block: &Value) {
        let text = |key: &str| block[key].as_str().unwrap_or_default().to_owned();
        match block["type"].as_str() {
            Some("thinking") => self.thinking.push((text("thinking"), text("signature"))),
            Some("redacted_thinking") => self.thinking.push((text("data"), String::new())),
            Some("tool_use") => self.calls.push(Call {
                id: text("id"),
                name: text("name"),
                arguments: block["input"].clone(),
            }),
            Some("tool_result") => {
                self.results.push((text("tool_use_id"), text_of(&block["content"])));
            }
            _ => {}
        }
    }
}

fn role(value: &Value) -> Role {
    match value["role"].as_str() {
        Some("system" | "developer") => Role::System,
        Some("user") => Role::User,
        Some("assistant") => Role::Assistant,
        Some("tool") => Role::Tool,
        _ => Role::Unknown,
    }
}

fn call(value: &Value) -> Call {
    let arguments = value["function"]["arguments"].as_str().unwrap_or_default();
    Call {
        id: value["id"].as_str().unwrap_or_default().to_owned(),
        name: value["function"]["name"].as_str().unwrap_or_default().to_owned(),
        arguments: serde_json::from_str(arguments).unwrap_or_else(|_| json!(arguments)),
    }
}

/// Text that is a string, or a list of text parts.
pub(super) fn text_of(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Array(parts) => {
            let texts = parts.iter().filter_map(|part| part["text"].as_str());
            texts.collect::<Vec<_>>().join("\n")
        }
        _ => String::new(),
    }
}
