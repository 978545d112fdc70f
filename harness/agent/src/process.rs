//! The life of a harness process, from `harness started` to `harness stopped`.

use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use foundry_client::LogLevel;
use foundry_platform::api::Api;
use foundry_platform::clock::Clock;
use foundry_platform::events::{event_log, kind};
use foundry_platform::heartbeat::{self, Vitals};
use foundry_platform::inbox::Inbox;
use foundry_platform::relay::Broker;
use foundry_platform::runs::Recorder;
use foundry_platform::tools;
use serde_json::json;
use tokio::sync::watch;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::agent::{Agent, Mind};
use crate::wakes::Wakes;

/// How long the last run records may take to be stored.
const LAST_RECORDS: Duration = Duration::from_secs(1);
/// How long the last log lines may take to be posted.
const LAST_LINES: Duration = Duration::from_secs(3);

/// What a process is made of; all I/O comes in here.
pub struct Parts {
    /// The API, as this agent sees it.
    pub api: Arc<dyn Api>,
    /// What answers model calls.
    pub broker: Arc<dyn Broker>,
    /// The time.
    pub clock: Clock,
    /// Where event lines go.
    pub output: Box<dyn Write + Send>,
    /// Id of the agent.
    pub agent_id: String,
    /// Namespace of the agent.
    pub agent_namespace: String,
    /// From the start of one evaluation to the start of the next.
    pub evaluate_every: Duration,
    /// Between two heartbeats.
    pub heartbeat_every: Duration,
}

/// Runs the agent until `stop`. Then the run in flight is called off, what is still to
/// be told is told, and nothing is waited for longer than a few seconds.
pub async fn run(parts: Parts, stop: CancellationToken) {
    let Parts {
        api,
        broker,
        clock,
        output,
        agent_id,
        agent_namespace,
        evaluate_every,
        heartbeat_every,
    } = parts;
    let (log, shipper) = event_log(clock.clone(), output, api.clone());
    let process_id = Uuid::now_v7();
    let vitals = Arc::new(Vitals::new(process_id));
    let runs = Arc::new(Recorder::new(api.clone(), log.clone()));
    let (active, watching) = watch::channel(false);
    let inbox = Inbox { api: api.clone(), log: log.clone(), runs: runs.clone(), active: watching };
    let beating = heartbeat::run(
        api.clone(),
        log.clone(),
        clock.clone(),
        vitals.clone(),
        heartbeat_every,
        stop.clone(),
    );
    let agent = Agent {
        executors: tools::executors(&api),
        api,
        broker,
        log: log.clone(),
        clock,
        vitals,
        runs: runs.clone(),
        active,
        stop: stop.clone(),
        mind: Mutex::new(Mind::default()),
    };

    // The first event of a process (LOOP-02).
    let started = json!({
        "agent": agent_id,
        "namespace": agent_namespace,
        "process_id": process_id,
        "version": env!("CARGO_PKG_VERSION"),
    });
    log.write(kind::STARTED, LogLevel::Info, "harness started", Some(started));

    let told = CancellationToken::new();
    let living = async {
        let mut wakes = Wakes::of(&agent);
        tokio::join!(
            beating,
            agent.keep_evaluating(evaluate_every),
            inbox.drain(&mut wakes, &stop)
        );
        // A record that is not stored by then is lost; its wake is not.
        drop(timeout(LAST_RECORDS, runs.store()).await);
        log.info(kind::STOPPED, "harness stopped");
        told.cancel();
    };
    tokio::join!(living, shipper.run(told.clone(), LAST_LINES));
}

#[cfg(test)]
mod tests;
