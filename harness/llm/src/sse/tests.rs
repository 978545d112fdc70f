use bytes::Bytes;
use futures::StreamExt as _;
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use rstest::rstest;

use super::*;

/// All events of these chunks, and how it ended.
fn decoded<'c>(
    chunks: impl IntoIterator<Item = &'c [u8]>,
) -> (Vec<(String, bool)>, Result<(), Malformed>) {
    let mut decoder = Decoder::new();
    let mut seen = Vec::new();
    let mut see = |event: Event<'_>| seen.push((event.data.to_owned(), event.is_error));
    for mut chunk in chunks {
        loop {
            match decoder.next(&mut chunk) {
                Ok(Some(event)) => see(event),
                Ok(None) => break,
                Err(error) => return (seen, Err(error)),
            }
        }
    }
    match decoder.finish() {
        Ok(last) => last.into_iter().for_each(see),
        Err(error) => return (seen, Err(error)),
    }
    (seen, Ok(()))
}

fn data(stream: &str) -> Vec<String> {
    let (events, end) = decoded([stream.as_bytes()]);
    assert_eq!(end, Ok(()));
    events.into_iter().map(|(data, _)| data).collect()
}

#[rstest]
#[case::one("data: a\n\n", &["a"])]
#[case::without_a_space("data:a\n\n", &["a"])]
#[case::one_space_only("data:  a\n\n", &[" a"])]
#[case::two_lines("data: a\ndata: b\n\n", &["a\nb"])]
#[case::without_a_colon("data\n\n", &[""])]
#[case::carriage_returns("data: a\r\rdata: b\r\r", &["a", "b"])]
#[case::both("data: a\r\n\r\ndata: b\r\n\r\n", &["a", "b"])]
#[case::mixed("data: a\r\n\ndata: b\n\r\n", &["a", "b"])]
#[case::comments(": hi\n\ndata: a\n: there\ndata: b\n\n:\n\n", &["a\nb"])]
#[case::other_fields("id: 1\nevent: x\nretry: 5\nnonsense\ndata: a\n\n", &["a"])]
#[case::a_name_alone("event: ping\n\n", &[])]
#[case::a_mark("\u{feff}data: a\n\n", &["a"])]
#[case::a_late_mark_is_data("data: \u{feff}a\n\n\u{feff}data: b\n\n", &["\u{feff}a"])]
#[case::blank_lines("\n\n\r\n\ndata: a\n\n\n\n", &["a"])]
#[case::no_last_blank_line("data: a\n\ndata: b\n", &["a", "b"])]
#[case::no_last_line_end("data: a\n\ndata: b", &["a", "b"])]
#[case::a_last_carriage_return("data: a\r", &["a"])]
#[case::nothing("", &[])]
fn a_stream_gives_its_events(#[case] stream: &str, #[case] expected: &[&str]) {
    assert_eq!(data(stream), expected);
    let bytes = stream.as_bytes().chunks(1);
    let (events, end) = decoded(bytes);
    assert_eq!(end, Ok(()));
    assert_eq!(events.into_iter().map(|(data, _)| data).collect::<Vec<_>>(), expected);
}

#[rstest]
#[case("event: error\ndata: x\n\n", true)]
#[case("data: x\nevent: error\n\n", true)]
#[case("error: x\n\n", true)]
#[case("event: error\n\ndata: x\n\n", false)]
#[case("event: error\nevent: message\ndata: x\n\n", false)]
#[case("event: errors\ndata: x\n\n", false)]
fn an_event_called_error_says_so(#[case] stream: &str, #[case] is_error: bool) {
    let (events, _) = decoded([stream.as_bytes()]);
    assert_eq!(events, [("x".to_owned(), is_error)]);
}

#[test]
fn data_that_is_no_text_is_refused() {
    let (events, end) = decoded([b"data: a\n\ndata: \xff\n\n".as_slice()]);
    assert_eq!(events, [("a".to_owned(), false)]);
    assert!(matches!(end, Err(Malformed::NotUtf8(_))), "{end:?}");
}

/// Feeds the same chunk again and again, and says after how many bytes it was refused.
fn refused_after(first: &[u8], again: &[u8]) -> usize {
    let mut decoder = Decoder::new();
    let mut fed = 0;
    let mut chunk = first;
    loop {
        fed += chunk.len();
        let mut rest = chunk;
        match decoder.next(&mut rest) {
            Ok(None) if fed < 10 * MAX_EVENT => chunk = again,
            Ok(event) => panic!("{event:?} after {fed} bytes"),
            Err(error) => {
                assert_eq!(error, Malformed::TooLarge);
                let kept = decoder.line.capacity() + decoder.data.capacity();
                assert!(kept <= 2 * MAX_EVENT + 2 * again.len(), "{kept} bytes are held");
                return fed;
            }
        }
    }
}

#[rstest]
#[case::one_line(b"data: ", &[b'x'; 16 * 1024])]
#[case::many_lines(b"data: x\n", b"data: 0123456789012345678901234567890123456789\n")]
#[case::a_comment(b": ", &[b'x'; 16 * 1024])]
#[case::a_name(b"event: ", &[b'x'; 16 * 1024])]
#[case::a_field_without_end(b"", &[b'x'; 1024])]
fn an_event_beyond_its_limit_is_refused_as_soon_as_it_shows(
    #[case] first: &[u8],
    #[case] again: &[u8],
) {
    let fed = refused_after(first, again);
    let slack = MAX_EVENT / 8 + 2 * again.len(); // line ends and field names are not kept
    assert!(fed > MAX_EVENT && fed <= MAX_EVENT + slack + slack, "after {fed} bytes");
}

#[test]
fn an_event_at_its_limit_is_read_whole_or_in_pieces() {
    let value = "y".repeat(MAX_EVENT - 64);
    let stream = format!("data: {value}\n\n");
    for size in [stream.len(), 100_000] {
        let (events, end) = decoded(stream.as_bytes().chunks(size));
        assert_eq!(end, Ok(()));
        assert!(events.len() == 1 && events[0].0 == value);
    }
}

/// What another decoder makes of the same bytes, `None` where it refuses them.
fn second_opinion(stream: &[u8]) -> Option<Vec<String>> {
    let chunk = Bytes::copy_from_slice(&[stream, b"\n\n\n"].concat());
    let body = futures::stream::iter([Ok::<_, std::convert::Infallible>(chunk)]);
    let events = sse_stream::SseByteStream::new(body).collect::<Vec<_>>();
    let events: Result<Vec<_>, _> = futures::executor::block_on(events).into_iter().collect();
    Some(events.ok()?.into_iter().filter_map(|event| event.data).collect())
}

/// Lines of the kind that streams are made of, and line ends in every form.
fn lines() -> impl Strategy<Value = String> {
    let line = prop_oneof![
        "data: ?[a-zé🌊{}: ]{0,12}",
        "data",
        ":[a-z ]{0,8}",
        "(event|id|retry|junk): ?[a-z0-9]{0,6}",
        Just(String::new()),
    ];
    let end = prop_oneof![Just("\n"), Just("\r\n"), Just("\r")];
    prop::collection::vec((line, end), 0..24).prop_map(|lines| {
        lines.into_iter().flat_map(|(line, end)| [line, end.to_owned()]).collect()
    })
}

fn cut<'s>(stream: &'s [u8], places: &[prop::sample::Index]) -> Vec<&'s [u8]> {
    let mut places: Vec<usize> = places.iter().map(|place| place.index(stream.len() + 1)).collect();
    places.sort_unstable();
    places.push(stream.len());
    let starts = std::iter::once(0).chain(places.clone());
    starts.zip(places).map(|(start, end)| &stream[start..end]).collect()
}

proptest! {
    #[test]
    fn chunks_never_change_the_events(
        stream in lines(),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..40),
    ) {
        let whole = decoded([stream.as_bytes()]);
        prop_assert_eq!(decoded(cut(stream.as_bytes(), &places)), whole);
    }

    #[test]
    fn another_decoder_reads_the_same(stream in lines()) {
        let (events, end) = decoded([stream.as_bytes()]);
        prop_assert_eq!(end, Ok(()));
        let events: Vec<String> = events.into_iter().map(|(data, _)| data).collect();
        prop_assert_eq!(Some(events), second_opinion(stream.as_bytes()));
    }

    #[test]
    fn no_bytes_make_it_panic_or_hand_out_more_than_came(
        stream in prop::collection::vec(
            prop_oneof![3 => any::<u8>(), 1 => Just(b'\n'), 1 => Just(b'\r'), 1 => Just(b':')],
            0..400,
        ),
        places in prop::collection::vec(any::<prop::sample::Index>(), 0..20),
    ) {
        let (events, end) = decoded([stream.as_slice()]);
        let bytes: usize = events.iter().map(|(data, _)| data.len()).sum();
        prop_assert!(bytes <= stream.len());
        prop_assert_eq!(decoded(cut(&stream, &places)), (events, end));
    }
}
