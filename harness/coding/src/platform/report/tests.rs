use foundry_client::{CheckView, CodingOutcome, Failure, PullRequestView};
use foundry_platform::clock::Clock;
use foundry_platform::events::event_log;
use foundry_platform::fake::FakeApi;
use jiff::Timestamp;
use pretty_assertions::assert_eq;
use tokio::time::sleep;

use super::*;
use crate::task::ledger::Ledger;

fn reporter(api: &Arc<FakeApi>) -> Reporter {
    let clock = Clock::new(|| Timestamp::UNIX_EPOCH);
    let (log, _) = event_log(clock, Box::new(std::io::sink()), api.clone());
    Reporter::new(api.clone(), log, 2)
}

fn result() -> CodingResult {
    CodingResult { outcome: CodingOutcome::Completed, summary: "Fixed.".to_owned() }
}

/// Follows the ledger while `meanwhile` does what it does.
async fn follow(reporter: &mut Reporter, ledger: &Ledger, meanwhile: impl Future<Output = ()>) {
    let until = CancellationToken::new();
    let mut watch = ledger.watch();
    tokio::join!(reporter.follow(&mut watch, &until), async {
        meanwhile.await;
        until.cancel();
    });
}

#[tokio::test(start_paused = true)]
async fn what_changes_together_is_told_in_one_report_of_what_changed() {
    let api = Arc::new(FakeApi::default());
    let ledger = Ledger::default();
    let mut reporter = reporter(&api);
    follow(&mut reporter, &ledger, async {
        ledger.began("flow/fix", "c0ffee");
        ledger.attempt_began();
        sleep(Duration::from_secs(5)).await;
        ledger.checked("go test ./...", true, "");
        sleep(Duration::from_secs(5)).await;
    })
    .await;
    let first = CodingReport {
        generation: 2,
        branch: Some("flow/fix".to_owned()),
        base_commit: Some("c0ffee".to_owned()),
        head_commit: Some("c0ffee".to_owned()),
        attempts: Some(1),
        ..CodingReport::default()
    };
    let checks = vec![CheckView { name: "go test ./...".to_owned(), passed: true }];
    let second = CodingReport { generation: 2, checks: Some(checks), ..CodingReport::default() };
    assert_eq!(api.state().reports, [first, second]);
}

#[tokio::test(start_paused = true)]
async fn turns_alone_are_told_twice_a_minute_at_most() {
    let api = Arc::new(FakeApi::default());
    let ledger = Ledger::default();
    follow(&mut reporter(&api), &ledger, async {
        for _ in 0..300 {
            ledger.turn();
            sleep(Duration::from_secs(1)).await;
        }
    })
    .await;
    let reports = api.state().reports.len();
    assert!((9..=10).contains(&reports), "{reports} reports in five minutes");
}

#[tokio::test(start_paused = true)]
async fn changes_that_never_end_do_not_put_a_report_off_for_ever() {
    let api = Arc::new(FakeApi::default());
    let ledger = Ledger::default();
    follow(&mut reporter(&api), &ledger, async {
        ledger.began("flow/fix", "c0ffee");
        for _ in 0..20 {
            sleep(Duration::from_millis(100)).await;
            ledger.turn();
        }
    })
    .await;
    assert!(!api.state().reports.is_empty());
}

#[tokio::test(start_paused = true)]
async fn a_report_that_was_not_taken_is_made_good_and_its_failure_told_once() {
    let api = Arc::new(FakeApi::default());
    let ledger = Ledger::default();
    api.fail("report coding", 503, "away");
    follow(&mut reporter(&api), &ledger, async {
        ledger.began("flow/fix", "c0ffee");
        sleep(Duration::from_mins(2)).await;
        api.heal("report coding");
        sleep(Duration::from_mins(1)).await;
    })
    .await;
    assert_eq!(api.state().reports.len(), 1);
    assert!(api.times("report coding").len() < 15, "{:?}", api.times("report coding"));
}

#[tokio::test(start_paused = true)]
async fn the_result_says_all_again_and_is_told_until_it_is_taken() {
    let api = Arc::new(FakeApi::default());
    let ledger = Ledger::default();
    ledger.began("flow/fix", "c0ffee");
    ledger.head("decade");
    let pull_request = PullRequestView { url: "https://git.example/1".to_owned(), number: 1 };
    ledger.pull_request(pull_request.clone());
    api.fail("report coding", 503, "away");
    let mut reporter = reporter(&api);
    let stop = CancellationToken::new();
    let progress = ledger.progress();
    let result = result();
    let (delivered, ()) = tokio::join!(reporter.end(&progress, &result, &stop), async {
        sleep(Duration::from_mins(8)).await;
        api.heal("report coding");
    });
    assert_eq!(delivered, Delivered::Taken);
    let whole = CodingReport {
        generation: 2,
        branch: Some("flow/fix".to_owned()),
        base_commit: Some("c0ffee".to_owned()),
        head_commit: Some("decade".to_owned()),
        approved_plan_sha256: None,
        checks: Some(Vec::new()),
        attempts: Some(0),
        turns: Some(0),
        pull_request: Some(pull_request),
        result: Some(result),
    };
    assert_eq!(api.state().reports, [whole]);
}

#[tokio::test(start_paused = true)]
async fn a_result_that_is_not_taken_in_ten_minutes_is_lost() {
    let api = Arc::new(FakeApi::default());
    api.fail("report coding", 503, "away");
    let began = Instant::now();
    let stop = CancellationToken::new();
    let delivered = reporter(&api).end(&Progress::default(), &result(), &stop).await;
    assert_eq!((delivered, began.elapsed()), (Delivered::Lost, RESULT_WITHIN));
}

#[tokio::test(start_paused = true)]
async fn a_process_that_is_told_to_stop_tries_for_a_few_seconds_more() {
    let api = Arc::new(FakeApi::default());
    api.fail("report coding", 503, "away");
    let began = Instant::now();
    let stop = CancellationToken::new();
    stop.cancel();
    let delivered = reporter(&api).end(&Progress::default(), &result(), &stop).await;
    assert_eq!((delivered, began.elapsed()), (Delivered::Lost, LAST_MOMENTS));
}

/// LIFE-14
#[tokio::test(start_paused = true)]
async fn the_result_of_an_earlier_start_counts_for_nothing() {
    let api = Arc::new(FakeApi::default());
    let superseded = Failure::Status {
        status: 409,
        problem: "start 3 began".to_owned(),
        reason: Some("Superseded".to_owned()),
    };
    api.state().failing.insert("report coding", superseded);
    let stop = CancellationToken::new();
    let delivered = reporter(&api).end(&Progress::default(), &result(), &stop).await;
    assert_eq!(delivered, Delivered::Superseded);
    assert_eq!(api.times("report coding").len(), 1);
}

#[test]
fn what_is_too_long_for_the_api_is_cut() {
    let mut progress = Progress::default();
    progress.checks.push(CheckView { name: "é".repeat(600), passed: false });
    let long = CodingResult { summary: "é".repeat(10_000), ..result() };
    let report = whole(1, &progress, &long);
    assert!(report.checks.unwrap()[0].name.len() <= MAX_CHECK_NAME_BYTES);
    assert!(report.result.unwrap().summary.len() <= MAX_SUMMARY_BYTES);
}
