//! Logs and looks at them, for the tests of what makes a conversation fit.

use foundry_llm::{Content, Message, Reasoning, Reply, ToolCall};

use crate::entry::{CallResult, Entry, Settled, UserInput};
use crate::scenes::{reply, says};
use crate::view::{Conversation, View};

/// A filled-in form of a summary.
pub(crate) const FORM: &str = "## Standing goal\nship the parser\n\n## Rules in force\nnone\n\n\
    ## Done\n- the lexer\n\n## In progress\nthe grammar, half of it\n\n## Exact next action\n\
    read src/grammar.rs from line 120\n\n## Files\n- src/grammar.rs: the rules\n\n\
    ## Decisions\nno backtracking\n\n## Failed checks\nnone.";

pub(crate) fn user(text: &str) -> Entry {
    Entry::User { input: UserInput::from(text) }
}

pub(crate) fn assistant(text: &str) -> Entry {
    Entry::Assistant { reply: says(text) }
}

/// A reply that calls a tool once.
pub(crate) fn call(id: &str, tool: &str, arguments: &str) -> Entry {
    Entry::Assistant { reply: calling(id, tool, arguments) }
}

/// The same after thinking.
pub(crate) fn thoughtful_call(id: &str, tool: &str, arguments: &str) -> Entry {
    let thought = Reasoning::Thinking { text: "hm".into(), signature: "s1gn3d==".into() };
    Entry::Assistant { reply: Reply { reasoning: vec![thought], ..calling(id, tool, arguments) } }
}

pub(crate) fn result(id: &str, tool: &str, content: &str) -> Entry {
    let settled = Settled::output(content);
    Entry::Results { results: vec![CallResult { call_id: id.into(), name: tool.into(), settled }] }
}

/// Reads of files that return so many bytes each.
pub(crate) fn reads(count: usize, bytes: usize) -> Vec<Entry> {
    let read = |n: usize| {
        let (id, path) = (format!("read{n}"), format!(r#"{{"path":"src/part{n}.rs"}}"#));
        let content = format!("// part {n}\n{}", "x".repeat(bytes));
        [call(&id, "read_file", &path), result(&id, "read_file", &content)]
    };
    (0..count).flat_map(read).collect()
}

/// A conversation whose only run has this log.
pub(crate) fn conversation(log: &[Entry]) -> Conversation<'_> {
    Conversation {
        log,
        began: 0,
        fixed_bytes: 400,
        max_output_tokens: 1_000,
        stays: &|_| false,
        thinking_from: 0,
    }
}

/// Everything that is said in a view, one text a line.
pub(crate) fn texts(messages: &[Message]) -> Vec<String> {
    let of = |message: &Message| match message {
        Message::User { content } => {
            content.iter().map(|Content::Text { text }| text.clone()).collect::<Vec<_>>()
        }
        Message::Assistant { text, calls, .. } => {
            let calls = calls.iter().map(|call| call.arguments.clone());
            text.iter().cloned().chain(calls).collect()
        }
        Message::ToolResults { results } => {
            results.iter().map(|result| result.content.clone()).collect()
        }
    };
    messages.iter().flat_map(of).collect()
}

/// Whether a view says something word for word.
pub(crate) fn tells(view: &View, what: &str) -> bool {
    texts(&view.messages).iter().any(|text| text.contains(what))
}

fn calling(id: &str, tool: &str, arguments: &str) -> Reply {
    let call = ToolCall { id: id.into(), name: tool.into(), arguments: arguments.into() };
    reply(None, vec![call])
}
