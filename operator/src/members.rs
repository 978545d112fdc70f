//! Which objects belong to which other one, so that a reconcile reads its own few and
//! never all.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Mutex, PoisonError};

use foundry_crds::meta;
use kube::Resource;
use kube::runtime::watcher::Event;

/// Names of objects of one kind in one namespace, by what they belong to.
#[derive(Debug, Default)]
pub struct Members {
    names: Mutex<HashMap<String, BTreeSet<String>>>,
}

impl Members {
    /// Takes note of a watch event; `owner` says what an object belongs to. A missed
    /// deletion leaves a name that no cache knows: it is passed over when read.
    pub fn note<K: Resource>(&self, event: &Event<K>, owner: impl Fn(&K) -> Option<String>) {
        let membership = |object: &K| Some((owner(object)?, object.meta().name.clone()?));
        match event {
            Event::Apply(object) | Event::InitApply(object) => {
                if let Some((owner, name)) = membership(object) {
                    let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
                    names.entry(owner).or_default().insert(name);
                }
            }
            Event::Delete(object) => {
                if let Some((owner, name)) = membership(object) {
                    let mut names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
                    if let Some(members) = names.get_mut(&owner) {
                        members.remove(&name);
                        if members.is_empty() {
                            names.remove(&owner);
                        }
                    }
                }
            }
            Event::Init | Event::InitDone => {}
        }
    }

    /// The names noted for one owner.
    pub fn of(&self, owner: &str) -> Vec<String> {
        let names = self.names.lock().unwrap_or_else(PoisonError::into_inner);
        names.get(owner).into_iter().flatten().cloned().collect()
    }
}

/// The agent whose label an object carries.
pub fn labelled_agent<K: Resource>(object: &K) -> Option<String> {
    object.meta().labels.as_ref()?.get(meta::label::AGENT).cloned()
}
