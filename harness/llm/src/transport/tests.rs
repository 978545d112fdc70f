use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;
use crate::message::StopReason;

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

fn read(wire: Wire, chunks: Vec<Bytes>) -> Result<(Reply, Vec<Delta>), LlmError> {
    let body = futures::stream::iter(chunks.into_iter().map(Ok::<_, Fault>));
    let mut deltas = Vec::new();
    let mut on_delta = |delta| deltas.push(delta);
    let reply = block_on(read_events(wire, body, &mut on_delta))?;
    Ok((reply, deltas))
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
    runtime.unwrap().block_on(work)
}

fn whole(wire: Wire, stream: &'static str) -> (Reply, Vec<Delta>) {
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

/// BIND-11
#[test]
fn a_key_that_a_server_repeats_is_taken_out() {
    let key = SecretString::from("sk-live-1234");
    let words = "HTTP 401: wrong key sk-live-1234";
    assert_eq!(without_key(words, Some(&key)), "HTTP 401: wrong key [redacted]");
    assert_eq!(without_key(words, None), words);
    assert_eq!(without_key(words, Some(&SecretString::from(""))), words);
}

#[tokio::test(start_paused = true)]
async fn a_stream_that_stays_open_behind_its_end_holds_nobody_up() {
    let start = Instant::now();
    let open = futures::stream::once(async { Ok(Bytes::from_static(OPENAI.as_bytes())) })
        .chain(futures::stream::pending::<Result<Bytes, Fault>>());
    read_events(Wire::OpenAi, open, &mut |_| ()).await.unwrap();
    assert_eq!(start.elapsed(), TRAILER);
}
