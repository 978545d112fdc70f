use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;

/// KERN-10
#[test]
fn a_long_output_keeps_its_head_and_tail_and_says_what_is_missing() {
    let content = format!("begin {} end", "x".repeat(1000));
    let Settled::Output { content: cut } = settled(Settled::output(content), 200, marked) else {
        panic!("an output stays an output")
    };
    assert!(cut.starts_with("begin ") && cut.ends_with(" end"), "{cut}");
    assert!(cut.contains("of 1010 bytes left out"), "{cut}");
    assert!(cut.len() <= 200, "{} bytes", cut.len());
}

#[test]
fn what_fits_is_left_as_it_is() {
    let exact = Settled::output("x".repeat(200));
    assert_eq!(settled(exact.clone(), 200, marked), exact);
}

#[test]
fn a_tools_own_form_shortens_its_output_and_prose_its_failure() {
    let form: ResultForm = |content, limit| format!("{} > {limit}", content.len());
    assert_eq!(settled(Settled::output("x".repeat(11)), 10, form), Settled::output("11 > 10"));
    let Settled::Failed { message } = settled(Settled::failed("x".repeat(300)), 100, form) else {
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
    let Settled::Unknown { reason } = settled(Settled::unknown("x".repeat(300)), 100, marked)
    else {
        panic!("an unknown outcome stays unknown")
    };
    assert!(reason.len() <= 100 && reason.contains("left out"), "{reason}");
}
