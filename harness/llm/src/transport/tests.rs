use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;
use crate::delta::Delta;
use crate::message::StopReason;
use crate::sse::MAX_EVENT;

const ANTHROPIC: &str = concat!(
    ": warming up\r\n\r\n",
    "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"model\":\"claude\",\"usage\":{\"input_tokens\":9,\"output_tokens\":1}}}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":0,\"content_block\":{\"type\":\"thinking\",\"thinking\":\"\",\"signature\":\"\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"thinking_delta\",\"thinking\":\"Ebbe und Flut… 🌊\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"signature_delta\",\"signature\":\"s==\"}}\n\n",
    "event: content_block_stop\ndata: {\"type\":\"content_block_stop\",\"index\":0}\n\n",
    "event: ping\ndata: {\"type\": \"ping\"}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":2,\"content_block\":{\"type\":\"text\",\"text\":\"\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":2,\"delta\":{\"type\":\"text_delta\",\"text\":\"Größe: 潮汐\"}}\n\n",
    "event: content_block_start\ndata: {\"type\":\"content_block_start\",\"index\":3,\"content_block\":{\"type\":\"tool_use\",\"id\":\"t1\",\"name\":\"recall\",\"input\":{}}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":3,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"{\\\"q\\\": \\\"ti\"}}\n\n",
    "event: content_block_delta\ndata: {\"type\":\"content_block_delta\",\"index\":3,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"de\\\"}\"}}\n\n",
    "event: message_delta\ndata: {\"type\":\"message_delta\",\"delta\":{\"stop_reason\":\"tool_use\"},\"usage\":{\"output_tokens\":33}}\n\n",
    "event: message_stop\ndata: {\"type\":\"message_stop\"}\n\n",
);

const OPENAI: &str = concat!(
    ": OPENROUTER PROCESSING\n\n",
    "data: {\"model\":\"gpt\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"finish_reason\":null}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"reasoning_content\":\"Ebbe… 🌊\"}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Größe: \"}}]}\r\n\r\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"潮汐\"}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":1,\"id\":\"c1\",\"type\":\"function\",\"function\":{\"name\":\"recall\",\"arguments\":\"\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":1,\"function\":{\"arguments\":\"{\\\"q\\\":\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"tool_calls\":[{\"index\":4,\"id\":\"c2\",\"function\":{\"name\":\"recall\",\"arguments\":\"{}\"}},{\"index\":1,\"function\":{\"arguments\":\"1}\"}}]}}]}\n\n",
    "data: {\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"tool_calls\"}]}\n\n",
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":20,\"completion_tokens\":8}}\n\n",
    "data: [DONE]\n\n",
);

fn read(wire: Wire, chunks: Vec<Bytes>) -> Result<(Reply, Vec<Delta<'static>>), LlmError> {
    let body = futures::stream::iter(chunks.into_iter().map(Ok::<_, Fault>));
    let mut deltas = Vec::new();
    let mut viewer = |delta: Delta<'_>| deltas.push(delta.into_owned());
    let reply = block_on(read_reply(wire, body, &mut viewer))?;
    Ok((reply, deltas))
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.unwrap().block_on(work)
}

fn whole(wire: Wire, stream: &'static str) -> (Reply, Vec<Delta<'static>>) {
    read(wire, vec![Bytes::from_static(stream.as_bytes())]).unwrap()
}

/// A stream cut at these places, however they fall.
fn cut(stream: &'static str, places: &[prop::sample::Index]) -> Vec<Bytes> {
    let stream = Bytes::from_static(stream.as_bytes());
    let mut places: Vec<usize> = places.iter().map(|place| place.index(stream.len())).collect();
    places.sort_unstable();
    places.push(stream.len());
    let starts = std::iter::once(0).chain(places.clone());
    starts.zip(places).map(|(start, end)| stream.slice(start..end)).collect()
}

proptest! {
    #[test]
    fn any_chunking_of_a_stream_gives_the_same_reply(
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
    ) {
        for (wire, stream) in [(Wire::Anthropic, ANTHROPIC), (Wire::OpenAi, OPENAI)] {
            prop_assert_eq!(read(wire, cut(stream, &places)).unwrap(), whole(wire, stream));
        }
    }

    #[test]
    fn a_stream_cut_short_anywhere_never_gives_another_reply(end in any::<prop::sample::Index>()) {
        for (wire, stream) in [(Wire::Anthropic, ANTHROPIC), (Wire::OpenAi, OPENAI)] {
            let part = Bytes::copy_from_slice(&stream.as_bytes()[..end.index(stream.len())]);
            if let Ok((reply, _)) = read(wire, vec![part]) {
                // Whole but for its last counts, which come behind the stop reason.
                let (whole, _) = whole(wire, stream);
                prop_assert_eq!((reply.text, reply.calls), (whole.text, whole.calls));
            }
        }
    }
}

#[test]
fn single_bytes_give_the_same_reply() {
    for (wire, stream) in [(Wire::Anthropic, ANTHROPIC), (Wire::OpenAi, OPENAI)] {
        let bytes = stream.as_bytes().iter().map(|byte| Bytes::copy_from_slice(&[*byte]));
        assert_eq!(read(wire, bytes.collect()).unwrap(), whole(wire, stream));
    }
}

#[test]
fn gaps_between_indices_leave_calls_whole_and_in_order() {
    let (reply, _) = whole(Wire::OpenAi, OPENAI);
    let calls: Vec<_> = reply.calls.iter().map(|call| (&*call.id, &*call.arguments)).collect();
    assert_eq!(calls, [("c1", "{\"q\":1}"), ("c2", "{}")]);
    assert_eq!(reply.text.as_deref(), Some("Größe: 潮汐"));
    assert_eq!((reply.stop, reply.model.as_str()), (StopReason::ToolUse, "gpt"));
}

#[test]
fn a_last_event_without_its_blank_line_is_read() {
    let stream = OPENAI.trim_end();
    let (reply, _) = read(Wire::OpenAi, vec![Bytes::from_static(stream.as_bytes())]).unwrap();
    assert_eq!(reply.stop, StopReason::ToolUse);
}

#[test]
fn a_fault_below_keeps_its_kind() {
    for (fault, kind) in [
        (Fault::Idle(Duration::from_secs(90)), ErrorKind::Stalled),
        (Fault::Overdue(Duration::from_mins(10)), ErrorKind::Stalled),
        (Fault::TooLarge(1), ErrorKind::Broken),
        (Fault::Network("reset".to_owned()), ErrorKind::Network),
    ] {
        let body = futures::stream::iter([Ok(Bytes::from_static(b": hi\n\n")), Err(fault.clone())]);
        let error = block_on(read_events(Wire::OpenAi, body, &mut |_| ())).unwrap_err();
        assert_eq!((error.kind, error.message), (kind, fault.to_string()));
    }
}

/// The status of a refusal is known, so little is worth waiting for.
#[rstest::rstest]
#[case::alive(Duration::from_millis(1100), 9)]
#[case::silent(Duration::from_hours(1), 0)]
#[tokio::test(start_paused = true)]
async fn a_refusal_whose_body_never_ends_holds_nobody_up(
    #[case] pause: Duration,
    #[case] lines: usize,
) {
    let endless = Box::pin(futures::stream::unfold((), |()| async move {
        tokio::time::sleep(pause).await;
        Some((Ok::<_, std::convert::Infallible>(Bytes::from_static(b": alive\n")), ()))
    }));
    let start = Instant::now();
    let bounds = bounds(&Limits::default(), start, StatusCode::TOO_MANY_REQUESTS);
    let (said, fault) = collect(timed(endless, bounds, Head::default())).await;
    assert_eq!(start.elapsed(), ERROR_WAIT);
    assert_eq!(said.len(), lines * ": alive\n".len());
    assert!(fault.is_some());
}

#[tokio::test(start_paused = true)]
async fn a_reply_has_all_the_time_that_its_limits_give() {
    let (start, limits) = (Instant::now(), Limits::default());
    let bounds = bounds(&limits, start, StatusCode::OK);
    assert_eq!((bounds.idle, bounds.bytes), (limits.idle, limits.bytes));
    assert_eq!(bounds.deadline, start + limits.total);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_stays_open_behind_its_end_holds_nobody_up() {
    let start = Instant::now();
    let open = futures::stream::once(async { Ok(Bytes::from_static(OPENAI.as_bytes())) })
        .chain(futures::stream::pending::<Result<Bytes, Fault>>());
    read_events(Wire::OpenAi, open, &mut |_| ()).await.unwrap();
    assert_eq!(start.elapsed(), TRAILER);
}

#[rstest::rstest]
#[case::silent(None)]
#[case::reset(Some(Fault::Network("reset".to_owned())))]
#[tokio::test(start_paused = true)]
async fn a_reply_with_its_stop_reason_is_whole_whatever_becomes_of_its_stream(
    #[case] fault: Option<Fault>,
) {
    let until_stop = OPENAI.find("data: {\"choices\":[],").unwrap();
    let start = Instant::now();
    let said = futures::stream::once(async move {
        Ok(Bytes::copy_from_slice(&OPENAI.as_bytes()[..until_stop]))
    });
    let silent = fault.is_none();
    let rest = futures::stream::iter(fault.map(Err))
        .chain(futures::stream::pending::<Result<Bytes, Fault>>());
    let reply = read_reply(Wire::OpenAi, said.chain(rest), &mut |_| ()).await.unwrap();
    assert_eq!(reply.text.as_deref(), Some("Größe: 潮汐"));
    assert_eq!(start.elapsed(), if silent { COUNTS } else { Duration::ZERO });
}

#[tokio::test(start_paused = true)]
async fn comments_behind_the_stop_reason_hold_nobody_up() {
    let until_stop = OPENAI.find("data: {\"choices\":[],").unwrap();
    let start = Instant::now();
    let said = futures::stream::once(async move {
        Ok(Bytes::copy_from_slice(&OPENAI.as_bytes()[..until_stop]))
    });
    let alive = futures::stream::unfold((), |()| async {
        tokio::time::sleep(Duration::from_secs(1)).await;
        Some((Ok(Bytes::from_static(b": alive\n\n")), ()))
    });
    read_reply(Wire::OpenAi, said.chain(alive), &mut |_| ()).await.unwrap();
    assert_eq!(start.elapsed(), COUNTS);
}

/// A stream of `size` bytes in chunks as they come from a socket, and how many were taken.
fn measured(
    first: &'static [u8],
    size: usize,
) -> (impl Stream<Item = Result<Bytes, Fault>> + Send, Arc<std::sync::atomic::AtomicUsize>) {
    const CHUNK: usize = 16 * 1024;
    let taken = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let count = taken.clone();
    let chunk = Bytes::from(vec![b'x'; CHUNK]);
    let rest = futures::stream::iter((0..size / CHUNK).map(move |_| {
        count.fetch_add(CHUNK, std::sync::atomic::Ordering::Relaxed);
        Ok(chunk.clone())
    }));
    (futures::stream::iter([Ok(Bytes::from_static(first))]).chain(rest), taken)
}

#[rstest::rstest]
#[case::text(Wire::OpenAi, b"data: {\"choices\":[{\"delta\":{\"content\":\"")]
#[case::arguments(Wire::Anthropic, b"data: {\"type\":\"content_block_delta\",\"index\":0,\"delta\":{\"type\":\"input_json_delta\",\"partial_json\":\"")]
#[case::a_comment(Wire::OpenAi, b": ")]
#[tokio::test]
async fn an_event_of_100_mb_is_refused_at_its_limit(
    #[case] wire: Wire,
    #[case] first: &'static [u8],
) {
    let (body, taken) = measured(first, 100 * 1024 * 1024);
    let error = read_reply(wire, body, &mut |_| ()).await.unwrap_err();
    assert_eq!(error.kind, ErrorKind::Broken);
    assert!(error.message.contains("larger than 8388608 bytes"), "{error}");
    let taken = taken.load(std::sync::atomic::Ordering::Relaxed);
    assert!(taken > MAX_EVENT - 1024 && taken <= MAX_EVENT + 16 * 1024, "{taken} bytes were taken");
}

#[test]
fn an_event_of_many_small_things_takes_no_memory_to_speak_of() {
    let list = |unit: &str| format!("[{}{unit}]", format!("{unit},").repeat(500_000));
    for (wire, stream) in [
        (Wire::OpenAi, format!("data: {{\"choices\":{}}}\n\n", list("{}"))),
        (
            Wire::OpenAi,
            format!("data: {{\"choices\":[{{\"delta\":{{\"tool_calls\":{}}}}}]}}\n\n", list("{}")),
        ),
        (Wire::Anthropic, format!("data: {{\"type\":\"message\",\"content\":{}}}\n\n", list("{}"))),
        (Wire::OpenAi, format!("data: {{\"error\":{}}}\n\n", list("0"))),
    ] {
        let error = block_on(read_reply(
            wire,
            futures::stream::iter([Ok(Bytes::from(stream))]),
            &mut |_| (),
        ))
        .unwrap_err();
        assert!(error.message.len() < 16 * 1024, "{}", error.message.len());
    }
}

/// What a reply is shows in its first byte, whatever its headers say.
#[test]
fn a_document_is_known_by_its_first_byte() {
    let document =
        "\u{feff} {\"choices\":[{\"message\":{\"content\":\"six\"},\"finish_reason\":\"stop\"}]}";
    for chunks in [vec!["\n", " \r\n", document], vec![document.trim_start_matches('\u{feff}')]] {
        let chunks = chunks.into_iter().map(|chunk| Bytes::copy_from_slice(chunk.as_bytes()));
        let (reply, deltas) = read(Wire::OpenAi, chunks.collect()).unwrap();
        assert_eq!(reply.text.as_deref(), Some("six"));
        assert_eq!(deltas, [Delta::Text("six".into())]);
    }
    let error = read(
        Wire::OpenAi,
        vec![Bytes::from_static(b"{\"error\":{\"code\":429,\"message\":\"slow\"}}")],
    );
    assert_eq!(error.unwrap_err().kind, ErrorKind::Limited);
    let error = read(Wire::OpenAi, vec![Bytes::from_static(b" \n"), Bytes::from_static(b"\n")]);
    assert_eq!(error.unwrap_err().kind, ErrorKind::NoCompletion);
}

#[rstest::rstest]
#[case("event: error\ndata: {\"message\": \"engine died\"}\n\n")]
#[case("error: {\"code\": 500, \"message\": \"engine died\", \"type\": \"server_error\"}\n\n")]
#[case("data: {\"error\": {\"message\": \"engine died\"}}\n\n")]
fn an_error_event_is_one_by_its_name_alone(#[case] event: &str) {
    for wire in [Wire::Anthropic, Wire::OpenAi] {
        let error = read(wire, vec![Bytes::copy_from_slice(event.as_bytes())]).unwrap_err();
        assert_eq!(error.kind, ErrorKind::Server, "{error}");
        assert!(error.message.contains("engine died"), "{error}");
    }
}
