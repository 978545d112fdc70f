//! The life of a harness process: it thinks on a rhythm and drains its inbox beside that.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use foundry_platform::inbox::Inbox;
use foundry_platform::process::{Channels, Process};
use foundry_platform::relay::Broker;
use foundry_platform::settings::ModelSettings;
use foundry_platform::tools;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::agent::{Agent, Mind};
use crate::wakes::Wakes;

/// What a process is made of; all I/O comes in here.
pub struct Parts {
    /// What every harness process is made of.
    pub process: Process,
    /// What answers model calls.
    pub broker: Arc<dyn Broker>,
    /// How the model is used.
    pub model: ModelSettings,
    /// From the start of one evaluation to the start of the next.
    pub evaluate_every: Duration,
}

/// Runs the agent until `stop`. Then the run in flight is called off, what is still to
/// be told is told, and nothing is waited for longer than a few seconds.
pub async fn run(parts: Parts, stop: CancellationToken) {
    let Parts { process, broker, model, evaluate_every } = parts;
    let (api, clock) = (process.api.clone(), process.clock.clone());
    let working = |channels: Channels| async {
        let Channels { log, vitals, runs } = channels;
        let (active, watching) = watch::channel(false);
        let inbox =
            Inbox { api: api.clone(), log: log.clone(), runs: runs.clone(), active: watching };
        let agent = Agent {
            executors: tools::executors(&api),
            api,
            broker,
            model,
            log,
            clock,
            vitals,
            runs,
            active,
            stop: stop.clone(),
            mind: Mutex::new(Mind::default()),
        };
        let mut wakes = Wakes::of(&agent);
        tokio::join!(agent.keep_evaluating(evaluate_every), inbox.drain(&mut wakes, &stop));
    };
    process.live(&stop, working).await;
}

#[cfg(test)]
mod tests;
