//! Rings when a wake is recorded, so that a held inbox read answers at once.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError, Weak},
};

use foundry_store::AgentKey;
use tokio::sync::Notify;

/// One bell an agent, kept only while somebody listens.
#[derive(Clone, Default)]
pub struct Bells {
    bells: Arc<Mutex<HashMap<AgentKey, Weak<Notify>>>>,
}

impl Bells {
    /// The bell of this agent. Hold it from before the inbox is read until the answer,
    /// or a ring in between is missed.
    pub fn listen(&self, key: &AgentKey) -> Arc<Notify> {
        let mut bells = self.lock();
        if let Some(bell) = bells.get(key).and_then(Weak::upgrade) {
            return bell;
        }
        // Whoever makes the map twice as long first clears away what nobody holds.
        if bells.len().is_power_of_two() {
            bells.retain(|_, bell| bell.strong_count() > 0);
        }
        let bell = Arc::new(Notify::new());
        bells.insert(key.clone(), Arc::downgrade(&bell));
        bell
    }

    /// Rings for everybody who listens to this agent.
    pub fn ring(&self, key: &AgentKey) {
        if let Some(bell) = self.lock().get(key).and_then(Weak::upgrade) {
            bell.notify_waiters();
        }
    }

    fn lock(&self) -> MutexGuard<'_, HashMap<AgentKey, Weak<Notify>>> {
        // The map is whole after any panic: every change to it is one call.
        self.bells.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
