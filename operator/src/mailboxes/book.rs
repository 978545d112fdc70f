//! Who is to be registered, whose turn it is, and what came of it.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use tokio::time::Instant;

use super::breaker::{Admission, Breaker, LONGEST_PAUSE};
use super::people::Answer;
use super::{Heard, Outcome, Person};
use crate::agent::AgentId;

/// Most agents that wait. One that finds no room asks again at its next look.
const MOST: usize = 4_096;
/// How soon a failed call is made again; twice as long after each further one.
const FIRST_AGAIN: Duration = Duration::from_secs(5);
/// How soon a person who was refused is tried again: what the service minds may change
/// there too.
const REFUSED_AGAIN: Duration = Duration::from_hours(1);

/// Who is to be registered, and the state of the service.
#[derive(Debug, Default)]
pub struct Book {
    entries: HashMap<String, Entry>,
    /// By rank, then by time: who was never tried comes before who failed.
    queue: BTreeSet<(Rank, Instant, String)>,
    calling: usize,
    pub breaker: Breaker,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Rank {
    Fresh,
    Again,
}

#[derive(Debug)]
struct Entry {
    agent: AgentId,
    person: Person,
    tries: u32,
    turn: Turn,
    outcome: Option<Outcome>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Turn {
    /// In the queue.
    At(Rank, Instant),
    /// Under way.
    Now,
    /// Never again: it is done.
    Over,
}

/// What to do next.
#[derive(Debug, PartialEq, Eq)]
pub enum Next {
    /// Make this call.
    Call(AgentId, Person),
    /// Nothing before then.
    At(Instant),
    /// Nothing until somebody asks or a call ends.
    Wait,
}

impl Book {
    /// What is known of an agent.
    pub fn heard(&self, uid: &str, now: Instant) -> Heard {
        let of = self
            .entries
            .get(uid)
            .and_then(|entry| entry.outcome.clone().map(|outcome| (entry.person.clone(), outcome)));
        Heard { of, trouble: self.breaker.trouble(now).cloned() }
    }

    /// Asks for a registration; says whether there is something new to do.
    pub fn ask(&mut self, agent: &AgentId, person: &Person, now: Instant) -> bool {
        let fresh = Turn::At(Rank::Fresh, now);
        if let Some(entry) = self.entries.get_mut(&agent.uid) {
            if entry.person == *person {
                return false;
            }
            entry.person = person.clone();
            entry.tries = 0;
            entry.outcome = None;
            let before = entry.turn;
            // What is under way is for the old person; its end brings the new one's turn.
            if before == Turn::Now {
                return false;
            }
            entry.turn = fresh;
            self.leave_queue(&agent.uid, before);
        } else {
            if self.entries.len() >= MOST {
                return false;
            }
            let (agent, person) = (agent.clone(), person.clone());
            let entry = Entry { agent, person, tries: 0, turn: fresh, outcome: None };
            self.entries.insert(entry.agent.uid.clone(), entry);
        }
        self.queue.insert((Rank::Fresh, now, agent.uid.clone()));
        true
    }

    /// Forgets an agent, whose condition says all there is to know, or who wants nothing.
    pub fn forget(&mut self, uid: &str) {
        if let Some(entry) = self.entries.remove(uid) {
            self.leave_queue(uid, entry.turn);
        }
    }

    /// Forgets agents that are gone.
    pub fn keep_only(&mut self, is_there: impl Fn(&AgentId) -> bool) {
        let gone: Vec<_> = self
            .entries
            .values()
            .filter(|entry| !is_there(&entry.agent))
            .map(|entry| entry.agent.uid.clone())
            .collect();
        for uid in gone {
            self.forget(&uid);
        }
    }

    /// The next call, when one may be made.
    pub fn next(&mut self, most_at_once: usize, now: Instant) -> Next {
        if self.calling >= most_at_once {
            return Next::Wait;
        }
        match self.breaker.admits(now) {
            Admission::NoneUntil(until) => {
                return if self.queue.is_empty() { Next::Wait } else { Next::At(until) };
            }
            Admission::One if self.calling > 0 => return Next::Wait,
            Admission::One | Admission::Open => {}
        }
        let Some((rank, at, uid)) = self.queue.first().cloned() else { return Next::Wait };
        if at > now {
            return Next::At(at);
        }
        self.queue.remove(&(rank, at, uid.clone()));
        let Some(entry) = self.entries.get_mut(&uid) else { return self.next(most_at_once, now) };
        entry.turn = Turn::Now;
        self.calling += 1;
        Next::Call(entry.agent.clone(), entry.person.clone())
    }

    /// Takes back a call that was not made, for its agent is gone.
    pub fn give_back(&mut self, agent: &AgentId) {
        self.calling = self.calling.saturating_sub(1);
        self.forget(&agent.uid);
    }

    /// Takes note of what came of a call. Says whether the agent has to be told, and how
    /// long calls are held back when that is new.
    pub fn finish(
        &mut self,
        agent: &AgentId,
        called: &Person,
        answer: Answer,
        now: Instant,
    ) -> End {
        self.calling = self.calling.saturating_sub(1);
        let (outcome, service) = self.judge(answer, now);
        let Some(entry) = self.entries.get_mut(&agent.uid) else {
            return End { is_news: false, service };
        };
        let (again, is_news) = if entry.person == *called {
            entry.tries = entry.tries.saturating_add(1);
            let again = match &outcome {
                Outcome::Registered => None,
                Outcome::Refused { .. } => Some((Rank::Again, now + REFUSED_AGAIN)),
                Outcome::Away(_) => Some((Rank::Again, now + backoff(entry.tries))),
            };
            let is_news = entry.outcome.as_ref().map(std::mem::discriminant)
                != Some(std::mem::discriminant(&outcome));
            entry.outcome = Some(outcome);
            (again, is_news)
        } else {
            (Some((Rank::Fresh, now)), false) // renamed meanwhile
        };
        entry.turn = again.map_or(Turn::Over, |(rank, at)| Turn::At(rank, at));
        if let Some((rank, at)) = again {
            self.queue.insert((rank, at, agent.uid.clone()));
        }
        End { is_news, service }
    }

    fn judge(&mut self, answer: Answer, now: Instant) -> (Outcome, Service) {
        match answer {
            Answer::Trouble { why, after } => {
                let service = match self.breaker.failed(&why, after, now) {
                    Some(pause) => Service::HeldBack(pause),
                    None => Service::AsBefore,
                };
                (Outcome::Away(why), service)
            }
            Answer::Registered => (Outcome::Registered, self.answered()),
            Answer::Refused { status, words } => {
                (Outcome::Refused { status, words }, self.answered())
            }
        }
    }

    fn answered(&mut self) -> Service {
        if self.breaker.succeeded() { Service::Back } else { Service::AsBefore }
    }

    /// Agents that are not registered yet.
    pub fn waiting(&self) -> usize {
        self.entries.values().filter(|entry| entry.turn != Turn::Over).count()
    }

    fn leave_queue(&mut self, uid: &str, turn: Turn) {
        if let Turn::At(rank, at) = turn {
            self.queue.remove(&(rank, at, uid.to_owned()));
        }
    }
}

/// What the end of a call means beyond its agent's entry.
#[derive(Debug, PartialEq, Eq)]
pub struct End {
    /// Whether the agent has something new to tell.
    pub is_news: bool,
    /// How the service stands.
    pub service: Service,
}

/// How the service stands after a call.
#[derive(Debug, PartialEq, Eq)]
pub enum Service {
    /// Nothing changed.
    AsBefore,
    /// It failed, and is left alone for so long.
    HeldBack(Duration),
    /// It answers again.
    Back,
}

fn backoff(tries: u32) -> Duration {
    FIRST_AGAIN.saturating_mul(1 << tries.saturating_sub(1).min(10)).min(LONGEST_PAUSE)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::super::Trouble;
    use super::*;

    fn id(name: &str) -> AgentId {
        let uid = format!("uid-{name}");
        AgentId { namespace: "team".to_owned(), name: name.to_owned(), uid }
    }

    fn named(name: &str) -> Person {
        Person { mailbox: format!("{name}@ai.flow.life"), name: name.to_owned() }
    }

    fn silent() -> Answer {
        Answer::Trouble { why: Trouble::Silent, after: None }
    }

    /// Asks, and begins the call that follows.
    fn calling(book: &mut Book, name: &str, now: Instant) -> Person {
        assert!(book.ask(&id(name), &named(name), now));
        assert_eq!(book.next(9, now), Next::Call(id(name), named(name)));
        named(name)
    }

    #[test]
    fn who_asks_twice_is_called_for_once_and_told_of_once() {
        let now = Instant::now();
        let mut book = Book::default();
        let ann = calling(&mut book, "ann", now);
        assert!(!book.ask(&id("ann"), &ann, now), "it is under way");
        assert_eq!(book.next(9, now), Next::Wait);
        let end = book.finish(&id("ann"), &ann, Answer::Registered, now);
        assert_eq!(end, End { is_news: true, service: Service::AsBefore });
        assert!(!book.ask(&id("ann"), &ann, now), "it is done");
        assert_eq!(book.heard("uid-ann", now).of, Some((ann, Outcome::Registered)));
        assert_eq!((book.next(9, now), book.waiting()), (Next::Wait, 0));
        book.forget("uid-ann");
        assert_eq!(book.heard("uid-ann", now), Heard::default());
    }

    #[test]
    fn whoever_is_renamed_while_called_for_is_called_for_again_under_the_new_name() {
        let now = Instant::now();
        let mut book = Book::default();
        let ann = calling(&mut book, "ann", now);
        let anna = Person { name: "Anna".to_owned(), ..ann.clone() };
        assert!(!book.ask(&id("ann"), &anna, now), "the end of the call brings its turn");
        assert!(!book.finish(&id("ann"), &ann, Answer::Registered, now).is_news);
        assert_eq!(book.heard("uid-ann", now).of, None, "nothing is known of the new name");
        assert_eq!(book.next(9, now), Next::Call(id("ann"), anna));
    }

    #[test]
    fn who_failed_waits_longer_each_time_and_comes_after_who_is_new() {
        let mut now = Instant::now();
        let mut book = Book::default();
        let ann = calling(&mut book, "ann", now);
        let mut waits = Vec::new();
        for tries in 0..9 {
            let end = book.finish(&id("ann"), &ann, silent(), now);
            assert_eq!(end.is_news, tries == 0, "told once, not at each try");
            book.breaker.succeeded(); // others get through
            let Next::At(at) = book.next(9, now) else { panic!("its turn comes") };
            waits.push((at - now).as_secs());
            now = at;
            book.ask(&id("ben"), &named("ben"), now);
            assert_eq!(book.next(9, now), Next::Call(id("ben"), named("ben")));
            book.forget("uid-ben");
            book.finish(&id("ben"), &named("ben"), Answer::Registered, now);
            assert_eq!(book.next(9, now), Next::Call(id("ann"), ann.clone()));
        }
        assert_eq!(waits, [5, 10, 20, 40, 80, 160, 300, 300, 300]);
    }

    #[test]
    fn a_service_in_trouble_is_asked_by_one_at_a_time_however_many_wait() {
        let now = Instant::now();
        let mut book = Book::default();
        for name in ["a", "b", "c"] {
            let person = calling(&mut book, name, now);
            book.finish(&id(name), &person, silent(), now);
        }
        for number in 0..500 {
            let name = format!("agent-{number}");
            book.ask(&id(&name), &named(&name), now);
        }
        let Next::At(until) = book.next(9, now) else { panic!("calls are held back") };
        assert_eq!(until - now, Duration::from_secs(5));
        assert_eq!(book.heard("uid-agent-7", now).trouble, Some(Trouble::Silent));
        let Next::Call(agent, person) = book.next(9, until) else { panic!("one looks") };
        assert_eq!(book.next(9, until), Next::Wait, "and only one");
        let end = book.finish(&agent, &person, silent(), until);
        assert_eq!(end.service, Service::HeldBack(Duration::from_secs(10)));
        let Next::At(later) = book.next(9, until) else { panic!("calls are held back") };
        let Next::Call(agent, person) = book.next(9, later) else { panic!("one looks") };
        assert_eq!(book.finish(&agent, &person, Answer::Registered, later).service, Service::Back);
        let calls = (0..9).filter(|_| matches!(book.next(9, later), Next::Call(..))).count();
        assert_eq!((calls, book.next(9, later)), (9, Next::Wait), "as many as may at once");
    }

    #[test]
    fn a_person_who_is_refused_holds_nobody_up_and_is_tried_again_in_an_hour() {
        let now = Instant::now();
        let mut book = Book::default();
        let ann = calling(&mut book, "ann", now);
        let refused = Answer::Refused { status: 422, words: "too long".to_owned() };
        let end = book.finish(&id("ann"), &ann, refused, now);
        assert_eq!(end, End { is_news: true, service: Service::AsBefore });
        assert_eq!(book.next(9, now), Next::At(now + REFUSED_AGAIN));
        assert_eq!(book.waiting(), 1);
    }

    #[test]
    fn the_queue_is_bounded_and_agents_that_are_gone_leave_it() {
        let now = Instant::now();
        let mut book = Book::default();
        let asked = (0..MOST + 10)
            .filter(|number| book.ask(&id(&number.to_string()), &named("x"), now))
            .count();
        assert_eq!(asked, MOST);
        book.keep_only(|agent| agent.name == "7");
        assert_eq!((book.waiting(), book.queue.len()), (1, 1));
    }
}
