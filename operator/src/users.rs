//! Which agents name which skills and tool servers, so that a change of one wakes those
//! few and never all.

use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, Mutex, PoisonError};

use foundry_crds::{Agent, AgentSpec};
use kube::Resource;
use kube::runtime::watcher::Event;

use crate::caches::Guard;
use crate::wakes::Wakes;

/// A kind of object that agents name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Kind {
    /// `spec.skills`.
    Skill,
    /// `spec.toolServers`.
    ToolServer,
}

/// An object that agents name; it need not exist.
type Named = (Kind, String);

/// The agents of one namespace, by what they name.
#[derive(Debug, Default)]
pub struct Users {
    index: Mutex<Index>,
    /// Agents to be looked at again.
    pub wakes: Arc<Wakes>,
}

#[derive(Debug, Default)]
struct Index {
    /// Who names an object.
    users: HashMap<Named, BTreeSet<String>>,
    /// What an agent names: only agents that name something.
    named: HashMap<String, Vec<Named>>,
    /// What agents last saw of an object: a status alone wakes nobody.
    shown: HashMap<Named, Vec<i64>>,
}

impl Users {
    /// Takes note of what an agent names now.
    pub fn note_agent(&self, event: &Event<Guard<Agent>>) {
        match event {
            Event::Apply(agent) | Event::InitApply(agent) => {
                // What one that does not decode named before is as good a guess as any.
                if let (Ok(agent), Some(name)) = (&agent.0, &agent.meta().name) {
                    self.set(name, named(&agent.spec));
                }
            }
            Event::Delete(agent) => {
                if let Some(name) = &agent.meta().name {
                    self.set(name, Vec::new());
                }
            }
            Event::Init | Event::InitDone => {}
        }
    }

    /// Wakes whoever names an object that came, went, or changed in what `read` gives;
    /// after a new list, which may hold any change, whoever names one of this kind.
    pub fn note<K: Resource>(
        &self,
        kind: Kind,
        event: &Event<Guard<K>>,
        read: impl Fn(&K) -> Vec<i64>,
    ) {
        match event {
            Event::Apply(object) => {
                let Some(name) = object.meta().name.clone() else { return };
                let shown = object.0.as_ref().map(read).unwrap_or_default();
                self.wake_if_changed((kind, name), Some(shown));
            }
            Event::Delete(object) => {
                let Some(name) = object.meta().name.clone() else { return };
                self.wake_if_changed((kind, name), None);
            }
            Event::InitDone => self.wake_all(kind),
            Event::Init | Event::InitApply(_) => {}
        }
    }

    fn set(&self, agent: &str, named: Vec<Named>) {
        let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        for object in index.named.remove(agent).unwrap_or_default() {
            if let Some(users) = index.users.get_mut(&object) {
                users.remove(agent);
                if users.is_empty() {
                    index.users.remove(&object);
                }
            }
        }
        if named.is_empty() {
            return;
        }
        for object in &named {
            index.users.entry(object.clone()).or_default().insert(agent.to_owned());
        }
        index.named.insert(agent.to_owned(), named);
    }

    fn wake_if_changed(&self, object: Named, shown: Option<Vec<i64>>) {
        let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        let users = index.users.get(&object).cloned().unwrap_or_default();
        let is_changed = if let Some(shown) = shown {
            index.shown.insert(object, shown.clone()) != Some(shown)
        } else {
            index.shown.remove(&object);
            true
        };
        drop(index);
        if is_changed {
            self.wakes.wake(users);
        }
    }

    fn wake_all(&self, kind: Kind) {
        let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
        index.shown.retain(|(of, _), _| *of != kind);
        let users = index.users.iter().filter(|((of, _), _)| *of == kind);
        let users: BTreeSet<String> = users.flat_map(|(_, users)| users).cloned().collect();
        drop(index);
        self.wakes.wake(users);
    }
}

fn named(spec: &AgentSpec) -> Vec<Named> {
    let skills = spec.skills.iter().map(|skill| (Kind::Skill, skill.name.clone()));
    let servers = spec.tool_servers.iter().map(|server| (Kind::ToolServer, server.clone()));
    skills.chain(servers).collect()
}

#[cfg(test)]
mod tests {
    use foundry_crds::agent::SkillRef;
    use foundry_crds::{Skill, SkillSpec};
    use futures::StreamExt as _;

    use super::*;

    fn agent(name: &str, skills: &[&str], servers: &[&str]) -> Guard<Agent> {
        let skill = |name: &&str| SkillRef { name: (*name).to_owned(), version: None };
        let spec = AgentSpec {
            skills: skills.iter().map(skill).collect(),
            tool_servers: servers.iter().map(|it| (*it).to_owned()).collect(),
            ..AgentSpec::default()
        };
        kube::core::DeserializeGuard(Ok(Agent::new(name, spec)))
    }

    fn skill(name: &str) -> Guard<Skill> {
        kube::core::DeserializeGuard(Ok(Skill::new(name, SkillSpec::default())))
    }

    /// Everybody who is woken now.
    fn woken(users: &Users) -> Vec<String> {
        let mut stream = Box::pin(Arc::clone(&users.wakes).stream());
        let mut names = Vec::new();
        while let Some(Some(name)) = futures::FutureExt::now_or_never(stream.next()) {
            names.push(name);
        }
        names
    }

    #[test]
    fn a_skill_wakes_those_who_name_it_when_what_they_see_of_it_changes() {
        let users = Users::default();
        users.note_agent(&Event::InitApply(agent("ann", &["style"], &[])));
        users.note_agent(&Event::Apply(agent("ben", &["style", "other"], &["style"])));
        users.note_agent(&Event::Apply(agent("cid", &[], &["style"])));
        let says = |event: Event<Guard<Skill>>, version| {
            users.note(Kind::Skill, &event, |_| vec![version]);
            woken(&users)
        };
        assert_eq!(says(Event::Apply(skill("style")), 1), ["ann", "ben"]);
        assert_eq!(says(Event::Apply(skill("style")), 1), [""; 0], "a status alone");
        assert_eq!(says(Event::Apply(skill("style")), 2), ["ann", "ben"]);
        users.note_agent(&Event::Apply(agent("ben", &["other"], &[])));
        users.note_agent(&Event::Apply(agent("dot", &["style"], &[])));
        assert_eq!(says(Event::Delete(skill("style")), 0), ["ann", "dot"]);
        users.note_agent(&Event::Delete(agent("ann", &["style"], &[])));
        assert_eq!(says(Event::InitDone, 0), ["ben", "dot"], "a new list may hold any change");
    }
}
