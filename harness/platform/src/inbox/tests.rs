use foundry_client::RunRecord;
use jiff::Timestamp;
use pretty_assertions::assert_eq;
use uuid::Uuid;

use super::*;
use crate::clock::Clock;
use crate::events::event_log;
use crate::fake::FakeApi;

/// Handles wakes and acknowledges them, or leaves them pending.
struct Handling {
    seen: Vec<Uuid>,
    acknowledge: bool,
}

#[async_trait]
impl Handler for Handling {
    async fn handle(&mut self, wake: &Wake) -> Option<RunRecord> {
        self.seen.push(wake.id);
        let number = self.seen.len() as u128;
        Some(record(number, self.acknowledge.then_some(wake.id)))
    }
}

fn record(number: u128, wake_id: Option<Uuid>) -> RunRecord {
    RunRecord {
        id: Uuid::from_u128(number),
        wake_id,
        reason: "wake".to_owned(),
        started_at: Timestamp::UNIX_EPOCH,
        finished_at: Timestamp::UNIX_EPOCH,
        turns: 1,
        input_tokens: 0,
        output_tokens: 0,
        outcome: "end_turn".to_owned(),
    }
}

struct Setup {
    api: Arc<FakeApi>,
    active: watch::Sender<bool>,
    inbox: Inbox,
    stop: CancellationToken,
}

fn setup(active: bool) -> Setup {
    let api = Arc::new(FakeApi::default());
    let clock = Clock::new(|| Timestamp::UNIX_EPOCH);
    let (log, _shipper) = event_log(clock, Box::new(std::io::sink()), api.clone());
    let (active, watching) = watch::channel(active);
    let runs = Arc::new(Recorder::new(api.clone(), log.clone()));
    let inbox = Inbox { api: api.clone(), log, runs, active: watching };
    Setup { api, active, inbox, stop: CancellationToken::new() }
}

async fn drain_for(setup: Setup, acknowledge: bool, time: Duration) -> Vec<Uuid> {
    let mut handler = Handling { seen: Vec::new(), acknowledge };
    let stop = setup.stop.clone();
    tokio::join!(setup.inbox.drain(&mut handler, &setup.stop), async {
        sleep(time).await;
        stop.cancel();
    });
    drop(setup.active);
    handler.seen
}

/// LOOP-28
#[tokio::test(start_paused = true)]
async fn a_handled_wake_is_acknowledged_by_its_run_record() {
    let setup = setup(true);
    let api = setup.api.clone();
    let wake = api.wake("hello");
    assert_eq!(drain_for(setup, true, Duration::from_mins(1)).await, [wake]);
    assert_eq!(api.state().runs.len(), 1);
    assert!(api.state().wakes.is_empty());
}

/// LOOP-28
#[tokio::test(start_paused = true)]
async fn a_wake_whose_record_does_not_name_it_is_handed_out_again() {
    let setup = setup(true);
    let api = setup.api.clone();
    let wake = api.wake("hello");
    assert_eq!(drain_for(setup, false, Duration::from_millis(2_500)).await, [wake; 3]);
    assert_eq!(api.state().wakes.len(), 1);
}

#[tokio::test(start_paused = true)]
async fn a_stopped_agent_leaves_its_wakes_in_the_inbox() {
    let setup = setup(false);
    let api = setup.api.clone();
    api.wake("hello");
    assert_eq!(drain_for(setup, true, Duration::from_mins(10)).await, [] as [Uuid; 0]);
    assert_eq!(api.times("poll inbox").len(), 0);
}

/// LOOP-28
#[tokio::test(start_paused = true)]
async fn a_record_that_cannot_be_stored_yet_is_stored_before_the_inbox_is_read_again() {
    let setup = setup(true);
    let api = setup.api.clone();
    let wake = api.wake("hello");
    api.fail("record run", 503, "starting");
    let healer = api.clone();
    let (seen, ()) = tokio::join!(drain_for(setup, true, Duration::from_mins(2)), async move {
        sleep(Duration::from_mins(1)).await;
        assert_eq!(healer.times("poll inbox").len(), 1);
        healer.heal("record run");
    });
    assert_eq!(seen, [wake], "handled once");
    assert_eq!(api.state().runs.len(), 1);
}

/// Takes its time, and acknowledges each wake.
struct Slow {
    takes: Duration,
}

#[async_trait]
impl Handler for Slow {
    async fn handle(&mut self, wake: &Wake) -> Option<RunRecord> {
        sleep(self.takes).await;
        Some(record(1, Some(wake.id)))
    }
}

/// A stop after a second, while a handler works that takes as long as this; what is stored
/// then, and how long the end took.
async fn stopped_in_the_middle_of(takes: Duration) -> (Arc<FakeApi>, Duration) {
    let Setup { api, active, inbox, stop } = setup(true);
    api.wake("hello");
    let runs = inbox.runs.clone();
    let began = Instant::now();
    let mut handler = Slow { takes };
    tokio::join!(inbox.drain(&mut handler, &stop), async {
        sleep(Duration::from_secs(1)).await;
        stop.cancel();
    });
    let took = began.elapsed();
    drop(active);
    // As a process does at its end.
    runs.store().await.unwrap();
    (api, took)
}

/// LOOP-28
#[tokio::test(start_paused = true)]
async fn work_that_ends_moments_after_a_stop_is_acknowledged_and_not_done_again() {
    let (api, took) = stopped_in_the_middle_of(Duration::from_secs(3)).await;
    assert_eq!(took, Duration::from_secs(3));
    assert_eq!(api.state().runs.len(), 1);
    assert!(api.state().wakes.is_empty());
}

#[tokio::test(start_paused = true)]
async fn work_without_end_does_not_hold_up_a_stop() {
    let (api, took) = stopped_in_the_middle_of(Duration::from_hours(1)).await;
    assert_eq!(took, Duration::from_secs(1) + LAST_MOMENTS);
    assert_eq!(api.state().wakes.len(), 1, "it is handed out again");
}

/// LOOP-28
#[tokio::test(start_paused = true)]
async fn a_wake_handled_while_another_record_is_on_its_way_is_not_lost_to_a_stop() {
    let Setup { api, active, inbox, stop } = setup(true);
    let wake = api.wake("hello");
    api.state().slow.insert("record run", Duration::from_secs(10));
    let runs = inbox.runs.clone();
    let mut handler = Handling { seen: Vec::new(), acknowledge: true };
    runs.push(record(7, None));
    tokio::join!(stop.run_until_cancelled(runs.store()), inbox.drain(&mut handler, &stop), async {
        sleep(Duration::from_secs(1)).await;
        stop.cancel();
    });
    drop(active);
    assert_eq!(handler.seen, [wake]);
    runs.store().await.unwrap();
    assert_eq!(api.state().runs.len(), 2);
}

/// Sees its agent stopped by a person in the middle of its first wake.
struct Stopped {
    active: watch::Sender<bool>,
    seen: Vec<Uuid>,
}

#[async_trait]
impl Handler for Stopped {
    async fn handle(&mut self, wake: &Wake) -> Option<RunRecord> {
        self.seen.push(wake.id);
        self.active.send_replace(false);
        None
    }
}

/// LIFE-17
#[tokio::test(start_paused = true)]
async fn wakes_that_were_read_before_an_agent_was_stopped_stay_in_the_inbox() {
    let Setup { api, active, inbox, stop } = setup(true);
    let first = api.wake("one");
    api.wake("two");
    let mut handler = Stopped { active, seen: Vec::new() };
    tokio::join!(inbox.drain(&mut handler, &stop), async {
        sleep(Duration::from_mins(1)).await;
        stop.cancel();
    });
    assert_eq!(handler.seen, [first]);
    assert_eq!(api.state().wakes.len(), 2);
}

/// LOOP-26
#[tokio::test(start_paused = true)]
async fn an_inbox_that_fails_is_asked_again_without_spinning() {
    let setup = setup(true);
    let api = setup.api.clone();
    api.fail("poll inbox", 403, "not yours");
    drain_for(setup, true, Duration::from_mins(5)).await;
    let tries = api.times("poll inbox").len();
    assert!((10..20).contains(&tries), "{tries} tries in five minutes");
}

/// LOOP-26
#[test]
fn a_wake_tells_who_woke_the_agent_and_what_was_said() {
    let wake = Wake {
        id: Uuid::nil(),
        source: "mail".to_owned(),
        text: Some(" Please look. \n".to_owned()),
        message_id: Some("m1".to_owned()),
        thread_id: None,
        addressed_to: None,
        created_at: Timestamp::UNIX_EPOCH,
    };
    assert_eq!(
        woken_by(&wake),
        "You were woken at 1970-01-01T00:00:00Z by mail. It is about message m1.\n\
         What was said:\nPlease look."
    );
    let handed_on = Wake { addressed_to: Some("scout-mapper".to_owned()), text: None, ..wake };
    assert_eq!(
        woken_by(&handed_on),
        "You were woken at 1970-01-01T00:00:00Z by mail. It is about message m1. \
         It was for scout-mapper, an agent under you that is over; answer in its place.",
        "LIFE-18"
    );
}
