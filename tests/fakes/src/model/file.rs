//! Scripts as files, for the executable. `README.md` describes the form.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::Context;
use serde::Deserialize;
use serde_json::Value;

use super::reply::{Break, Overflow, Pacing, Point, Raw, Reply, Stop, Usage};
use super::rule::{Rule, When};
use super::server::ModelServer;

/// A whole script file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptFile {
    /// The only key accepted; absent: any, or none.
    key: Option<String>,
    /// The window in tokens to enforce; absent: none.
    window: Option<u64>,
    /// Ordered answers, which come before all rules.
    #[serde(default)]
    scripts: Vec<ScriptPart>,
    /// Answers to whatever matches, first match first.
    #[serde(default)]
    rules: Vec<RulePart>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptPart {
    #[serde(default)]
    when: When,
    /// Keeps all steps for the first conversation that asks.
    #[serde(default)]
    one_conversation: bool,
    steps: Vec<ReplyPart>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RulePart {
    #[serde(default)]
    when: When,
    times: Option<usize>,
    reply: ReplyPart,
}

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ReplyPart {
    thinking: Option<String>,
    text: Option<String>,
    calls: Vec<CallPart>,
    stop: Option<StopPart>,
    usage: Option<UsagePart>,
    without_end: bool,
    fail: Option<FailPart>,
    overflow: Option<OverflowPart>,
    raw: Option<RawPart>,
    broken: Option<BrokenPart>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CallPart {
    tool: String,
    /// An object; a string is sent as it is, for arguments that are cut.
    #[serde(default)]
    arguments: Value,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum StopPart {
    Length,
    Refusal,
    Missing,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct UsagePart {
    input: u64,
    output: u64,
    cache_read: u64,
    cache_write: u64,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct FailPart {
    status: u16,
    #[serde(default = "api_error")]
    kind: String,
    #[serde(default)]
    message: String,
    retry_after: Option<String>,
    retry_after_ms: Option<u64>,
    resets_in_seconds: Option<u64>,
}

fn api_error() -> String {
    "api_error".to_owned()
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum OverflowPart {
    Native,
    LlamaCpp,
    Vllm,
    Window,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPart {
    status: u16,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: String,
    chunk_bytes: Option<usize>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct BrokenPart {
    at: PointPart,
    how: BreakPart,
    #[serde(default = "api_error")]
    kind: String,
    #[serde(default)]
    message: String,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum PointPart {
    Headers,
    Body,
    Text,
    Arguments,
    End,
}

#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(rename_all = "snake_case")]
enum BreakPart {
    Silence,
    SilenceInEvent,
    Reset,
    ResetInCharacter,
    Close,
    Error,
}

impl ScriptFile {
    /// Reads a file; the error names the file, the line and the field.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let place = || format!("the script {} is not usable", path.display());
        let text = std::fs::read_to_string(path).with_context(place)?;
        Self::parse(&text).with_context(place)
    }

    /// Reads a file's text. JSON is YAML.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let file: Self = serde_yaml::from_str(text)?;
        let steps = file.scripts.iter().flat_map(|script| &script.steps);
        for reply in steps.chain(file.rules.iter().map(|rule| &rule.reply)) {
            reply.check()?;
        }
        Ok(file)
    }

    /// Has a server answer so.
    pub fn play_on(self, server: &ModelServer) {
        let Self { key, window, scripts, rules } = self;
        if let Some(key) = key {
            server.require_key(key);
        }
        if let Some(window) = window {
            server.enforce_window(window);
        }
        for ScriptPart { when, one_conversation, steps } in scripts {
            let steps: Vec<Reply> = steps.into_iter().map(Reply::from).collect();
            if one_conversation {
                server.conversation(when, steps);
            } else {
                server.script_for(when, steps);
            }
        }
        for RulePart { when, times, reply } in rules {
            let rule = Rule::new(when, reply.into());
            server.on(match times {
                Some(times) => rule.times(times),
                None => rule,
            });
        }
    }
}

impl ReplyPart {
    /// One kind of answer, not two.
    fn check(&self) -> anyhow::Result<()> {
        let says = self.text.is_some() || self.thinking.is_some() || !self.calls.is_empty();
        let completes = says || self.stop.is_some();
        let kinds = [completes, self.fail.is_some(), self.overflow.is_some(), self.raw.is_some()];
        let given = kinds.iter().filter(|given| **given).count();
        anyhow::ensure!(
            given == 1,
            "a reply has exactly one of: text, thinking, calls or stop; fail; overflow; raw"
        );
        Ok(())
    }
}

impl From<ReplyPart> for Reply {
    fn from(part: ReplyPart) -> Self {
        let ReplyPart {
            thinking,
            text,
            calls,
            stop,
            usage,
            without_end,
            fail,
            overflow,
            raw,
            broken,
        } = part;
        let mut reply = match (fail, overflow, raw) {
            (Some(fail), _, _) => fail.into(),
            (None, Some(overflow), _) => Self::overflow(overflow.into()),
            (None, None, Some(raw)) => Self::raw(raw.into()),
            (None, None, None) => {
                thinking.map_or_else(|| Self::empty(Stop::Fitting), Self::thinking)
            }
        };
        if let Some(text) = text {
            reply = reply.and_text(text);
        }
        for CallPart { tool, arguments } in calls {
            reply = match arguments {
                Value::String(raw) => reply.and_raw_call(tool, raw),
                Value::Null => reply.and_raw_call(tool, "{}"),
                arguments => reply.and_call(tool, arguments),
            };
        }
        if let Some(stop) = stop {
            reply = reply.with_stop(stop.into());
        }
        if let Some(UsagePart { input, output, cache_read, cache_write }) = usage {
            reply = reply.with_usage(Usage { input, output, cache_read, cache_write });
        }
        if without_end {
            reply = reply.without_end();
        }
        match broken {
            Some(broken) => reply.broken(broken.at.into(), broken.into()),
            None => reply,
        }
    }
}

impl From<FailPart> for Reply {
    fn from(part: FailPart) -> Self {
        let FailPart { status, kind, message, retry_after, retry_after_ms, resets_in_seconds } =
            part;
        let pacing = retry_after
            .map(Pacing::RetryAfter)
            .or(retry_after_ms.map(Pacing::Milliseconds))
            .or(resets_in_seconds.map(Pacing::Body));
        let reply = Self::failure(status, kind, message);
        match pacing {
            Some(pacing) => reply.paced(pacing),
            None => reply,
        }
    }
}

impl From<StopPart> for Stop {
    fn from(part: StopPart) -> Self {
        match part {
            StopPart::Length => Self::Length,
            StopPart::Refusal => Self::Refusal,
            StopPart::Missing => Self::Missing,
        }
    }
}

impl From<OverflowPart> for Overflow {
    fn from(part: OverflowPart) -> Self {
        match part {
            OverflowPart::Native => Self::Native,
            OverflowPart::LlamaCpp => Self::LlamaCpp,
            OverflowPart::Vllm => Self::Vllm,
            OverflowPart::Window => Self::Window,
        }
    }
}

impl From<RawPart> for Raw {
    fn from(part: RawPart) -> Self {
        let RawPart { status, headers, body, chunk_bytes } = part;
        let raw =
            Self { status, headers: headers.into_iter().collect(), chunks: vec![body.into()] };
        match chunk_bytes {
            Some(size) => raw.in_chunks_of(size),
            None => raw,
        }
    }
}

impl From<PointPart> for Point {
    fn from(part: PointPart) -> Self {
        match part {
            PointPart::Headers => Self::Headers,
            PointPart::Body => Self::Body,
            PointPart::Text => Self::Text,
            PointPart::Arguments => Self::Arguments,
            PointPart::End => Self::End,
        }
    }
}

impl From<BrokenPart> for Break {
    fn from(part: BrokenPart) -> Self {
        match part.how {
            BreakPart::Silence => Self::Silence,
            BreakPart::SilenceInEvent => Self::SilenceInEvent,
            BreakPart::Reset => Self::Reset,
            BreakPart::ResetInCharacter => Self::ResetInCharacter,
            BreakPart::Close => Self::Close,
            BreakPart::Error => Self::Error(part.kind, part.message),
        }
    }
}

#[cfg(test)]
mod tests;
