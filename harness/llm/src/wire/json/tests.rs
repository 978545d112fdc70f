use pretty_assertions::assert_eq;
use proptest::prelude::*;
use rstest::rstest;

use super::*;

#[rstest]
#[case(r#""tide""#, "tide")]
#[case(r#""a\nb \ud83c\udf0a""#, "a\nb 🌊")]
#[case("17", "17")]
#[case("-3", "-3")]
#[case("true", "")]
#[case("[1, 2]", "")]
#[case(r#"{"a": [1]}"#, "")]
fn a_text_is_read_from_every_form(#[case] json: &str, #[case] text: &str) {
    assert_eq!(serde_json::from_str::<Text<'_>>(json).unwrap().0, text);
}

#[test]
fn a_text_without_escapes_is_not_copied() {
    let Text(text) = serde_json::from_str(r#""tide""#).unwrap();
    assert!(matches!(text, Cow::Borrowed("tide")));
}

#[rstest]
#[case("7", Some(7))]
#[case("7.0", Some(7))]
#[case("\"7\"", Some(7))]
#[case("-1", None)]
#[case("1e300", None)]
#[case("18446744073709551615", Some(u64::MAX))]
#[case("null", None)]
#[case("\"many\"", None)]
#[case("{\"n\": 1}", None)]
#[case("[1]", None)]
#[case("false", None)]
fn a_count_is_read_from_every_form(#[case] json: &str, #[case] count: Option<u64>) {
    assert_eq!(serde_json::from_str::<Count>(json).unwrap(), Count(count));
}

#[test]
fn a_list_without_end_is_refused_while_it_is_read() {
    let list = |length: usize| format!("[{}1]", "1,".repeat(length - 1));
    let read = |length| serde_json::from_str::<Bounded<u8>>(&list(length));
    assert_eq!(read(MAX_PARTS).unwrap().0.len(), MAX_PARTS);
    let error = read(MAX_PARTS + 1).unwrap_err().to_string();
    assert!(error.contains("1024"), "{error}");
    assert!(serde_json::from_str::<Bounded<u8>>("null").unwrap().0.is_empty());
}

/// What `said` makes of a JSON value, and what serde makes of it.
fn both(json: &str) -> (Option<String>, Option<String>) {
    let raw: &RawValue = serde_json::from_str(json).unwrap();
    let ours = said(raw, &mut String::from("left over")).ok().map(str::to_owned);
    (ours, serde_json::from_str::<String>(json).ok())
}

#[rstest]
#[case(r#""tide""#, Some("tide"))]
#[case(r#""\"\\\/\b\f\n\r\t\u00e9\ud83c\udf0a\u0000""#, Some("\"\\/\u{8}\u{c}\n\r\té🌊\0"))]
fn a_text_is_unescaped_as_serde_does(#[case] json: &str, #[case] text: Option<&str>) {
    let (ours, theirs) = both(json);
    assert_eq!((ours.as_deref(), theirs.as_deref()), (text, text));
}

#[rstest]
#[case::half_a_pair(r#""a\ud83c""#, "a\u{fffd}")]
#[case::the_other_half(r#""\udf0ab""#, "\u{fffd}b")]
#[case::two_first_halves(r#""\ud83c\ud83c""#, "\u{fffd}\u{fffd}")]
#[case::half_and_a_letter(r#""\ud83cudf0a""#, "\u{fffd}udf0a")]
#[case::half_and_a_pair(r#""\ud83c\ud83c\udf0a""#, "\u{fffd}🌊")]
fn half_a_character_is_read_as_one_that_was_lost(#[case] json: &str, #[case] text: &str) {
    assert_eq!(both(json), (Some(text.to_owned()), None));
}

#[test]
fn what_is_no_text_says_nothing() {
    for json in ["1", "true", "[1]", "{}"] {
        assert_eq!(both(json).0.as_deref(), Some(""));
    }
}

proptest! {
    #[test]
    fn any_text_is_unescaped_as_serde_does(
        pieces in prop::collection::vec(
            prop_oneof![
                "\\PC{0,6}",
                r#"\\["\\/bfnrt]"#,
                r"\\u[0-9a-fA-F]{4}",
                r"\\u[dD][89abAB][0-9a-f]{2}\\u[dD][c-fC-F][0-9a-f]{2}",
            ],
            0..8,
        ),
    ) {
        let json = format!("\"{}\"", pieces.concat());
        if serde_json::from_str::<&RawValue>(&json).is_ok_and(|raw| raw.get().len() == json.len()) {
            let (ours, theirs) = both(&json);
            if theirs.is_some() {
                prop_assert_eq!(ours, theirs);
            } else {
                // All that serde refuses here is half a character.
                let is_half = ours.is_some_and(|text| text.contains('\u{fffd}'));
                prop_assert!(is_half);
            }
        }
    }
}
