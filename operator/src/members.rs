//! Which objects carry the label of which agent, so that a reconcile reads its own
//! few and never all.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use foundry_crds::meta;
use kube::Resource;
use kube::api::ObjectMeta;
use kube::runtime::watcher::Event;

/// Names of objects of one kind in one namespace, by agent.
#[derive(Debug, Default)]
pub struct Members {
    names: Mutex<HashMap<String, BTreeSet<String>>>,
}

impl Members {
    /// Takes note of a watch event. A missed deletion leaves a name that no cache
    /// knows: it is passed over when read.
    pub fn note<K: Resource>(&self, event: &Event<K>) {
        match event {
            Event::Apply(object) | Event::InitApply(object) => {
                if let Some((agent, name)) = membership(object.meta()) {
                    let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
                    names.entry(agent).or_default().insert(name);
                }
            }
            Event::Delete(object) => {
                if let Some((agent, name)) = membership(object.meta()) {
                    let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
                    if let Some(members) = names.get_mut(&agent) {
                        members.remove(&name);
                        if members.is_empty() {
                            names.remove(&agent);
                        }
                    }
                }
            }
            Event::Init | Event::InitDone => {}
        }
    }

    /// The names noted for an agent.
    pub fn of(&self, agent: &str) -> Vec<String> {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.get(agent).into_iter().flatten().cloned().collect()
    }
}

fn membership(metadata: &ObjectMeta) -> Option<(String, String)> {
    let agent = metadata.labels.as_ref()?.get(meta::label::AGENT)?.clone();
    Some((agent, metadata.name.clone()?))
}
