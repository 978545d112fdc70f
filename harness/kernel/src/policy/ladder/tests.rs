use pretty_assertions::assert_eq;
use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::scenes::{NOW, error};

fn tries(retries_made: u32) -> Tries {
    Tries { retries_made, without_completion: 0, seed: 7, since: NOW }
}

fn paced(kind: ErrorKind, pacing: Duration) -> LlmError {
    LlmError { retry_after: Some(pacing), ..error(kind) }
}

fn wait(next: Next) -> Option<Duration> {
    match next {
        Next::Wait { until, .. } => Some(Duration::try_from(until.duration_since(NOW)).unwrap()),
        Next::Halt => None,
    }
}

/// KERN-19: the kind says it, and the kind is the true upstream status.
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
fn what_may_heal_is_retried_and_nothing_else(#[case] kind: ErrorKind, #[case] retried: bool) {
    let next = Ladder::default().next(&error(kind), tries(0), NOW);
    assert_eq!(wait(next).is_some(), retried);
}

/// KERN-18
#[rstest]
#[case(Ladder::default(), 6)]
#[case(Ladder::attended(), 6)]
#[case(Ladder::coding(), 6)]
#[case(Ladder::agent(), 2)]
fn each_host_has_its_number_of_retries(#[case] ladder: Ladder, #[case] retries: u32) {
    let server = error(ErrorKind::Server);
    assert!(wait(ladder.next(&server, tries(retries - 1), NOW)).is_some());
    assert_eq!(ladder.next(&server, tries(retries), NOW), Next::Halt);
}

/// KERN-21
#[test]
fn an_unattended_run_waits_out_capacity_without_limit_and_nothing_else() {
    let ladder = Ladder::unattended();
    let many = tries(100_000);
    assert!(wait(ladder.next(&error(ErrorKind::Limited), many, NOW)).is_some());
    assert!(wait(ladder.next(&error(ErrorKind::Overloaded), many, NOW)).is_some());
    assert_eq!(ladder.next(&error(ErrorKind::Server), many, NOW), Next::Halt);

    let an_hour = paced(ErrorKind::Limited, Duration::from_hours(1));
    assert_eq!(wait(ladder.next(&an_hour, many, NOW)), Some(Duration::from_mins(5)));
}

/// KERN-22
#[test]
fn an_attended_turn_ends_at_once_when_the_server_asks_for_more_than_half_a_minute() {
    let ladder = Ladder::attended();
    let pacing = |seconds| paced(ErrorKind::Limited, Duration::from_secs(seconds));
    assert_eq!(wait(ladder.next(&pacing(30), tries(0), NOW)), Some(Duration::from_secs(30)));
    assert_eq!(ladder.next(&pacing(31), tries(0), NOW), Next::Halt);
}

/// KERN-18: the server's own pacing wins, shorter or longer than ours.
#[rstest]
#[case(Duration::from_millis(20))]
#[case(Duration::from_secs(40))]
#[case(Duration::from_hours(2))]
fn the_servers_pacing_wins_over_the_computed_wait(#[case] pacing: Duration) {
    let next = Ladder::coding().next(&paced(ErrorKind::Limited, pacing), tries(0), NOW);
    assert_eq!(wait(next), Some(pacing));
}

#[test]
fn a_pacing_of_nothing_is_no_pacing() {
    let now = Ladder::unattended().next(&paced(ErrorKind::Limited, Duration::ZERO), tries(9), NOW);
    assert!(wait(now).unwrap() >= SHORTEST_WAIT);
}

/// KERN-21: what has no limit must not spin.
#[test]
fn a_pacing_of_hardly_anything_is_kept_only_while_retries_are_counted() {
    let paced = paced(ErrorKind::Limited, Duration::from_nanos(1));
    assert_eq!(
        wait(Ladder::unattended().next(&paced, tries(5), NOW)),
        Some(Duration::from_nanos(1))
    );
    assert_eq!(wait(Ladder::unattended().next(&paced, tries(6), NOW)), Some(SHORTEST_WAIT));
}

#[test]
fn a_pacing_beyond_time_waits_until_its_end() {
    let next = Ladder::coding().next(&paced(ErrorKind::Limited, Duration::MAX), tries(0), NOW);
    assert_eq!(next, Next::Wait { until: Timestamp::MAX, effort: Effort::AsSet });
}

/// CODE-43: after 500 ms and 1500 ms, each without a reasoning level, and then no more,
/// whatever else failed in the same turn.
#[test]
fn a_coding_run_retries_a_reply_without_completion_twice_and_without_effort() {
    let nothing = error(ErrorKind::NoCompletion);
    let next = |retries_made, without_completion| {
        let tries = Tries { without_completion, ..tries(retries_made) };
        match Ladder::coding().next(&nothing, tries, NOW) {
            Next::Wait { until, effort } => Some((until.duration_since(NOW).as_millis(), effort)),
            Next::Halt => None,
        }
    };
    assert_eq!(next(0, 0), Some((500, Effort::Dropped)));
    assert_eq!(next(1, 1), Some((1500, Effort::Dropped)));
    assert_eq!(next(2, 2), None);
    assert_eq!(next(3, 1), Some((1500, Effort::Dropped)), "other failures are not counted");
    assert_eq!(next(6, 0), None, "the retries of the turn are one budget");
}

/// KERN-15: elsewhere it is an error like any other, and keeps its level.
#[rstest]
#[case(Ladder::attended(), 6)]
#[case(Ladder::unattended(), 6)]
#[case(Ladder::agent(), 2)]
fn other_hosts_retry_a_reply_without_completion_as_any_error(
    #[case] ladder: Ladder,
    #[case] retries: u32,
) {
    let tries = Tries { without_completion: retries - 1, ..tries(retries - 1) };
    let next = ladder.next(&error(ErrorKind::NoCompletion), tries, NOW);
    assert!(matches!(next, Next::Wait { effort: Effort::AsSet, .. }), "{next:?}");
    let tries = Tries { retries_made: retries, ..tries };
    assert_eq!(ladder.next(&error(ErrorKind::NoCompletion), tries, NOW), Next::Halt);
}

#[test]
fn a_request_that_will_have_another_form_is_made_again_at_once_and_counts_as_a_retry() {
    let ladder = Ladder::coding();
    let dialect = paced(ErrorKind::Dialect, Duration::from_mins(1));
    let next = ladder.next(&dialect, tries(0), NOW);
    assert_eq!(next, Next::Wait { until: NOW, effort: Effort::AsSet });
    assert_eq!(ladder.next(&dialect, tries(6), NOW), Next::Halt);
}

/// The wall clock of a turn's retries bounds every ladder, the unlimited one too.
#[rstest]
#[case(0, 30, true)]
#[case(29, 31, true)]
#[case(30, 31, false)]
#[case(0, 61, false)]
#[case(90, 1, false)]
fn no_retry_begins_after_patience_is_at_its_end(
    #[case] since_seconds: i64,
    #[case] pacing_seconds: u64,
    #[case] retried: bool,
) {
    let ladder = Ladder { patience: Some(Duration::from_mins(1)), ..Ladder::unattended() };
    let now = NOW + SignedDuration::from_secs(since_seconds);
    let limited = paced(ErrorKind::Limited, Duration::from_secs(pacing_seconds));
    let next = ladder.next(&limited, tries(50), now);
    assert_eq!(next != Next::Halt, retried, "{next:?}");
}

proptest! {
    /// KERN-18: from 500 ms to 32 s, twice as long each time, never the same for all.
    #[test]
    fn a_computed_wait_lies_between_half_and_all_of_its_step(retries_made in 0_u32..200, seed: u64) {
        let step = Duration::from_secs(1 << retries_made.min(5)).min(LONGEST_WAIT);
        let tries = Tries { seed, ..tries(retries_made) };
        let waited = backoff(tries);
        prop_assert!(waited >= step / 2 && waited <= step, "{waited:?} of {step:?}");
        prop_assert!(waited >= SHORTEST_WAIT && waited <= LONGEST_WAIT);
        prop_assert_eq!(waited, backoff(tries));
    }
}
