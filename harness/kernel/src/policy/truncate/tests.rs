use pretty_assertions::assert_eq;
use proptest::prelude::*;

use serde_json::Value;

use super::*;
use crate::scenes::echo;

fn with_limits(limit_bytes: usize, limit_chars: usize, form: ResultForm) -> Tool {
    let mut tool = (*echo()).clone();
    (tool.limit_bytes, tool.limit_chars, tool.form) = (limit_bytes, limit_chars, form);
    tool
}

/// Cuts by a limit in bytes alone.
fn within(settled: Settled, limit_bytes: usize, form: ResultForm) -> Settled {
    super::settled(settled, &with_limits(limit_bytes, usize::MAX, form))
}

#[test]
fn a_long_output_keeps_its_head_and_tail_and_says_what_is_missing() {
    let content = format!("begin {} end", "x".repeat(1000));
    let Settled::Output { content: cut } = within(Settled::output(content), 200, marked) else {
        panic!("an output stays an output")
    };
    assert!(cut.starts_with("begin ") && cut.ends_with(" end"), "{cut}");
    assert!(cut.contains("of 1010 bytes left out"), "{cut}");
    assert!(cut.len() <= 200, "{} bytes", cut.len());
}

#[test]
fn what_fits_is_left_as_it_is() {
    let exact = Settled::output("x".repeat(200));
    assert_eq!(within(exact.clone(), 200, marked), exact);
}

#[test]
fn a_tools_own_form_shortens_its_output_and_prose_its_failure() {
    let form: ResultForm = |content, limit| format!("{} > {limit}", content.len());
    assert_eq!(within(Settled::output("x".repeat(11)), 10, form), Settled::output("11 > 10"));
    let Settled::Failed { message } = within(Settled::failed("x".repeat(300)), 100, form) else {
        panic!("a failure stays a failure")
    };
    assert!(message.contains("left out"), "{message}");
}

proptest! {
    #[test]
    fn the_marked_form_fits_the_limit_and_cuts_no_character(
        content in "\\PC{0,400}", limit in 64_usize..300,
    ) {
        if content.len() > limit {
            prop_assert!(marked(&content, limit).len() <= limit);
        }
    }
}

#[test]
fn a_long_reason_for_not_knowing_is_cut_as_a_failure_is() {
    let Settled::Unknown { reason } = within(Settled::unknown("x".repeat(300)), 100, marked) else {
        panic!("an unknown outcome stays unknown")
    };
    assert!(reason.len() <= 100 && reason.contains("left out"), "{reason}");
}

/// KERN-10
#[test]
fn a_result_is_cut_at_48_000_characters_however_many_bytes_those_are() {
    let tool = echo();
    for letter in ["x", "é", "語", "🦀"] {
        let whole = Settled::output(letter.repeat(48_000));
        assert_eq!(settled(whole.clone(), &tool), whole);
        let Settled::Output { content } = settled(Settled::output(letter.repeat(48_001)), &tool)
        else {
            panic!("an output stays an output")
        };
        let chars = content.chars().count();
        assert!((40_000..=48_000).contains(&chars), "{chars} of {letter}");
        let bytes = 48_001 * letter.len();
        assert!(content.contains(&format!("of {bytes} bytes left out")), "the true size is said");
    }
}

#[test]
fn a_text_of_mixed_letters_is_within_both_limits() {
    let content = format!("{}{}", "語".repeat(1_000), "x".repeat(3_000));
    let tool = with_limits(3_000, 1_500, marked);
    let shown = settled(Settled::output(content), &tool).text();
    assert!(shown.len() <= 3_000 && shown.chars().count() <= 1_500, "{}", shown.len());
    assert!(shown.starts_with('語') && shown.ends_with('x'));
}

proptest! {
    #[test]
    fn the_enveloped_form_is_json_that_says_so(
        parts in prop::collection::vec(prop::sample::select(vec!["a ", "é", "\"", "\\", "\n", "🦀"]), 600..1500),
        limit in 300_usize..500,
    ) {
        let content = parts.concat();
        let shown = enveloped(&content, limit);
        let value: Value = serde_json::from_str(&shown).unwrap();
        prop_assert_eq!(&value["truncated"], &Value::Bool(true));
        prop_assert_eq!(&value["total_bytes"], &Value::from(content.len()));
        prop_assert!(content.starts_with(value["preview"].as_str().unwrap()));
        prop_assert!(shown.len() <= limit, "{} bytes", shown.len());
    }
}
