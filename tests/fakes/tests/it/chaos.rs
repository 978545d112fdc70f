//! What goes wrong on the way, byte by byte.

use std::time::Duration;

use fakes::model::{Break, Gate, ModelServer, Pacing, Point, Quirk, Raw, Reply, Stop, Wire};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::talk::{DEADLINE, Talk, WIRES};

#[tokio::test]
async fn a_limited_response_is_paced_in_each_way_that_servers_have() {
    let cases = [
        (Pacing::RetryAfter("7".to_owned()), "retry-after", "7"),
        (Pacing::RetryAfter("0".to_owned()), "retry-after", "0"),
        (Pacing::RetryAfter("99999999999999".to_owned()), "retry-after", "99999999999999"),
        (Pacing::RetryAfter("soon, perhaps".to_owned()), "retry-after", "soon, perhaps"),
        (Pacing::Date(9), "retry-after", "Tue, 01 Jul 2025 12:00:09 GMT"),
        (Pacing::Date(-60), "retry-after", "Tue, 01 Jul 2025 11:59:00 GMT"),
        (Pacing::Milliseconds(250), "retry-after-ms", "250"),
        (Pacing::UnifiedReset(60), "anthropic-ratelimit-unified-reset", "1751371260"),
        (Pacing::Header("retry-after-ms".to_owned(), "-5".to_owned()), "retry-after-ms", "-5"),
    ];
    for (pacing, name, value) in cases {
        let model = ModelServer::start().await;
        model.script([Reply::limited(pacing)]);
        let response = Talk::new(&model, Wire::OpenAi, "So?").send().await;
        assert_eq!(response.status(), 429);
        assert_eq!(response.headers()["date"], "Tue, 01 Jul 2025 12:00:00 GMT");
        assert_eq!(response.headers()[name], value);
    }
    let model = ModelServer::start().await;
    model.script([Reply::limited(Pacing::Body(12))]);
    let (_, answer) = Talk::new(&model, Wire::OpenAi, "So?").ask().await;
    assert_eq!(answer["error"]["resets_in_seconds"], 12);
}

/// Each chunk as it left, and whether the body ended well.
async fn chunks(talk: &Talk) -> (Vec<Vec<u8>>, bool) {
    let mut response = talk.send().await;
    let mut chunks = Vec::new();
    loop {
        match tokio::time::timeout(DEADLINE, response.chunk()).await.unwrap() {
            Ok(Some(chunk)) => chunks.push(chunk.to_vec()),
            Ok(None) => return (chunks, true),
            Err(_) => return (chunks, false),
        }
    }
}

fn streaming(model: &ModelServer, wire: Wire) -> Talk {
    let mut talk = Talk::new(model, wire, "So?");
    talk.body["stream"] = json!(true);
    talk
}

#[tokio::test]
async fn raw_bytes_leave_in_the_chunks_that_were_planned() {
    let model = ModelServer::start().await;
    let body = "潮汐 at six";
    let raw = Raw::new(203, "text/plain", body).with_header("x-odd", "yes").in_chunks(&[1, 4, 100]);
    assert_eq!(raw.chunks.iter().map(Vec::len).collect::<Vec<_>>(), [1, 4, 8]);
    model.script([Reply::raw(raw), Reply::raw(Raw::new(200, "text/plain", body).in_chunks_of(1))]);
    let talk = streaming(&model, Wire::OpenAi);
    let response = talk.send().await;
    assert_eq!(
        (response.status().as_u16(), &response.headers()["x-odd"]),
        (203, &"yes".parse().unwrap())
    );
    assert_eq!(response.text().await.unwrap(), body);
    assert_eq!(chunks(&talk).await.0.concat(), body.as_bytes());
}

#[tokio::test]
async fn a_reset_inside_a_character_leaves_half_of_it() {
    for wire in WIRES {
        let model = ModelServer::start().await;
        let text = "twelve bytes, and then 潮汐";
        model.script([Reply::text(text).broken(Point::Text, Break::ResetInCharacter)]);
        let (chunks, well) = chunks(&streaming(&model, wire)).await;
        assert!(!well, "the connection broke");
        let error = String::from_utf8(chunks.concat()).unwrap_err().utf8_error();
        assert_eq!(error.error_len(), None, "the end is missing, nothing else is wrong");
    }
}

#[tokio::test]
async fn silence_holds_the_connection_open() {
    for (point, how) in [
        (Point::Headers, Break::Silence),
        (Point::Body, Break::Silence),
        (Point::Event(2), Break::SilenceInEvent),
    ] {
        let model = ModelServer::start().await;
        model.script([Reply::text("never").broken(point, how.clone())]);
        let talk = streaming(&model, Wire::Anthropic);
        let listening = async {
            let mut heard = Vec::new();
            // Where even the headers never come, the server's end may show as an error.
            let Ok(mut response) = talk.request().send().await else { return heard };
            while let Ok(Some(chunk)) = response.chunk().await {
                heard.extend_from_slice(&chunk);
            }
            heard
        };
        let stopping = async {
            model.request(1).await;
            // Nothing ends the reply but the server's own end.
            model.stop().await;
        };
        let both = async { tokio::join!(listening, stopping) };
        let (heard, ()) = tokio::time::timeout(DEADLINE, both).await.unwrap();
        match point {
            Point::Event(_) => {
                assert!(!heard.is_empty() && !heard.ends_with(b"\n\n"), "half an event: {heard:?}");
            }
            _ => assert_eq!(heard, b"", "{point:?}"),
        }
        assert_eq!(model.requests()[0].ended(), None, "{point:?}: {how:?}");
    }
}

#[tokio::test]
async fn an_event_may_be_of_any_size() {
    for wire in WIRES {
        let model = ModelServer::start().await;
        let text = "x".repeat(3 << 20);
        model.script([Reply::text(text).in_pieces_of(usize::MAX)]);
        let body = streaming(&model, wire).send().await.text().await.unwrap();
        let longest = body.split("\n\n").map(str::len).max().unwrap();
        assert!(longest > 3 << 20, "{longest} bytes");
    }
}

#[tokio::test]
async fn a_gate_stands_at_any_event() {
    for point in [Point::Body, Point::Thinking, Point::Text, Point::Event(3), Point::End] {
        let model = ModelServer::start().await;
        let gate = Gate::new();
        let reply = Reply::thinking("hm").and_text("well, well, well").with(Quirk::KeepAlives);
        model.script([reply.held(point, &gate)]);
        let talk = streaming(&model, Wire::OpenAi);
        let opening = async {
            gate.reached().await;
            assert_eq!(model.requests()[0].ended(), None, "held at {point:?}");
            gate.open();
        };
        let both = async { tokio::join!(chunks(&talk), opening) };
        let ((_, well), ()) = tokio::time::timeout(DEADLINE, both).await.unwrap();
        assert!(well);
        assert!(model.requests()[0].ended().is_some());
    }
}

#[tokio::test]
async fn an_error_may_come_under_status_200_and_a_page_under_any() {
    let model = ModelServer::start().await;
    let page = "<html>Please sign in</html>";
    model.script([
        Reply::failure(200, "server_error", "The server had an error"),
        Reply::html(200, page),
        Reply::empty(Stop::Word("eos".to_owned())),
    ]);
    let talk = Talk::new(&model, Wire::OpenAi, "So?");
    let (status, answer) = talk.ask().await;
    assert_eq!((status, Talk::words(&answer)), (200, "The server had an error"));
    let response = talk.send().await;
    assert_eq!(response.headers()["content-type"], "text/html; charset=utf-8");
    assert_eq!(response.text().await.unwrap(), page);
    let (_, answer) = talk.ask().await;
    assert_eq!(answer["choices"][0]["finish_reason"], "eos");
}

/// No delay of ours: events leave as they are written.
#[tokio::test]
async fn a_reply_of_a_thousand_events_takes_no_forty_milliseconds_each() {
    let model = ModelServer::start().await;
    model.script([Reply::text("x".repeat(1000)).in_pieces_of(1)]);
    let body = streaming(&model, Wire::OpenAi).send().await.text();
    let body = tokio::time::timeout(Duration::from_secs(20), body).await.unwrap().unwrap();
    assert!(body.matches("data: ").count() > 1000);
}
