//! Agents' mailboxes, registered as persons with the people service (BIND-03, SWARM-03).
//!
//! Outside reconcile: a reconcile asks, and tells what came of it; one task a term of
//! leadership calls the service, with a deadline, a backoff for each agent and a breaker
//! for the service. What is asked for and what came of it is kept in memory alone. That
//! a mailbox is registered stands in the agent's own condition, which the next operator
//! reads.

mod book;
mod breaker;
mod keeper;
mod people;
mod registration;

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::Notify;
use tokio::time::Instant;

use crate::agent::AgentId;
use crate::wakes::Wakes;
use book::Book;
pub use people::{People, Trouble};
pub use registration::{Person, Registration, person, registration};

/// What is known of an agent's registration beside its condition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Heard {
    /// What came of the last call for this person.
    pub of: Option<(Person, Outcome)>,
    /// What keeps the service from being called for anybody.
    pub trouble: Option<Trouble>,
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The mailbox is registered.
    Registered,
    /// The service takes this person not, in these words.
    Refused {
        /// The status of the answer.
        status: u16,
        /// What the service said, without secrets.
        words: String,
    },
    /// The service itself could not be used.
    Away(Trouble),
}

/// Mailboxes of one term of leadership.
pub struct Mailboxes {
    people: Arc<People>,
    book: Mutex<Book>,
    asked: Notify,
    wakes: BTreeMap<String, Arc<Wakes>>,
}

impl Mailboxes {
    /// Nothing is asked for yet.
    pub fn new(people: Arc<People>, namespaces: &[String]) -> Self {
        let wakes = namespaces.iter().map(|name| (name.clone(), Arc::new(Wakes::default())));
        Self { people, book: Mutex::default(), asked: Notify::new(), wakes: wakes.collect() }
    }

    /// What is known of this agent.
    pub fn heard(&self, uid: &str) -> Heard {
        self.book().heard(uid, Instant::now())
    }

    /// Takes note of how an agent stands: what its condition says already is forgotten,
    /// all else is asked for once.
    pub fn note(&self, agent: &AgentId, registration: Option<&Registration>) {
        match registration {
            None | Some(Registration { is_told: true, .. }) => self.book().forget(&agent.uid),
            Some(Registration { person, is_told: false, .. }) => {
                if self.book().ask(agent, person, Instant::now()) {
                    self.asked.notify_one();
                }
            }
        }
    }

    /// Agents of a namespace to look at again, for one reader.
    pub fn wakes(&self, namespace: &str) -> Option<Arc<Wakes>> {
        self.wakes.get(namespace).cloned()
    }

    /// Agents whose mailbox is not registered yet.
    pub fn waiting(&self) -> usize {
        self.book().waiting()
    }

    /// Whether calls are held back because the service is in trouble.
    pub fn is_held_back(&self) -> bool {
        self.book().breaker.trouble(Instant::now()).is_some()
    }

    fn book(&self) -> MutexGuard<'_, Book> {
        self.book.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
