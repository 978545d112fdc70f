use encoding_rs::{EUC_JP, SHIFT_JIS, WINDOWS_1252};
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use rstest::rstest;

use super::*;

fn decoded(raw: &[u8]) -> Text {
    Text::decode(raw.to_vec()).unwrap()
}

#[rstest]
#[case::plain(b"abc\n", "abc\n", Form::Utf8)]
#[case::empty(b"", "", Form::Utf8)]
#[case::utf8("grün".as_bytes(), "grün", Form::Utf8)]
#[case::mark(b"\xef\xbb\xbfabc", "abc", Form::MarkedUtf8)]
#[case::utf16(b"\xff\xfea\0\xfc\0", "aü", Form::Utf16Le)]
#[case::utf16_big(b"\xfe\xff\0a\0\xfc", "aü", Form::Utf16Be)]
#[case::latin(
    b"caf\xe9 au lait, tr\xe8s fran\xe7ais",
    "café au lait, très français",
    Form::Legacy(WINDOWS_1252)
)]
#[case::utf8_beyond_latin("grün und blau: \u{e4}\u{f6}".as_bytes(), "grün und blau: äö", Form::Utf8)]
fn a_text_is_read_in_its_own_encoding(
    #[case] raw: &[u8],
    #[case] wanted: &str,
    #[case] form: Form,
) {
    let text = decoded(raw);
    assert_eq!((&*text.readable(), text.form), (wanted, form));
    assert_eq!(form.encode(&text.bytes).unwrap(), raw);
    assert_eq!(text.check_faithful(raw), Ok(()));
}

#[test]
fn japanese_text_is_read_in_either_of_its_older_encodings() {
    let said = "これは日本語の文章です。コメントを読んでください。";
    for encoding in [SHIFT_JIS, EUC_JP] {
        let (raw, _, _) = encoding.encode(said);
        let text = decoded(&raw);
        assert_eq!((&*text.readable(), text.form), (said, Form::Legacy(encoding)));
        assert_eq!(text.check_faithful(&raw), Ok(()));
    }
}

#[test]
fn a_stray_byte_in_utf8_does_not_make_it_another_encoding() {
    let raw = b"gr\xc3\xbcn, bl\xc3\xa4ulich, \xff kaputt";
    let text = decoded(raw);
    assert_eq!(text.form, Form::DamagedUtf8);
    assert_eq!(text.readable(), "grün, bläulich, \u{fffd} kaputt");
    assert_eq!(text.form.encode(&text.bytes).unwrap(), raw);
}

/// CODE-11
#[rstest]
#[case::nul(b"ELF\0\x01\x02")]
#[case::control_characters(b"\x01\x02\x03abc\x04\x05")]
#[case::utf16_without_a_mark(b"a\0b\0c\0")]
fn what_is_not_text_is_told_from_it(#[case] raw: &[u8]) {
    assert_eq!(Text::decode(raw.to_vec()), Err(NotText));
}

#[test]
fn a_character_that_an_encoding_lacks_is_named() {
    let form = Form::Legacy(WINDOWS_1252);
    assert_eq!(form.encode("1 € → 2".as_bytes()), Err(Unwritable::Character('→')));
}

#[test]
fn a_file_that_would_not_come_out_as_it_was_is_told() {
    let raw = b"\xff\xfea\0b"; // half a character at the end
    assert_eq!(decoded(raw).check_faithful(raw), Err(Unwritable::Unfaithful));
}

fn spliced(text: &str, old: &str, new: &str) -> Result<String, Miss> {
    splice(text.as_bytes(), old, new, Which::Only)
        .map(|spliced| String::from_utf8(spliced.bytes).unwrap())
}

#[rstest]
#[case::a_word("a b c", "b", "x", "a x c")]
#[case::removal("a\nb\nc\n", "b\n", "", "a\nc\n")]
#[case::the_first_line("a\nb\n", "a\n", "x\ny\n", "x\ny\nb\n")]
#[case::the_end_without_line_feed("a\nb", "b", "c", "a\nc")]
#[case::a_line_feed_at_the_end("a\nb", "b", "b\n", "a\nb\n")]
#[case::windows_lines("a\r\nb\r\nc\r\n", "a\nb\n", "a\nx\ny\n", "a\r\nx\r\ny\r\nc\r\n")]
#[case::windows_lines_spelt_out("a\r\nb\r\n", "a\r\nb", "a\r\nc", "a\r\nc\r\n")]
#[case::windows_spelling_in_a_unix_file("a\nb\n", "a\r\nb", "a\r\nc", "a\nc\n")]
#[case::mixed_lines_stay("a\r\nb\nc\r\n", "a\nb\nc", "a\nB\nc", "a\r\nB\nc\r\n")]
#[case::a_new_line_ends_as_its_neighbour("a\r\nb\nc\n", "a\n", "a\na2\n", "a\r\na2\r\nb\nc\n")]
#[case::joined_lines("a\r\nb\r\n", "a\nb", "ab", "ab\r\n")]
#[case::at_a_line_feed("a\r\nb\r\n", "\nb", "\nx", "a\r\nx\r\n")]
#[case::a_return_alone_is_a_character("a\rb\n", "a\rb", "c", "c\n")]
#[case::characters_of_several_bytes("für alle", "für", "fûr", "fûr alle")]
fn a_piece_is_exchanged_and_nothing_else_moves(
    #[case] text: &str,
    #[case] old: &str,
    #[case] new: &str,
    #[case] wanted: &str,
) {
    assert_eq!(spliced(text, old, new).as_deref(), Ok(wanted));
}

#[test]
fn white_space_must_match_exactly() {
    for old in ["if x {\n    y", "\tif  x", "y \n", "if x {  "] {
        let miss = spliced("\tif x {\n\t\ty\n\t}\n", old, "z");
        assert!(matches!(miss, Err(Miss::Nowhere(_))), "{old:?}: {miss:?}");
    }
    assert_eq!(spliced("a \nb", "a \n", "a\n").as_deref(), Ok("a\nb"));
}

#[test]
fn a_piece_in_several_places_is_refused_with_their_lines() {
    let miss = spliced("x\ny\nx\nx\n", "x", "z");
    assert_eq!(miss, Err(Miss::Several { places: 3, lines: vec![1, 3, 4] }));
    // Places that overlap are two: either may be meant.
    assert_eq!(spliced("aaa", "aa", "b"), Err(Miss::Several { places: 2, lines: vec![1, 1] }));
}

#[test]
fn all_places_are_exchanged_when_all_are_meant() {
    let all = splice(b"x\r\naa\nx\n", "x\n", "z\nz\n", Which::All).unwrap();
    assert_eq!(all, Spliced { bytes: b"z\r\nz\r\naa\nz\nz\n".to_vec(), places: 2 });
    assert_eq!(splice(b"aaa", "aa", "b", Which::All).unwrap().bytes, b"ba");
}

#[test]
fn nothing_is_exchanged_for_nothing() {
    assert_eq!(spliced("a", "", "b"), Err(Miss::Empty));
    assert_eq!(spliced("a", "a", "a"), Err(Miss::Same));
    assert_eq!(spliced("a\n", "a\n", "a\r\n"), Err(Miss::Same));
}

#[test]
fn bytes_that_are_no_characters_stay() {
    let all = splice(b"\xff a \xfe b \xff", "a", "c", Which::Only).unwrap();
    assert_eq!(all.bytes, b"\xff c \xfe b \xff");
}

fn near(text: &str, old: &str) -> String {
    match spliced(text, old, "-") {
        Err(Miss::Nowhere(words)) => words,
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_near_miss_is_shown_with_what_differs() {
    assert_eq!(
        near("fn a() {\n\tone();\n\ttwo();\n}\n", "fn a() {\n    one();\n    two();\n}"),
        "The nearest place is line 1, the same but for white space. Line 2 there is \
         \"\\tone();\", and old_text has \"    one();\"."
    );
    assert_eq!(
        near("a\nfn b() {\n  one();\n}\n", "fn b() {\n  two();\n}"),
        "The nearest place is line 2, 2 of 3 lines the same. Line 3 there is \"  one();\", and \
         old_text has \"  two();\"."
    );
    assert_eq!(
        near("one\ntwo\n", "two\nthree"),
        "The nearest place is line 2, but the file ends before line 3."
    );
    assert_eq!(
        near("let greeting = 1;\n", "let mut greeting = 1;"),
        "The word \"greeting\" is in line 1: \"let greeting = 1;\"."
    );
    assert_eq!(near("abc", "xyz"), "Nothing like it is in the file: read it again.");
}

proptest! {
    #[test]
    fn every_text_is_written_as_it_was_read(raw in proptest::collection::vec(any::<u8>(), 0..200)) {
        if let Ok(text) = Text::decode(raw.clone())
            && text.check_faithful(&raw).is_ok()
        {
            prop_assert_eq!(text.form.encode(&text.bytes).unwrap(), raw);
        }
    }

    #[test]
    fn what_lies_around_an_exchange_is_untouched(
        before in "[xy\r\n ]{0,20}", old in "[a-c\n]{1,10}", new in "[d-f\n]{0,10}",
        after in "[xy\n ]{0,20}",
    ) {
        prop_assume!(!before.ends_with('\r') && !old.trim_matches('\n').is_empty());
        let old = old.trim_matches('\n');
        let text = format!("{before}{old}{after}");
        let bytes = splice(text.as_bytes(), old, &new, Which::Only).unwrap().bytes;
        prop_assert!(bytes.starts_with(before.as_bytes()) && bytes.ends_with(after.as_bytes()));
        let middle = &bytes[before.len()..bytes.len() - after.len()];
        prop_assert_eq!(String::from_utf8_lossy(middle).replace("\r\n", "\n"), new);
    }

    #[test]
    fn an_exchange_can_be_taken_back(
        before in "[xy\n]{0,20}", old in "[a-c]{1,10}", new in "[d-f]{1,10}",
        after in "[xy\n]{0,20}", windows in any::<bool>(),
    ) {
        let text = format!("{before}{old}{after}");
        let text = if windows { text.replace('\n', "\r\n") } else { text };
        let there = splice(text.as_bytes(), &old, &new, Which::Only).unwrap();
        let back = splice(&there.bytes, &new, &old, Which::Only).unwrap();
        prop_assert_eq!(back.bytes, text.into_bytes());
    }
}
