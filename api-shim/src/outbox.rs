//! What must still reach somewhere else: each topic of the outbox has one courier, who
//! tries until it is done.

use std::{sync::Arc, time::Duration};

use async_trait::async_trait;
use foundry_store::{AgentKey, Delivery, NewDelivery, Store};
use futures::future::join_all;
use serde_json::Value;
use tokio::sync::Notify;
use tokio_util::sync::CancellationToken;

use crate::{app::Clock, problem::Problem};

/// How often the outbox is looked at when nobody rings: for tries that failed and for
/// rows of another replica that died.
const SWEEP: Duration = Duration::from_secs(5);
/// How long one delivery may take.
const DELIVERY: Duration = Duration::from_secs(4);
/// When another may try what was taken and not settled: soon after a process that was
/// killed, but not while a delivery may be under way.
const LEASE: Duration = Duration::from_secs(5);
/// Deliveries taken at once, and made beside each other.
const BATCH: u32 = 8;

/// Where the deliveries of one topic go.
#[async_trait]
pub trait Destination: Send + Sync + 'static {
    /// The topic.
    const TOPIC: &'static str;
    /// Longest wait between two tries.
    const LONGEST_WAIT: Duration;

    /// Delivers one; what is said instead is why it must be tried again.
    async fn deliver(&self, delivery: &Delivery) -> Result<(), String>;
}

/// Carries the deliveries of one topic. Clones share their bell.
pub struct Courier<D> {
    store: Store,
    clock: Clock,
    bell: Arc<Notify>,
    destination: Arc<D>,
}

impl<D> Clone for Courier<D> {
    fn clone(&self) -> Self {
        Self {
            store: self.store.clone(),
            clock: self.clock.clone(),
            bell: self.bell.clone(),
            destination: self.destination.clone(),
        }
    }
}

impl<D: Destination> Courier<D> {
    /// A courier; [`Courier::run`] does the work.
    pub fn new(store: Store, clock: Clock, destination: D) -> Self {
        Self { store, clock, bell: Arc::default(), destination: Arc::new(destination) }
    }

    /// Asks for a delivery about this agent. What is delivered is read when it is: one
    /// row an agent.
    pub async fn request(&self, key: &AgentKey) -> Result<(), Problem> {
        let delivery = NewDelivery {
            topic: D::TOPIC.to_owned(),
            subject: "status".to_owned(),
            payload: Value::Null,
        };
        self.store.push_outbox(key, &delivery, self.clock.now()).await?;
        self.ring();
        Ok(())
    }

    /// Says that something is in the outbox.
    pub fn ring(&self) {
        self.bell.notify_one();
    }

    /// Delivers until shutdown.
    pub async fn run(self, shutdown: CancellationToken) {
        while !shutdown.is_cancelled() {
            match self.store.claim_outbox(D::TOPIC, self.clock.now(), LEASE, BATCH).await {
                Ok(due) if !due.is_empty() => {
                    join_all(due.iter().map(|delivery| self.settle(delivery))).await;
                    continue;
                }
                Ok(_) => {}
                Err(error) => {
                    tracing::warn!(topic = D::TOPIC, cause = %error, "failed to read the outbox");
                }
            }
            tokio::select! {
                () = self.bell.notified() => {}
                () = tokio::time::sleep(SWEEP) => {}
                () = shutdown.cancelled() => {}
            }
        }
    }

    async fn settle(&self, delivery: &Delivery) {
        let delivered = tokio::time::timeout(DELIVERY, self.destination.deliver(delivery)).await;
        let delivered = delivered.unwrap_or_else(|_| Err("it took too long".to_owned()));
        let settled = match delivered {
            Ok(()) => self.store.complete_outbox(delivery, self.clock.now()).await,
            Err(words) => {
                // One that is refused for ever is told ever more seldom.
                if is_told(delivery.attempts) {
                    tracing::warn!(topic = D::TOPIC, agent.name = %delivery.key.agent,
                        cause = %words, attempts = delivery.attempts + 1,
                        "failed to deliver; it is tried again");
                }
                let (longest, now) = (D::LONGEST_WAIT, self.clock.now());
                self.store.fail_outbox(delivery, &words, longest, now).await
            }
        };
        if let Err(error) = settled {
            tracing::warn!(cause = %error, "failed to settle an outbox row; its lease will end");
        }
    }
}

/// Whether the log hears of a failure after so many: of the first, the second, the fourth
/// and so on.
fn is_told(failures: i64) -> bool {
    u64::try_from(failures).is_ok_and(|failures| (failures + 1).is_power_of_two())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn what_fails_every_five_seconds_for_a_day_is_a_few_lines() {
        let told = (0..17_280).filter(|failures| is_told(*failures)).collect::<Vec<_>>();
        assert_eq!((told.len(), &told[..4]), (15, &[0, 1, 3, 7][..]));
    }
}
