use std::time::Duration;

use jiff::Timestamp;
use pretty_assertions::assert_eq;
use tokio::task::JoinHandle;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::*;
use crate::fake::FakeApi;

/// What was written to the output, shared with the log under test.
#[derive(Clone, Default)]
struct Output(Arc<Mutex<Vec<u8>>>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

impl Output {
    fn events(&self) -> Vec<LogEvent> {
        let bytes = self.0.lock().unwrap().clone();
        let text = String::from_utf8(bytes).unwrap();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    }
}

struct Setup {
    api: Arc<FakeApi>,
    output: Output,
    log: EventLog,
    shipper: Option<Shipper>,
    stop: CancellationToken,
}

impl Setup {
    fn new() -> Self {
        let api = Arc::new(FakeApi::default());
        let output = Output::default();
        let clock = Clock::new(|| Timestamp::UNIX_EPOCH);
        let (log, shipper) = event_log(clock, Box::new(output.clone()), api.clone());
        Self { api, output, log, shipper: Some(shipper), stop: CancellationToken::new() }
    }

    fn ship(&mut self) -> JoinHandle<()> {
        let shipper = self.shipper.take().unwrap();
        let stop = self.stop.clone();
        tokio::task::spawn_local(shipper.run(stop, Duration::from_secs(5)))
    }

    async fn stop(self, shipping: JoinHandle<()>) {
        self.stop.cancel();
        shipping.await.unwrap();
    }
}

async fn locally<T>(test: impl Future<Output = T>) -> T {
    tokio::task::LocalSet::new().run_until(test).await
}

/// LOOP-01
#[tokio::test(start_paused = true)]
async fn each_event_is_a_line_on_the_output_and_the_same_event_in_the_agents_log() {
    locally(async {
        let mut setup = Setup::new();
        let shipping = setup.ship();
        setup.log.info("started", "harness started");
        setup.log.write("tool", LogLevel::Info, "two\nlines", Some(serde_json::json!({"n": 1})));
        sleep(Duration::from_secs(1)).await;
        let (api, output) = (setup.api.clone(), setup.output.clone());
        setup.stop(shipping).await;
        assert_eq!(output.events(), api.state().events);
        assert_eq!(api.messages(), ["harness started", "two\nlines"]);
        assert_eq!(api.times("post logs").len(), 1, "one batch");
    })
    .await;
}

/// LOOP-24
#[test]
fn a_failure_is_of_kind_error() {
    let setup = Setup::new();
    setup.log.error("broker relay failed: HTTP 502: bad gateway");
    let [event] = setup.output.events().try_into().unwrap();
    assert_eq!((event.kind.as_str(), event.level), ("error", LogLevel::Error));
}

/// LOOP-22
#[test]
fn phone_numbers_reach_neither_the_output_nor_the_log() {
    let setup = Setup::new();
    let data = serde_json::json!({ "to": "+4930901820" });
    setup.log.write("tool", LogLevel::Info, "call +49 30 901820", Some(data));
    let [event] = setup.output.events().try_into().unwrap();
    assert_eq!(event.message, "call [phone number]");
    assert_eq!(event.data, Some(serde_json::json!({ "to": "[phone number]" })));
}

/// LOOP-01
#[tokio::test(start_paused = true)]
async fn events_wait_while_the_api_is_away_and_arrive_in_order_once_it_is_back() {
    locally(async {
        let mut setup = Setup::new();
        let shipping = setup.ship();
        setup.api.fail("post logs", 503, "starting");
        for n in 0..1_200 {
            setup.log.info("step", &format!("event {n}"));
            if n % 100 == 0 {
                sleep(Duration::from_secs(1)).await;
            }
        }
        setup.api.heal("post logs");
        sleep(Duration::from_secs(20)).await;
        let api = setup.api.clone();
        setup.stop(shipping).await;
        let expected = (0..1_200).map(|n| format!("event {n}")).collect::<Vec<_>>();
        assert_eq!(api.messages(), expected);
    })
    .await;
}

/// LOOP-01
#[tokio::test(start_paused = true)]
async fn past_the_bound_the_oldest_go_and_the_log_says_how_many() {
    locally(async {
        let mut setup = Setup::new();
        let surplus = 7;
        for n in 0..queue::EVENTS + surplus {
            setup.log.info("step", &format!("event {n}"));
        }
        let shipping = setup.ship();
        sleep(Duration::from_secs(1)).await;
        let (api, output) = (setup.api.clone(), setup.output.clone());
        setup.stop(shipping).await;
        let messages = api.messages();
        assert_eq!(messages[0], format!("event {surplus}"));
        assert!(
            messages.contains(&format!(
                "{surplus} older events are on the output alone: too many waited"
            )),
            "{:?}",
            messages.last()
        );
        assert_eq!(output.events().len(), queue::EVENTS + surplus + 1, "the output has them all");
    })
    .await;
}

/// LOOP-01
#[tokio::test(start_paused = true)]
async fn an_event_the_api_refuses_does_not_hold_up_the_others() {
    locally(async {
        let mut setup = Setup::new();
        setup.log.info("step", "bad");
        setup.log.info("step", "also bad");
        setup.api.fail("post logs", 422, "unknown kind");
        let shipping = setup.ship();
        sleep(Duration::from_secs(1)).await;
        setup.api.heal("post logs");
        setup.log.info("step", "good");
        sleep(Duration::from_secs(1)).await;
        let (api, output) = (setup.api.clone(), setup.output.clone());
        setup.stop(shipping).await;
        assert_eq!(api.messages(), ["good"]);
        let told = output.events().into_iter().filter(|event| event.kind == "error").count();
        assert_eq!(told, 2, "each is told on the output");
    })
    .await;
}

/// LOOP-01
#[tokio::test(start_paused = true)]
async fn what_waits_at_the_end_is_flushed_and_a_dead_api_does_not_hold_the_process() {
    locally(async {
        let mut setup = Setup::new();
        let shipping = setup.ship();
        setup.log.info("stopped", "harness stopped");
        let api = setup.api.clone();
        setup.stop(shipping).await;
        assert_eq!(api.messages(), ["harness stopped"]);

        let mut setup = Setup::new();
        let shipping = setup.ship();
        setup.api.fail("post logs", 503, "gone");
        setup.log.info("stopped", "harness stopped");
        let began = tokio::time::Instant::now();
        setup.stop(shipping).await;
        assert_eq!(began.elapsed(), Duration::from_secs(5));
    })
    .await;
}

#[test]
fn long_messages_and_data_are_bounded() {
    let setup = Setup::new();
    let data = serde_json::json!({ "all": "x".repeat(2 * DATA_BYTES) });
    setup.log.write("tool", LogLevel::Info, &"y".repeat(2 * MESSAGE_BYTES), Some(data));
    let [event] = setup.output.events().try_into().unwrap();
    assert_eq!(event.message.len(), MESSAGE_BYTES);
    assert_eq!(event.data.unwrap()["truncated"], serde_json::json!(true));
}

/// LOOP-01
#[tokio::test(start_paused = true)]
async fn a_refused_batch_whose_events_cannot_be_stored_either_is_tried_again_with_patience() {
    locally(async {
        let mut setup = Setup::new();
        setup.log.info("step", "bad");
        setup.log.info("step", "good");
        setup.api.fail("post logs", 422, "unknown kind");
        setup.api.fail("post one event", 503, "starting");
        let shipping = setup.ship();
        sleep(Duration::from_secs(10)).await;
        let posts = setup.api.times("post one event").len();
        assert!((1..10).contains(&posts), "{posts} posts in ten seconds");
        setup.api.heal("post logs");
        setup.api.heal("post one event");
        let api = setup.api.clone();
        setup.stop(shipping).await;
        assert_eq!(api.messages(), ["bad", "good"]);
    })
    .await;
}
