//! The whole loop on paused time, against an API and a broker in memory.

mod blocked;
mod cycle;
mod model;
mod rhythm;
mod waking;

use std::io::Write;
use std::sync::PoisonError;

use async_trait::async_trait;
use foundry_client::LogEvent;
use foundry_llm::{
    Content, ErrorKind, LlmError, Message, Provider, Reply, Request, StopReason, ToolCall, Usage,
};
use foundry_platform::clock::Clock;
use foundry_platform::fake::FakeApi;
use jiff::Timestamp;
use serde_json::json;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use super::*;

type Answers = dyn Fn(usize, &Request) -> Answer + Send + Sync;

/// Answers model calls by a function of the request and its number, from 0.
pub(super) struct FakeBroker {
    answer: Box<Answers>,
    asked: Mutex<Vec<(Instant, Request)>>,
}

pub(super) enum Answer {
    Now(Result<Reply, LlmError>),
    After(Duration, Result<Reply, LlmError>),
}

impl FakeBroker {
    fn asked(&self) -> Vec<(Instant, Request)> {
        self.asked.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn requests(&self) -> Vec<Request> {
        self.asked().into_iter().map(|(_, request)| request).collect()
    }
}

#[async_trait]
impl Broker for FakeBroker {
    async fn ask(&self, _provider: Provider, request: &Request) -> Result<Reply, LlmError> {
        let number = {
            let mut asked = self.asked.lock().unwrap_or_else(PoisonError::into_inner);
            asked.push((Instant::now(), request.clone()));
            asked.len() - 1
        };
        match (self.answer)(number, request) {
            Answer::Now(reply) => reply,
            Answer::After(wait, reply) => {
                sleep(wait).await;
                reply
            }
        }
    }

    async fn complete(&self, _provider: Provider, _request: &Request) -> Result<Reply, LlmError> {
        panic!("no conversation of these tests is long enough for a summary")
    }
}

/// What was written to the output.
#[derive(Clone, Default)]
pub(super) struct Output(Arc<Mutex<Vec<u8>>>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Output {
    fn events(&self) -> Vec<LogEvent> {
        let bytes = self.0.lock().unwrap().clone();
        let text = String::from_utf8(bytes).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

/// A harness under test.
pub(super) struct Harness {
    pub api: Arc<FakeApi>,
    pub broker: Arc<FakeBroker>,
    pub output: Output,
    pub model: ModelSettings,
    pub began: Instant,
}

impl Harness {
    pub fn new(answer: impl Fn(usize, &Request) -> Answer + Send + Sync + 'static) -> Self {
        Self {
            api: Arc::new(FakeApi::default()),
            broker: Arc::new(FakeBroker { answer: Box::new(answer), asked: Mutex::default() }),
            output: Output::default(),
            model: ModelSettings::default(),
            began: Instant::now(),
        }
    }

    /// A harness whose model never finds anything to do.
    pub fn idle() -> Self {
        Self::new(|_, _| says("Nothing is due."))
    }

    /// Lives while `meanwhile` does what it does, then stops.
    pub async fn lives(&self, meanwhile: impl Future<Output = ()>) {
        let stop = CancellationToken::new();
        let began = self.began;
        let process = Process {
            api: self.api.clone(),
            clock: Clock::new(move || {
                Timestamp::UNIX_EPOCH + Duration::from_secs(began.elapsed().as_secs())
            }),
            output: Box::new(self.output.clone()),
            agent_id: "ann".to_owned(),
            agent_namespace: "foundry-agents".to_owned(),
            start_number: None,
            heartbeat_every: Duration::from_secs(30),
        };
        let parts = Parts {
            process,
            broker: self.broker.clone(),
            model: self.model.clone(),
            evaluate_every: Duration::from_secs(15),
        };
        tokio::join!(run(parts, stop.clone()), async {
            meanwhile.await;
            stop.cancel();
        });
    }

    pub async fn lives_for(&self, seconds: u64) {
        self.lives(sleep(Duration::from_secs(seconds))).await;
    }

    /// Seconds into its life at which the model was asked.
    pub fn asked_at(&self) -> Vec<u64> {
        self.broker.asked().iter().map(|(at, _)| (*at - self.began).as_secs()).collect()
    }

    /// Seconds into its life at which the API was asked this.
    pub fn called_at(&self, call: &str) -> Vec<u64> {
        self.api.times(call).iter().map(|at| (*at - self.began).as_secs()).collect()
    }

    /// Lines of one kind in the agent's log.
    pub fn lines(&self, kind: &str) -> Vec<String> {
        let state = self.api.state();
        let lines = state.events.iter().filter(|event| event.kind == kind);
        lines.map(|event| event.message.clone()).collect()
    }
}

pub(super) fn says(text: &str) -> Answer {
    Answer::Now(Ok(reply(Some(text), &[])))
}

pub(super) fn calls(calls: &[(&str, &str)]) -> Answer {
    Answer::Now(Ok(reply(None, calls)))
}

pub(super) fn fails(kind: ErrorKind, status: u16, words: &str) -> Answer {
    Answer::Now(Err(LlmError {
        kind,
        status: Some(status),
        message: format!("HTTP {status}: {words}"),
        retry_after: None,
    }))
}

pub(super) fn reply(text: Option<&str>, calls: &[(&str, &str)]) -> Reply {
    Reply {
        text: text.map(str::to_owned),
        reasoning: Vec::new(),
        calls: calls
            .iter()
            .enumerate()
            .map(|(n, (name, arguments))| ToolCall {
                id: format!("call-{n}"),
                name: (*name).to_owned(),
                arguments: (*arguments).to_owned(),
            })
            .collect(),
        stop: if calls.is_empty() { StopReason::EndTurn } else { StopReason::ToolUse },
        usage: Usage { input_tokens: 900, output_tokens: 100, ..Usage::default() },
        model: "gpt-5-mini".to_owned(),
    }
}

/// The user turn of a request.
pub(super) fn user_turn(request: &Request) -> &str {
    let Some(Message::User { content }) = request.messages.first() else {
        panic!("a request starts with a user message (LOOP-14): {request:?}");
    };
    let Some(Content::Text { text }) = content.first() else {
        panic!("a user message has text: {request:?}");
    };
    text
}

/// The last tool result of a request.
pub(super) fn last_result(request: &Request) -> Option<&str> {
    request.messages.iter().rev().find_map(|message| match message {
        Message::ToolResults { results } => results.last().map(|result| result.content.as_str()),
        Message::User { .. } | Message::Assistant { .. } => None,
    })
}
