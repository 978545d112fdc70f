//! What an agent's process does with its life: one task, or one after another.

use std::sync::Arc;
use std::time::Duration;

use foundry_client::{AgentView, ClientError, Lifetime};
use foundry_platform::api::Api;
use foundry_platform::clock::Clock;
use foundry_platform::events::{EventLog, kind};
use foundry_platform::heartbeat::Vitals;
use foundry_platform::relay::Broker;
use foundry_platform::rest;
use foundry_platform::retry::Backoff;
use foundry_platform::runs::Recorder;
use foundry_platform::settings::ModelSettings;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;

use super::process::{Exit, Ground};

/// First and longest wait while the agent cannot be read.
const WAITS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(15));

/// A process of one agent.
pub(crate) struct Life {
    pub api: Arc<dyn Api>,
    pub broker: Arc<dyn Broker>,
    pub model: ModelSettings,
    pub runs: Arc<Recorder>,
    pub log: EventLog,
    pub clock: Clock,
    pub vitals: Arc<Vitals>,
    pub start_number: i64,
    pub ground: Ground,
    pub stop: CancellationToken,
}

impl Life {
    pub(crate) async fn live(&self) -> Exit {
        let Some(agent) = self.stop.run_until_cancelled(self.agent()).await else {
            return Exit::Well;
        };
        match agent.lifetime {
            Lifetime::Ephemeral => self.once(agent).await,
            Lifetime::Persistent => {
                self.serve().await;
                Exit::Well
            }
        }
    }

    /// The agent, once it can be read.
    pub(crate) async fn agent(&self) -> AgentView {
        let agent = self.patiently(|| self.api.agent()).await;
        self.vitals.set_generation(agent.generation);
        agent
    }

    /// Asks until there is an answer, however long that takes; says once that there is none.
    pub(crate) async fn patiently<T, F>(&self, ask: impl Fn() -> F) -> T
    where
        F: Future<Output = Result<T, ClientError>>,
    {
        let mut backoff = Backoff::new(WAITS.0, WAITS.1);
        loop {
            match ask().await {
                Ok(answer) => {
                    if backoff.succeeded() {
                        self.log.info(kind::API, "the api answers again");
                    }
                    return answer;
                }
                Err(error) => {
                    if !backoff.is_failing() {
                        self.log.error(&error.to_string());
                    }
                    sleep(backoff.failed()).await;
                }
            }
        }
    }
}

/// Why the agent should do nothing, if it should not.
pub(crate) fn why_not(agent: &AgentView) -> Option<&'static str> {
    rest::why_not(agent, "a coding agent cannot be woken on demand")
}
