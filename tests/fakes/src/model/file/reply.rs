//! A reply as a script writes it.

use std::collections::BTreeMap;

use serde::de::Error;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::model::overflow::Overflow;
use crate::model::reply::{Break, Pacing, Point, Quirk, Raw, Reply, Stop, Usage};

/// One reply, or `turns` of many.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub(super) struct ReplyPart {
    turns: Option<TurnsPart>,
    thinking: Option<String>,
    redacted: Option<String>,
    text: Option<String>,
    calls: Vec<CallPart>,
    stop: Option<StopPart>,
    usage: Option<UsagePart>,
    quirks: Vec<Quirk>,
    piece: Option<usize>,
    without_end: bool,
    fail: Option<FailPart>,
    overflow: Option<Overflow>,
    raw: Option<RawPart>,
    broken: Option<BrokenPart>,
}

/// So many replies alike, but for `{{turn}}`.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct TurnsPart {
    count: usize,
    thinking: Option<String>,
    text: Option<String>,
    call: Option<CallPart>,
    #[serde(default)]
    calls: Vec<CallPart>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct CallPart {
    tool: String,
    /// An object; a string is sent as it is, for arguments that are cut.
    #[serde(default)]
    arguments: Value,
}

/// One of ours, or any other word as it stands.
#[derive(Debug)]
struct StopPart(Stop);

impl<'de> Deserialize<'de> for StopPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let word = String::deserialize(deserializer)?;
        Ok(Self(match word.as_str() {
            "fitting" => Stop::Fitting,
            "length" => Stop::Length,
            "refusal" => Stop::Refusal,
            "missing" => Stop::Missing,
            _ => Stop::Word(word),
        }))
    }
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
    retry_date: Option<i64>,
    retry_after_ms: Option<u64>,
    unified_reset: Option<i64>,
    resets_in_seconds: Option<u64>,
    header: Option<(String, String)>,
}

fn api_error() -> String {
    "api_error".to_owned()
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RawPart {
    status: u16,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    body: String,
    chunk_bytes: Option<usize>,
    #[serde(default)]
    chunks: Vec<usize>,
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

/// A place by its name, or `{event: n}`.
#[derive(Debug)]
struct PointPart(Point);

impl<'de> Deserialize<'de> for PointPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if let Some(count) = value["event"].as_u64().and_then(|count| usize::try_from(count).ok()) {
            return Ok(Self(Point::Event(count)));
        }
        Ok(Self(match value.as_str() {
            Some("headers") => Point::Headers,
            Some("body") => Point::Body,
            Some("thinking") => Point::Thinking,
            Some("text") => Point::Text,
            Some("arguments") => Point::Arguments,
            Some("end") => Point::End,
            _ => return Err(D::Error::custom(format!("{value} is no place in a reply"))),
        }))
    }
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

impl ReplyPart {
    pub(super) fn has_turns(&self) -> bool {
        self.turns.is_some()
    }

    /// One kind of answer, not two.
    pub(super) fn check(&self) -> anyhow::Result<()> {
        let thinks = self.thinking.is_some() || self.redacted.is_some();
        let says = self.text.is_some() || thinks || !self.calls.is_empty();
        let completes = says || self.stop.is_some();
        let kinds = [
            completes,
            self.turns.is_some(),
            self.fail.is_some(),
            self.overflow.is_some(),
            self.raw.is_some(),
        ];
        let given = kinds.iter().filter(|given| **given).count();
        anyhow::ensure!(
            given == 1,
            "a reply has exactly one of: text, thinking, redacted, calls or stop; turns; fail; \
             overflow; raw"
        );
        Ok(())
    }

    /// One reply for one; as many as its turns say, each with its number filled in.
    pub(super) fn replies(mut self) -> Vec<Reply> {
        let Some(turns) = self.turns.take() else { return vec![self.into()] };
        let TurnsPart { count, thinking, text, call, mut calls } = turns;
        calls.extend(call);
        self.thinking = thinking;
        self.text = text;
        self.calls = calls;
        let reply = Reply::from(self);
        (1..=count).map(|turn| reply.clone().numbered(turn)).collect()
    }
}

impl From<ReplyPart> for Reply {
    fn from(part: ReplyPart) -> Self {
        let ReplyPart {
            turns: _, // taken before, by `replies`
            thinking,
            redacted,
            text,
            calls,
            stop,
            usage,
            quirks,
            piece,
            without_end,
            fail,
            overflow,
            raw,
            broken,
        } = part;
        let mut reply = match (fail, overflow, raw) {
            (Some(fail), _, _) => fail.into(),
            (None, Some(overflow), _) => Self::overflow(overflow),
            (None, None, Some(raw)) => Self::raw(raw.into()),
            (None, None, None) => Self::empty(Stop::Fitting),
        };
        if let Some(thinking) = thinking {
            reply = reply.and_thinking(thinking);
        }
        if let Some(redacted) = redacted {
            reply = reply.and_redacted(redacted);
        }
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
        if let Some(StopPart(stop)) = stop {
            reply = reply.with_stop(stop);
        }
        if let Some(UsagePart { input, output, cache_read, cache_write }) = usage {
            reply = reply.with_usage(Usage { input, output, cache_read, cache_write });
        }
        for quirk in quirks {
            reply = reply.with(quirk);
        }
        if let Some(piece) = piece {
            reply = reply.in_pieces_of(piece);
        }
        if without_end {
            reply = reply.without_end();
        }
        match broken {
            Some(BrokenPart { at: PointPart(point), how, kind, message }) => {
                reply.broken(point, how.with(kind, message))
            }
            None => reply,
        }
    }
}

impl From<FailPart> for Reply {
    fn from(part: FailPart) -> Self {
        let FailPart {
            status,
            kind,
            message,
            retry_after,
            retry_date,
            retry_after_ms,
            unified_reset,
            resets_in_seconds,
            header,
        } = part;
        let pacing = retry_after
            .map(Pacing::RetryAfter)
            .or(retry_date.map(Pacing::Date))
            .or(retry_after_ms.map(Pacing::Milliseconds))
            .or(unified_reset.map(Pacing::UnifiedReset))
            .or(resets_in_seconds.map(Pacing::Body))
            .or(header.map(|(name, value)| Pacing::Header(name, value)));
        let reply = Self::failure(status, kind, message);
        match pacing {
            Some(pacing) => reply.paced(pacing),
            None => reply,
        }
    }
}

impl From<RawPart> for Raw {
    fn from(part: RawPart) -> Self {
        let RawPart { status, headers, body, chunk_bytes, mut chunks } = part;
        let raw =
            Self { status, headers: headers.into_iter().collect(), chunks: vec![body.into()] };
        chunks.extend(chunk_bytes);
        if chunks.is_empty() { raw } else { raw.in_chunks(&chunks) }
    }
}

impl BreakPart {
    fn with(self, kind: String, message: String) -> Break {
        match self {
            Self::Silence => Break::Silence,
            Self::SilenceInEvent => Break::SilenceInEvent,
            Self::Reset => Break::Reset,
            Self::ResetInCharacter => Break::ResetInCharacter,
            Self::Close => Break::Close,
            Self::Error => Break::Error(kind, message),
        }
    }
}
