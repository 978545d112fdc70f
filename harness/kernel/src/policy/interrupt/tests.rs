use pretty_assertions::assert_eq;
use rstest::rstest;

use super::*;

/// KERN-25: wherever it stands, an interrupt leads to the boundary and an abort to the end.
#[rstest]
#[case(Signal::Interrupt, At::Boundary, Goes::ToBoundary)]
#[case(Signal::Interrupt, At::Asking, Goes::ToBoundary)]
#[case(Signal::Interrupt, At::Calls, Goes::ToBoundary)]
#[case(Signal::Interrupt, At::Over, Goes::Stays)]
#[case(Signal::Abort, At::Boundary, Goes::Ends(Stop::Aborted))]
#[case(Signal::Abort, At::Asking, Goes::Ends(Stop::Aborted))]
#[case(Signal::Abort, At::Calls, Goes::Ends(Stop::Aborted))]
#[case(Signal::Abort, At::Over, Goes::Stays)]
fn a_signal_takes_a_run_from_where_it_stands(
    #[case] signal: Signal,
    #[case] at: At,
    #[case] expected: Goes,
) {
    assert_eq!(obey(signal, at), expected);
}

/// KERN-27
#[rstest]
#[case(true, Queued::Nothing, Some(Stop::Interrupted))]
#[case(true, Queued::Input, None)]
#[case(false, Queued::Nothing, None)]
#[case(false, Queued::Input, None)]
fn an_interrupted_run_goes_on_with_what_is_queued_or_ends(
    #[case] was_interrupted: bool,
    #[case] queued: Queued,
    #[case] expected: Option<Stop>,
) {
    assert_eq!(at_boundary(was_interrupted, queued), expected);
}

/// KERN-26
#[rstest]
#[case(Fate::Ended(Settled::output("found")), "found")]
#[case(Fate::Ended(Settled::failed("no disk")), "no disk")]
#[case(
    Fate::Running,
    "outcome unknown: the step was stopped while this call was running. The call may or may not have taken effect; check before you repeat it."
)]
#[case(Fate::NotStarted, "not executed: the step was stopped before this call began")]
fn a_closed_call_says_how_far_it_came(#[case] fate: Fate, #[case] words: &str) {
    assert_eq!(closed(fate, Closing::StepStopped).text(), words);
}

#[test]
fn a_call_after_the_one_that_ended_the_run_says_that() {
    let closed = closed(Fate::NotStarted, Closing::RunEnded);
    assert_eq!(closed.text(), "not executed: a call before it was to end the run");
}
