//! The life of a harness process around its work, from `harness started` to
//! `harness stopped`.

use std::io::Write;
use std::sync::Arc;
use std::time::Duration;

use foundry_client::LogLevel;
use serde_json::json;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::api::Api;
use crate::clock::Clock;
use crate::events::{EventLog, event_log, kind};
use crate::heartbeat::{self, Vitals};
use crate::runs::Recorder;

/// How long the last run records may take to be stored.
const LAST_RECORDS: Duration = Duration::from_secs(1);
/// How long the last log lines may take to be posted.
const LAST_LINES: Duration = Duration::from_secs(3);

/// What every harness process is made of.
pub struct Process {
    /// The API, as this agent sees it.
    pub api: Arc<dyn Api>,
    /// The time.
    pub clock: Clock,
    /// Where event lines go.
    pub output: Box<dyn Write + Send>,
    /// Id of the agent.
    pub agent_id: String,
    /// Namespace of the agent.
    pub agent_namespace: String,
    /// The start this process was made for, where it is made for one alone.
    pub start_number: Option<i64>,
    /// Between two heartbeats.
    pub heartbeat_every: Duration,
}

/// By what the work of a process tells of itself.
#[derive(Clone)]
pub struct Channels {
    /// The event log.
    pub log: EventLog,
    /// What the heartbeat tells.
    pub vitals: Arc<Vitals>,
    /// Run records on their way.
    pub runs: Arc<Recorder>,
}

impl Process {
    /// Says that it started, gives signs of life while `work` works, and when that has
    /// ended brings away what is still to be told, for a few seconds at most. `stop` is
    /// the work's to heed; the heartbeat heeds it too.
    pub async fn live<T, W>(self, stop: &CancellationToken, work: impl FnOnce(Channels) -> W) -> T
    where
        W: Future<Output = T>,
    {
        let Self { api, clock, output, agent_id, agent_namespace, start_number, heartbeat_every } =
            self;
        let (log, shipper) = event_log(clock.clone(), output, api.clone());
        let process_id = Uuid::now_v7();
        let vitals = Arc::new(Vitals::new(process_id));
        // The first event of a process (LOOP-02).
        let mut started = json!({
            "agent": agent_id,
            "namespace": agent_namespace,
            "process_id": process_id,
            "version": env!("CARGO_PKG_VERSION"),
        });
        if let Some(number) = start_number {
            vitals.set_generation(number);
            started["start_number"] = json!(number);
        }
        log.write(kind::STARTED, LogLevel::Info, "harness started", Some(started));

        let runs = Arc::new(Recorder::new(api.clone(), log.clone()));
        let over = stop.child_token();
        let beating =
            heartbeat::run(api, log.clone(), clock, vitals.clone(), heartbeat_every, over.clone());
        // On the heap: it is large, and each frame it is handed through would hold it again.
        let working = Box::pin(work(Channels { log: log.clone(), vitals, runs: runs.clone() }));
        let told = CancellationToken::new();
        let living = async {
            let working = async {
                let came = working.await;
                over.cancel();
                came
            };
            // The heart first: its first beat follows the start (LOOP-02).
            let ((), came) = tokio::join!(beating, working);
            // A record that is not stored by then is lost; its wake is not.
            drop(timeout(LAST_RECORDS, runs.store()).await);
            log.info(kind::STOPPED, "harness stopped");
            told.cancel();
            came
        };
        let (came, ()) = tokio::join!(living, shipper.run(told.clone(), LAST_LINES));
        came
    }
}
