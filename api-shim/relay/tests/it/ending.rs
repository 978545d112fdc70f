//! Every way a call can end, and what is recorded of it.

use std::time::Duration;

use fakes::model::{Break, Gate, ModelServer, Point, Reply};
use foundry_crds::model::Provider;
use foundry_relay::{Limits, StreamError, Wire};
use futures::StreamExt as _;
use pretty_assertions::assert_eq;
use rstest::rstest;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

use crate::setup::{read, read_json, setup, setup_with, streamed};

const DEADLINE: Duration = Duration::from_secs(20);

/// LOOP-20
#[test]
fn a_provider_has_ten_minutes_until_its_headers() {
    assert_eq!(Limits::default().headers, Duration::from_mins(10));
}

/// LOOP-20
#[tokio::test]
async fn a_provider_that_sends_no_headers_is_given_up_and_the_guess_is_recorded() {
    let limits = Limits { headers: Duration::from_millis(300), ..Limits::default() };
    let (model, setup) = (ModelServer::start().await, setup_with(limits).await);
    setup.model("house", Provider::OpenAi, &model.url());
    let gate = Gate::new();
    model.script([Reply::text("too late").held(Point::Headers, &gate)]);
    let answer = setup.forward(Wire::OpenAi, streamed(Wire::OpenAi, "house")).await;
    let (status, problem) = read_json(answer).await;
    assert_eq!((status.as_u16(), problem["reason"].as_str()), (504, Some("UpstreamTimeout")));
    let usage = setup.settled_usage().await;
    assert_eq!((usage.outcome.as_str(), usage.status), ("timed_out", 0));
    assert!(usage.estimated && usage.input_tokens > 0 && usage.output_tokens == 0);
}

#[tokio::test]
async fn a_caller_that_leaves_before_the_headers_is_recorded() {
    let (model, setup) = (ModelServer::start().await, setup().await);
    setup.model("house", Provider::OpenAi, &model.url());
    let gate = Gate::new();
    model.script([Reply::text("too late").held(Point::Headers, &gate)]);
    {
        let call = setup.forward(Wire::OpenAi, streamed(Wire::OpenAi, "house"));
        tokio::pin!(call);
        tokio::select! {
            _ = &mut call => panic!("the gate is shut"),
            () = gate.reached() => {}
        }
    }
    let usage = setup.settled_usage().await;
    assert_eq!((usage.outcome.as_str(), usage.estimated), ("disconnected", true));
}

/// BIND-04
#[tokio::test]
async fn a_caller_that_leaves_in_the_middle_ends_the_providers_work_and_is_recorded() {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let base = format!("http://{}/v1", listener.local_addr().unwrap());
    let setup = setup().await;
    setup.model("house", Provider::Anthropic, &base);
    let provider = async {
        let (mut socket, _) = listener.accept().await.unwrap();
        let mut request = vec![0; 64 << 10];
        let _length = socket.read(&mut request).await.unwrap();
        let event = "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"usage\":\
            {\"input_tokens\":41,\"output_tokens\":1}}}\n\n";
        let head = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\
            transfer-encoding: chunked\r\n\r\n";
        let chunk = format!("{head}{:x}\r\n{event}\r\n", event.len());
        socket.write_all(chunk.as_bytes()).await.unwrap();
        // The connection ends: the rest of the request, then nothing.
        while socket.read(&mut request).await.is_ok_and(|length| length > 0) {}
    };
    let caller = async {
        let answer = setup.forward(Wire::Anthropic, streamed(Wire::Anthropic, "house")).await;
        let mut body = answer.into_body();
        body.next().await.unwrap().unwrap();
    };
    let both = async { tokio::join!(provider, caller) };
    tokio::time::timeout(DEADLINE, both).await.expect("the provider sees the caller leave");
    let usage = setup.settled_usage().await;
    assert_eq!((usage.outcome.as_str(), usage.status), ("disconnected", 200));
    assert_eq!((usage.input_tokens, usage.output_tokens), (41, 1));
    assert!(usage.estimated);
}

#[tokio::test]
async fn a_caller_that_stops_at_the_last_event_has_completed() {
    let (model, setup) = (ModelServer::start().await, setup().await);
    setup.model("house", Provider::OpenAi, &model.url());
    model.script([Reply::text("Done.")]);
    let answer = setup.forward(Wire::OpenAi, streamed(Wire::OpenAi, "house")).await;
    let mut body = answer.into_body();
    let mut seen = String::new();
    while !seen.contains("[DONE]") {
        seen.push_str(std::str::from_utf8(&body.next().await.unwrap().unwrap()).unwrap());
    }
    let recorded = setup.usage().await;
    assert_eq!(recorded.len(), 1, "before the last event passes");
    drop(body);
    assert_eq!(setup.settled_usage().await.outcome, "completed");
}

#[rstest]
#[case::reset(Break::Reset, true)]
#[case::closed_as_if_whole(Break::Close, false)]
#[case::error_event(Break::Error("overloaded_error".into(), "Overloaded".into()), false)]
#[tokio::test]
async fn a_provider_that_breaks_off_is_recorded_as_interrupted(
    #[case] how: Break,
    #[case] breaks: bool,
    #[values(Wire::OpenAi, Wire::Anthropic)] wire: Wire,
) {
    let (model, setup) = (ModelServer::start().await, setup().await);
    let provider = if wire == Wire::OpenAi { Provider::OpenAi } else { Provider::Anthropic };
    setup.model("house", provider, &model.url());
    model.script([Reply::text("Half of this never comes.").broken(Point::Text, how)]);
    let (status, body) = read(setup.forward(wire, streamed(wire, "house")).await).await;
    assert_eq!(status, 200);
    assert_eq!(matches!(body, Err(StreamError::Broken(_))), breaks, "{body:?}");
    let usage = setup.settled_usage().await;
    assert_eq!((usage.outcome.as_str(), usage.estimated), ("interrupted", true));
    assert!(usage.input_tokens > 0, "{usage:?}");
}

#[tokio::test]
async fn a_provider_that_falls_silent_is_given_up() {
    let limits = Limits { idle: Duration::from_millis(300), ..Limits::default() };
    let (model, setup) = (ModelServer::start().await, setup_with(limits).await);
    setup.model("house", Provider::OpenAi, &model.url());
    model.script([Reply::text("Half of it.").broken(Point::Text, Break::Silence)]);
    let answer = setup.forward(Wire::OpenAi, streamed(Wire::OpenAi, "house")).await;
    let (_, body) = read(answer).await;
    assert_eq!(body, Err(StreamError::Silent(0)));
    assert_eq!(setup.settled_usage().await.outcome, "interrupted");
}

/// BIND-04
#[tokio::test]
async fn a_shutdown_ends_an_answer_under_way_and_what_it_used_is_recorded() {
    let (model, setup) = (ModelServer::start().await, setup().await);
    setup.model("house", Provider::OpenAi, &model.url());
    model.script([Reply::text("Half of it.").broken(Point::Text, Break::Silence)]);
    let answer = setup.forward(Wire::OpenAi, streamed(Wire::OpenAi, "house")).await;
    let both = async { tokio::join!(read(answer), setup.relay.close()) };
    let ((_, body), ()) = tokio::time::timeout(DEADLINE, both).await.expect("it ends");
    assert_eq!(body, Err(StreamError::Ending));
    assert_eq!(setup.settled_usage().await.outcome, "interrupted");
}

/// BIND-04
#[tokio::test]
async fn a_shutdown_ends_a_call_that_waits_for_its_provider() {
    let (model, setup) = (ModelServer::start().await, setup().await);
    setup.model("house", Provider::OpenAi, &model.url());
    let gate = Gate::new();
    model.script([Reply::text("too late").held(Point::Headers, &gate)]);
    let close = async {
        gate.reached().await;
        setup.relay.close().await;
    };
    let call = setup.forward(Wire::OpenAi, streamed(Wire::OpenAi, "house"));
    let both = async { tokio::join!(call, close) };
    let (answer, ()) = tokio::time::timeout(DEADLINE, both).await.expect("it ends");
    let (status, problem) = read_json(answer).await;
    assert_eq!((status.as_u16(), problem["reason"].as_str()), (503, Some("Ending")));
    assert_eq!(setup.settled_usage().await.outcome, "interrupted");
}

#[tokio::test]
async fn a_store_that_is_away_holds_no_answer_back_for_long() {
    let (model, setup) = (ModelServer::start().await, setup().await);
    setup.model("house", Provider::OpenAi, &model.url());
    model.script([Reply::text("Hello.")]);
    setup.store.close().await;
    let call =
        async { read(setup.forward(Wire::OpenAi, streamed(Wire::OpenAi, "house")).await).await };
    let (status, body) = tokio::time::timeout(DEADLINE, call).await.expect("the answer passes");
    assert_eq!(status, 200);
    assert!(String::from_utf8(body.unwrap()).unwrap().contains("[DONE]"));
}
