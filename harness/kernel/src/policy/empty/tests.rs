use rstest::rstest;

use super::*;
use crate::scenes::{calls, reply};

#[rstest]
#[case(None, true)]
#[case(Some(""), true)]
#[case(Some(" \n\t"), true)]
#[case(Some("."), false)]
fn a_reply_is_empty_when_nobody_could_read_it(#[case] text: Option<&str>, #[case] empty: bool) {
    assert_eq!(is_empty(&reply(text, Vec::new())), empty);
}

#[test]
fn a_reply_that_only_calls_is_not_empty() {
    assert!(!is_empty(&calls([("a", "echo", "{}")])));
}
