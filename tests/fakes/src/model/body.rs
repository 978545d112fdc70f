//! A reply as an HTTP response: which bytes, held where, broken where.

use std::collections::VecDeque;
use std::convert::Infallible;
use std::io;
use std::sync::Arc;

use bytes::Bytes;
use futures::{Stream, StreamExt};
use http::{Response, StatusCode};
use http_body_util::{BodyExt, StreamBody, combinators::UnsyncBoxBody};
use hyper::body::Frame;
use serde_json::Value;
use tokio_util::sync::CancellationToken;

use super::answer::Answer;
use super::cache::tokens;
use super::captured::Captured;
use super::gate::Gate;
use super::overflow::stated;
use super::reply::{Break, Failure, Pacing, Play, Point, Raw, Reply, Usage};
use super::serve::Ending;
use super::wire::{self, Brings, Chunk};

pub(super) type Body = UnsyncBoxBody<Bytes, io::Error>;

/// The `Date` of every limited response, so that dates relative to it are exact.
const DATE: i64 = 1_751_371_200;

/// What is still to happen to a body.
#[derive(Debug)]
enum Act {
    Send(Bytes),
    Hold(Gate),
    Silence,
    Reset,
}

/// The response to a request. Waits where a gate stands before the headers.
pub(super) async fn respond(
    answer: Answer,
    ending: Ending,
    stop: &CancellationToken,
) -> Response<Body> {
    let Answer { reply, input } = answer;
    let before = reply.gates.iter().filter(|(point, _)| *point == Point::Headers);
    let mut gates: Vec<Gate> = before.map(|(_, gate)| gate.clone()).collect();
    if matches!(reply.fault, Some((Point::Headers, _))) {
        gates.push(Gate::new()); // never opens: silence before the headers
    }
    for gate in gates {
        tokio::select! { () = gate.pass() => {}, () = stop.cancelled() => {} }
    }
    let request = Arc::clone(&ending.request);
    let (head, chunks) = written(&reply, &request, input);
    let acts = acts(&chunks, &reply, &request);
    let playing = Playing { acts: acts.into(), ending, stop: stop.clone() };
    let body = StreamBody::new(play(playing).map(|bytes| bytes.map(Frame::data)));
    head.map(|()| body.boxed_unsync())
}

/// Status, headers and undisturbed chunks.
fn written(reply: &Reply, request: &Captured, input: Usage) -> (Response<()>, Vec<Chunk>) {
    let one = |bytes: Vec<u8>| vec![Chunk { bytes, brings: Brings::Other }];
    let json = |status: u16, headers: &[(String, String)], document: &Value| {
        (head(status, "application/json", headers), one(document.to_string().into_bytes()))
    };
    match &reply.play {
        Play::Completion(completion) => {
            let usage = wire::usage(completion, input);
            if request.streams() {
                let events = wire::events(completion, request, usage);
                (head(200, "text/event-stream", &[]), events)
            } else {
                json(200, &[], &wire::document(completion, request, usage))
            }
        }
        Play::Failure(failure) => {
            json(failure.status, &paced(failure), &wire::failure(request.wire, failure))
        }
        Play::Overflow(wording) => {
            let (tokens, window) = stated(tokens(request.raw.len()));
            json(wording.status(), &[], &wording.body(request.wire, tokens, window))
        }
        Play::Raw(Raw { status, headers, chunks }) => {
            let chunk = |bytes: &Vec<u8>| Chunk { bytes: bytes.clone(), brings: Brings::Other };
            (head(*status, "", headers), chunks.iter().map(chunk).collect())
        }
    }
}

fn paced(failure: &Failure) -> Vec<(String, String)> {
    let date = |seconds: i64| {
        let seconds = u64::try_from(DATE + seconds).unwrap_or(0);
        httpdate::fmt_http_date(std::time::UNIX_EPOCH + std::time::Duration::from_secs(seconds))
    };
    let header = |name: &str, value: String| (name.to_owned(), value);
    let pacing = match &failure.pacing {
        None | Some(Pacing::Body(_)) => return Vec::new(),
        Some(Pacing::RetryAfter(value)) => header("retry-after", value.clone()),
        Some(Pacing::Date(seconds)) => header("retry-after", date(*seconds)),
        Some(Pacing::Header(name, value)) => header(name, value.clone()),
        Some(Pacing::Milliseconds(value)) => header("retry-after-ms", value.to_string()),
        Some(Pacing::UnifiedReset(seconds)) => {
            header("anthropic-ratelimit-unified-reset", (DATE + seconds).to_string())
        }
    };
    vec![header("date", date(0)), pacing]
}

fn head(status: u16, content_type: &str, headers: &[(String, String)]) -> Response<()> {
    let mut response = Response::new(());
    *response.status_mut() =
        StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let content_type = [("content-type".to_owned(), content_type.to_owned())];
    let content_type = content_type.iter().filter(|(_, value)| !value.is_empty());
    for (name, value) in content_type.chain(headers) {
        let name = http::HeaderName::try_from(name.as_str());
        let value = http::HeaderValue::try_from(value.as_str());
        if let (Ok(name), Ok(value)) = (name, value) {
            response.headers_mut().append(name, value);
        }
    }
    response
}

/// What happens, in order: chunks, with gates and the fault at their places.
fn acts(chunks: &[Chunk], reply: &Reply, request: &Captured) -> Vec<Act> {
    if matches!(reply.fault, Some((Point::Headers, _))) {
        return vec![Act::Reset]; // the server ends before a word of it came
    }
    let place = |point: Point| place(chunks, point);
    let mut gates: Vec<(usize, Gate)> = reply
        .gates
        .iter()
        .filter_map(|(point, gate)| Some((place(*point)?, gate.clone())))
        .collect();
    let fault = reply.fault.as_ref().and_then(|(point, how)| Some((place(*point)?, how.clone())));
    let mut acts = Vec::new();
    let total = chunks.len();
    for (index, chunk) in chunks.iter().map(Some).chain([None]).enumerate() {
        gates.retain(|(at, gate)| {
            let here = *at == index || (index == total && *at > total);
            if here {
                acts.push(Act::Hold(gate.clone()));
            }
            !here
        });
        if let Some((_, how)) = fault.as_ref().filter(|(at, _)| *at == index) {
            break_off(&mut acts, how, &chunks[index..], request);
            return acts;
        }
        if let Some(chunk) = chunk {
            acts.push(Act::Send(Bytes::copy_from_slice(&chunk.bytes)));
        }
    }
    acts
}

/// How many chunks come before this point; `None` before the headers.
fn place(chunks: &[Chunk], point: Point) -> Option<usize> {
    let after = |brings: Brings| {
        let first = chunks.iter().position(|chunk| chunk.brings == brings);
        first.map_or(chunks.len(), |first| first + 1)
    };
    match point {
        Point::Headers => None,
        Point::Body => Some(0),
        Point::Thinking => Some(after(Brings::Thinking)),
        Point::Text => Some(after(Brings::Text)),
        Point::Arguments => Some(after(Brings::Arguments)),
        Point::Event(count) => Some(count.min(chunks.len())),
        Point::End => Some(chunks.len().saturating_sub(1)),
    }
}

fn break_off(acts: &mut Vec<Act>, how: &Break, rest: &[Chunk], request: &Captured) {
    let next = || rest.first().map(|chunk| chunk.bytes.as_slice()).unwrap_or_default();
    match how {
        Break::Silence => acts.push(Act::Silence),
        Break::SilenceInEvent => {
            let bytes = next();
            acts.push(Act::Send(Bytes::copy_from_slice(&bytes[..bytes.len() / 2])));
            acts.push(Act::Silence);
        }
        Break::Reset => acts.push(Act::Reset),
        Break::ResetInCharacter => {
            // The next chunk with a character of several bytes, cut inside it.
            for chunk in rest {
                let wide = chunk.bytes.iter().position(|byte| *byte >= 0xc0);
                let end = wide.map_or(chunk.bytes.len(), |start| start + 1);
                acts.push(Act::Send(Bytes::copy_from_slice(&chunk.bytes[..end])));
                if wide.is_some() {
                    break;
                }
            }
            acts.push(Act::Reset);
        }
        Break::Close => {}
        Break::Error(kind, message) => {
            acts.push(Act::Send(Bytes::from(wire::error_event(request.wire, kind, message))));
        }
    }
}

/// A body that is being sent.
struct Playing {
    acts: VecDeque<Act>,
    ending: Ending,
    stop: CancellationToken,
}

/// Plays the acts. Between two of them the connection writes out what it has, so that
/// each chunk leaves whole and alone.
fn play(playing: Playing) -> impl Stream<Item = Result<Bytes, io::Error>> + Send {
    futures::stream::unfold(playing, |mut playing| async move {
        loop {
            tokio::task::yield_now().await;
            let aborted = || Err(io::Error::from(io::ErrorKind::ConnectionReset));
            let Some(act) = playing.acts.pop_front() else {
                playing.ending.sent(); // a body without a byte
                return None;
            };
            match act {
                Act::Send(bytes) => {
                    if playing.acts.is_empty() {
                        playing.ending.sent();
                    }
                    return Some((Ok(bytes), playing));
                }
                Act::Hold(gate) => {
                    tokio::select! {
                        () = gate.pass() => {}
                        () = playing.stop.cancelled() => return Some((aborted(), playing)),
                    }
                }
                Act::Silence => {
                    playing.stop.cancelled().await;
                    return Some((aborted(), playing));
                }
                Act::Reset => return Some((aborted(), playing)),
            }
        }
    })
}

/// A body that is all there.
pub(super) fn full(text: String) -> Body {
    let body = http_body_util::Full::new(Bytes::from(text));
    body.map_err(|never: Infallible| match never {}).boxed_unsync()
}
