use foundry_llm::ErrorKind;
use pretty_assertions::assert_eq;
use rstest::rstest;

use super::*;
use crate::scenes::error;

/// KERN-42: what would fail with any model is no reason to change it.
#[rstest]
#[case(ErrorKind::Limited, true)]
#[case(ErrorKind::Overloaded, true)]
#[case(ErrorKind::Server, true)]
#[case(ErrorKind::Network, true)]
#[case(ErrorKind::Stalled, true)]
#[case(ErrorKind::Broken, true)]
#[case(ErrorKind::NoCompletion, true)]
#[case(ErrorKind::Dialect, true)]
#[case(ErrorKind::Overflow, false)]
#[case(ErrorKind::Auth, false)]
#[case(ErrorKind::Budget, false)]
#[case(ErrorKind::BadRequest, false)]
#[case(ErrorKind::Refused, false)]
fn another_model_takes_over_where_it_may_do_better(#[case] kind: ErrorKind, #[case] over: bool) {
    let next = takes_over(&error(kind), Some("plan-b"), false);
    assert_eq!(next, over.then_some("plan-b"));
}

/// KERN-42
#[test]
fn it_takes_over_once_and_only_where_there_is_one() {
    let server = error(ErrorKind::Server);
    assert_eq!(takes_over(&server, Some("plan-b"), true), None);
    assert_eq!(takes_over(&server, None, false), None);
}
