//! Wakes, beside the rhythm (LOOP-26): each is a run of its own.

use std::collections::BTreeMap;

use async_trait::async_trait;
use foundry_client::{RunRecord, Wake};
use foundry_platform::events::kind;
use foundry_platform::inbox::{Handler, woken_by};
use foundry_platform::text::instant;
use uuid::Uuid;

use crate::agent::Agent;
use crate::prompt;
use crate::think::{Ending, Purpose};

/// How often a wake is tried that the model refuses. A model may be set up wrongly, and
/// nobody wants the wake lost over it; but one it can never take must not come for ever.
const REFUSALS: u32 = 5;

/// Handles the wakes of an agent.
pub(crate) struct Wakes<'a> {
    agent: &'a Agent,
    /// Refusals of wakes that are still pending.
    refused: BTreeMap<Uuid, u32>,
}

impl<'a> Wakes<'a> {
    pub(crate) fn of(agent: &'a Agent) -> Self {
        Self { agent, refused: BTreeMap::new() }
    }

    /// Whether the wake is done with, for good or ill.
    fn is_over(&mut self, wake: &Wake, ending: Ending) -> bool {
        match ending {
            Ending::Settled => {
                self.refused.remove(&wake.id);
                true
            }
            Ending::MayPass => false,
            Ending::Refused => self.give_up(wake),
        }
    }

    fn give_up(&mut self, wake: &Wake) -> bool {
        let refusals = self.refused.entry(wake.id).or_default();
        *refusals += 1;
        if *refusals < REFUSALS {
            return false;
        }
        self.refused.remove(&wake.id);
        self.agent.log.error(&format!("gave up on wake {} after {REFUSALS} refusals", wake.id));
        true
    }
}

#[async_trait]
impl Handler for Wakes<'_> {
    /// A wake stays pending, to be handed out again, while the model cannot be called.
    async fn handle(&mut self, wake: &Wake) -> Option<RunRecord> {
        let agent = self.agent;
        let ready = agent.stop.run_until_cancelled(agent.ready()).await?.ok()?;
        // Told when it is handled: it comes again and again while nothing can be done (LOOP-31).
        let what = format!("wake by {}", wake.source);
        agent.log.info(kind::WAKE, &format!("{what}, recorded at {}", instant(wake.created_at)));
        let now = agent.clock.now();
        let input = prompt::wake(now, ready.who(), &ready.start, &ready.cycles, &woken_by(wake));
        let thought = agent.think(&ready, Purpose { what, reason: "wake", input }).await?;
        // LOOP-28: naming the wake acknowledges it.
        let wake_id = self.is_over(wake, thought.ending).then_some(wake.id);
        Some(RunRecord { wake_id, ..thought.record })
    }
}
