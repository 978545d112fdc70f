use jiff::Timestamp;
use pretty_assertions::assert_eq;
use tokio::time::{Instant, sleep};

use super::*;
use crate::events::event_log;
use crate::fake::FakeApi;

async fn beat_for(api: &Arc<FakeApi>, vitals: Vitals, time: Duration) -> Instant {
    let clock = Clock::new(|| Timestamp::UNIX_EPOCH);
    let (log, _shipper) = event_log(clock.clone(), Box::new(std::io::sink()), api.clone());
    let stop = CancellationToken::new();
    let began = Instant::now();
    tokio::join!(
        run(api.clone(), log, clock, Arc::new(vitals), Duration::from_secs(30), stop.clone()),
        async {
            sleep(time).await;
            stop.cancel();
        }
    );
    began
}

/// LOOP-02
#[tokio::test(start_paused = true)]
async fn a_heartbeat_comes_at_once_and_then_every_thirty_seconds() {
    let api = Arc::new(FakeApi::default());
    let began = beat_for(&api, Vitals::new(Uuid::nil()), Duration::from_secs(95)).await;
    let seconds = api.times("send heartbeat").iter().map(|at| (*at - began).as_secs()).collect();
    let seconds: Vec<u64> = seconds;
    assert_eq!(seconds, [0, 30, 60, 90]);
}

/// LOOP-02
#[tokio::test(start_paused = true)]
async fn a_failing_heartbeat_is_tried_again_on_its_rhythm() {
    let api = Arc::new(FakeApi::default());
    api.fail("send heartbeat", 503, "starting");
    beat_for(&api, Vitals::new(Uuid::nil()), Duration::from_secs(95)).await;
    assert_eq!(api.times("send heartbeat").len(), 4);
}

/// LOOP-02
#[tokio::test(start_paused = true)]
async fn a_heartbeat_tells_process_start_number_and_context() {
    let api = Arc::new(FakeApi::default());
    let vitals = Vitals::new(Uuid::from_u128(7));
    beat_for(&api, Vitals::new(Uuid::from_u128(7)), Duration::from_secs(1)).await;
    vitals.set_generation(3);
    vitals.set_context_percent(40);
    beat_for(&api, vitals, Duration::from_secs(1)).await;
    let first = Heartbeat {
        at: Timestamp::UNIX_EPOCH,
        process_id: Uuid::from_u128(7),
        generation: 0,
        context_percent: None,
    };
    let second = Heartbeat { generation: 3, context_percent: Some(40), ..first };
    assert_eq!(api.state().beats, [first, second]);
}
