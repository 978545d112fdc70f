use pretty_assertions::assert_eq;
use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::scenes::{NOW, error};

fn tries(retries_made: u32) -> Tries {
    Tries { retries_made, seed: 7 }
}

fn paced(kind: ErrorKind, pacing: Duration) -> LlmError {
    LlmError { retry_after: Some(pacing), ..error(kind) }
}

fn wait(next: Next) -> Option<Duration> {
    match next {
        Next::Wait { until } => Some(Duration::try_from(until.duration_since(NOW)).unwrap()),
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

#[test]
fn a_pacing_beyond_time_waits_until_its_end() {
    let next = Ladder::coding().next(&paced(ErrorKind::Limited, Duration::MAX), tries(0), NOW);
    assert_eq!(next, Next::Wait { until: Timestamp::MAX });
}

proptest! {
    /// KERN-18: from 500 ms to 32 s, twice as long each time, never the same for all.
    #[test]
    fn a_computed_wait_lies_between_half_and_all_of_its_step(retries_made in 0_u32..200, seed: u64) {
        let step = Duration::from_secs(1 << retries_made.min(5)).min(LONGEST_WAIT);
        let waited = backoff(Tries { retries_made, seed });
        prop_assert!(waited >= step / 2 && waited <= step, "{waited:?} of {step:?}");
        prop_assert!(waited >= SHORTEST_WAIT && waited <= LONGEST_WAIT);
        prop_assert_eq!(waited, backoff(Tries { retries_made, seed }));
    }
}
