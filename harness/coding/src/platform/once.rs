//! An ephemeral agent: its instructions are its one task, and its end is its own.

use std::time::Duration;

use foundry_client::{AgentView, ClientError};
use foundry_platform::events::kind as platform_kind;
use foundry_platform::retry::Backoff;
use tokio::time::{Instant, sleep, timeout_at};

use super::life::{Life, why_not};
use super::process::Exit;
use super::report::{Delivered, Reporter};
use super::work::Order;

/// First and longest wait while the API does not take the agent's end.
const WAITS: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(10));
/// How long it may take; then the sweep expires the agent at its time.
const EXPIRE_WITHIN: Duration = Duration::from_mins(2);
/// How long the run record may take.
const RECORD_WITHIN: Duration = Duration::from_secs(2);

impl Life {
    pub(crate) async fn once(&self, agent: AgentView) -> Exit {
        if let Some(why) = why_not(&agent) {
            self.log.info(platform_kind::REST, &format!("does nothing: {why}"));
            return Exit::Well;
        }
        let order = Order {
            text: agent.instructions.clone(),
            slug: agent.slug.clone(),
            instructions: None,
        };
        let mut reporter = Reporter::new(self.api.clone(), self.log.clone(), self.start_number);
        let worked = self.work(&agent, order, &mut reporter).await;
        let Some(result) = worked.tell(&self.log) else { return Exit::Well };
        match reporter.end(&worked.progress, &result, &self.stop).await {
            Delivered::Taken => {}
            // The agent is another start's now: its end is not ours to declare.
            Delivered::Superseded => return Exit::Well,
            Delivered::Lost => {
                self.log.error("the result was not brought to the api");
                return Exit::ResultLost;
            }
        }
        self.runs.push(worked.record(None, &result, self.clock.now()));
        // One that is not stored by then is lost; the result is not.
        drop(timeout_at(Instant::now() + RECORD_WITHIN, self.runs.store()).await);
        self.expire().await;
        Exit::Well
    }

    /// Expires the agent (LIFE-11, CODE-27). A stop of this process that comes meanwhile
    /// comes from that very end.
    async fn expire(&self) {
        let deadline = Instant::now() + EXPIRE_WITHIN;
        let expired = self.stop.run_until_cancelled(timeout_at(deadline, self.expire_at_last()));
        if let Some(Err(_) | Ok(Err(()))) = expired.await {
            self.log.error("the agent was not expired; it will be at its time to live");
        }
    }

    async fn expire_at_last(&self) -> Result<(), ()> {
        let mut backoff = Backoff::new(WAITS.0, WAITS.1);
        loop {
            match self.api.expire().await {
                Ok(()) => return Ok(()),
                Err(error) => {
                    if !backoff.is_failing() {
                        self.log.error(&error.to_string());
                    }
                    if !may_pass(&error) {
                        return Err(());
                    }
                    sleep(backoff.failed()).await;
                }
            }
        }
    }
}

fn may_pass(error: &ClientError) -> bool {
    error.is_transient() || matches!(error.status(), Some(401 | 403))
}
