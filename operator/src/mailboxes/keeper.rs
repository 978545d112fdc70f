//! The task that calls the service.

use std::collections::BTreeMap;
use std::time::Duration;

use futures::StreamExt as _;
use futures::stream::FuturesUnordered;
use kube::Resource as _;
use tokio::time::Instant;

use super::Mailboxes;
use super::book::{End, Next, Service};
use super::people::Answer;
use crate::agent::AgentId;
use crate::caches::Caches;
use crate::metrics::Metrics;

/// Calls at once.
const AT_ONCE: usize = 4;
/// How often agents that are gone are looked for.
const SWEEP: Duration = Duration::from_mins(5);

impl Mailboxes {
    /// Registers whoever asks, for as long as it is polled. What is under way when it is
    /// dropped is asked for again by the next leader: registering twice is as good as once.
    pub async fn keep(&self, caches: &BTreeMap<String, Caches>, metrics: &Metrics) {
        let mut calls = FuturesUnordered::new();
        let mut sweep = tokio::time::interval(SWEEP);
        loop {
            let next = self.book().next(AT_ONCE, Instant::now());
            let until = match next {
                Next::Call(agent, _) if !is_there(caches, &agent) => {
                    self.book().give_back(&agent);
                    continue;
                }
                Next::Call(agent, person) => {
                    calls.push(async move {
                        let answer = self.people.register(&person).await;
                        (agent, person, answer)
                    });
                    continue;
                }
                Next::At(instant) => Some(instant),
                Next::Wait => None,
            };
            tokio::select! {
                Some((agent, person, answer)) = calls.next() => {
                    metrics.mailbox_called(word(&answer));
                    if let Answer::Trouble { why, .. } = &answer {
                        tracing::debug!(agent = agent.name, %why, "a mailbox was not registered");
                    }
                    let end = self.book().finish(&agent, &person, answer, Instant::now());
                    self.tell(&agent, &end);
                }
                () = self.asked.notified() => {}
                () = sleep_until(until) => {}
                _ = sweep.tick() => self.book().keep_only(|agent| is_there(caches, agent)),
            }
        }
    }

    fn tell(&self, agent: &AgentId, End { is_news, service }: &End) {
        match service {
            Service::AsBefore => {}
            Service::HeldBack(pause) => {
                let (seconds, waiting) = (pause.as_secs(), self.waiting());
                let why = self.book().breaker.trouble(Instant::now()).map(ToString::to_string);
                tracing::warn!(
                    seconds,
                    waiting,
                    why,
                    "the people service is in trouble; mailboxes wait"
                );
            }
            Service::Back => tracing::info!("the people service answers again"),
        }
        if *is_news && let Some(wakes) = self.wakes.get(&agent.namespace) {
            wakes.wake([agent.name.clone()]);
        }
    }
}

/// Whether this very agent is still there.
fn is_there(caches: &BTreeMap<String, Caches>, agent: &AgentId) -> bool {
    let AgentId { namespace, name, uid } = agent;
    caches
        .get(namespace)
        .and_then(|caches| caches.agents.get(namespace, name))
        .is_some_and(|agent| agent.meta().uid.as_deref() == Some(uid))
}

async fn sleep_until(instant: Option<Instant>) {
    match instant {
        Some(instant) => tokio::time::sleep_until(instant).await,
        None => std::future::pending().await,
    }
}

/// The outcome of a call, as metrics have it.
fn word(answer: &Answer) -> &'static str {
    match answer {
        Answer::Registered => "registered",
        Answer::Refused { .. } => "refused",
        Answer::Trouble { .. } => "unavailable",
    }
}
