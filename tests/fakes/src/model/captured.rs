//! A request as it came, and how to look at it.

use std::ops::Deref;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use serde_json::value::RawValue;
use serde_json::{Value, json};

pub use super::lineage::Lineage;
pub use super::message::{Call, Message, Role, ToolResult};
use super::prompt::Prompt;
pub use super::text::Text;

/// Which protocol a request spoke.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
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

    /// Its route below a base URL.
    pub fn route(self) -> &'static str {
        match self {
            Self::Anthropic => "messages",
            Self::OpenAi => "chat/completions",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Anthropic => "anthropic",
            Self::OpenAi => "openai",
        }
    }
}

/// A body as JSON, read when somebody looks at it; null when it is none.
#[derive(Clone, Debug)]
pub struct Json {
    text: Text,
    read: OnceLock<Value>,
}

impl Deref for Json {
    type Target = Value;

    fn deref(&self) -> &Value {
        self.read.get_or_init(|| serde_json::from_str(&self.text).unwrap_or_default())
    }
}

/// One request as it came.
#[derive(Clone, Debug)]
pub struct Captured {
    /// Its place among all requests, from 1.
    pub number: usize,
    /// Its place in its conversation, from 1; a repeated request counts anew.
    pub nth: usize,
    /// How often this very request was sent right before; 0 for a new one.
    pub retry: usize,
    /// When its body had come whole, in microseconds since 1970.
    pub at: u64,
    /// The protocol.
    pub wire: Wire,
    /// Path and query.
    pub path: String,
    /// Headers, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, byte for byte.
    pub raw: Text,
    /// The body.
    pub body: Json,
    /// What its provider would not have accepted.
    pub violations: Vec<String>,
    /// How its messages follow from those of the requests before.
    pub lineage: Lineage,
    /// Whether its tools, or Anthropic's system prompt, are others than in the request before
    /// of its conversation: that costs the whole cache.
    pub head_changed: bool,
    pub(super) prompt: Arc<Prompt>,
    conversation: OnceLock<Vec<Message>>,
    ended: Arc<AtomicU64>,
}

impl Captured {
    /// A request that has not been placed among others, or in time. `before` is one that may begin
    /// alike, to save work.
    pub(super) fn new(
        wire: Wire,
        path: String,
        headers: Vec<(String, String)>,
        raw: Text,
        before: Option<&Prompt>,
    ) -> Self {
        Self {
            number: 0,
            nth: 0,
            retry: 0,
            at: 0,
            wire,
            path,
            headers,
            body: Json { text: raw.clone(), read: OnceLock::new() },
            violations: Vec::new(),
            lineage: Lineage::First,
            head_changed: false,
            prompt: Arc::new(Prompt::read(wire, &raw, before)),
            conversation: OnceLock::new(),
            ended: Arc::default(),
            raw,
        }
    }

    /// When the last byte of its reply was handed to the connection, in microseconds since
    /// 1970; `None` while that has not happened, and when the reply was broken off.
    pub fn ended(&self) -> Option<u64> {
        Some(self.ended.load(Ordering::Acquire)).filter(|at| *at > 0)
    }

    pub(super) fn end(&self) {
        self.ended.store(crate::http::now_micros(), Ordering::Release);
    }

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
        &self.prompt.model
    }

    /// Whether the reply is to be streamed.
    pub fn streams(&self) -> bool {
        self.prompt.streams
    }

    /// The output cap in tokens, under any of its names.
    pub fn output_cap(&self) -> Option<u64> {
        let names = ["max_completion_tokens", "max_tokens"];
        names.iter().find_map(|name| self.body[*name].as_u64())
    }

    /// The system prompt.
    pub fn system(&self) -> String {
        self.prompt.system.clone()
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
        self.conversation().to_vec()
    }

    /// The conversation, read once.
    pub(super) fn conversation(&self) -> &[Message] {
        self.conversation.get_or_init(|| {
            let messages = self.body["messages"].as_array().map_or(&[][..], Vec::as_slice);
            messages.iter().map(Message::read).collect()
        })
    }

    /// The text that a person or the host wrote last.
    pub fn last_user_text(&self) -> String {
        let said = |one: &&Message| one.role == Role::User && !one.text.is_empty();
        self.conversation().iter().rev().find(said).map(|one| one.text.clone()).unwrap_or_default()
    }

    /// The results at the end of the conversation; empty when it ends otherwise.
    pub fn tool_results(&self) -> Vec<ToolResult> {
        let messages = self.conversation();
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

    /// Whether this request begins with the messages of `earlier`, byte for byte but for
    /// the marks of a cache.
    pub fn extends(&self, earlier: &Self) -> bool {
        let prints = |request: &Self| -> Vec<u64> {
            request.prompt.units().map(|(_, unit)| unit.print).collect()
        };
        prints(self).starts_with(&prints(earlier))
    }

    /// The message at which this request parts from those before, if it does so without a
    /// fold or stubs that would explain it.
    pub fn prefix_broken(&self) -> Option<usize> {
        match self.lineage {
            Lineage::Broken { at } => Some(at),
            _ => None,
        }
    }

    /// How many cache marks it bears: on tools and system prompt, and on messages.
    pub fn cache_marks(&self) -> (usize, usize) {
        let head = self.prompt.head.iter().filter(|unit| unit.marked).count();
        (head, self.prompt.units().filter(|(_, unit)| unit.marked).count())
    }

    /// One line for the capture file. Keys are left out.
    pub fn to_json(&self) -> Value {
        let mut line = self.line();
        line["body"] = Value::clone(&self.body);
        line
    }

    /// The same without the body.
    pub(super) fn line(&self) -> Value {
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
            "number": self.number, "nth": self.nth, "retry": self.retry, "at": self.at,
            "ended": self.ended(), "wire": self.wire.name(), "path": self.path,
            "headers": headers, "bytes": self.raw.len(), "violations": self.violations,
            "lineage": self.lineage.name(), "prefix_broken": self.prefix_broken(),
            "head_changed": self.head_changed,
        })
    }

    /// What tells this request's conversation from others: its agent, if it names one,
    /// and the message it starts with.
    pub(super) fn thread(&self) -> String {
        let agent = self.header("x-flow-agent-id").unwrap_or_default();
        format!("{agent}\n{}", self.prompt.first_user)
    }
}
