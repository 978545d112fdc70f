//! What an agent's status says of its mailbox's registration: a pure reading of its
//! condition and of what was heard.

use foundry_crds::agent::Lifecycle;
use foundry_crds::condition::{kind, reason};
use foundry_crds::{AgentSpec, AgentStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;

use super::{Heard, Outcome, Trouble};
use crate::conditions::Wanted;

/// An agent as the people service knows it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Person {
    /// Its address (LIFE-21).
    pub mailbox: String,
    /// Its last name (BIND-03).
    pub name: String,
}

/// How an agent's registration stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Registration {
    /// Who is to be registered.
    pub person: Person,
    /// Whether the condition that was read says already that this person is.
    pub is_told: bool,
    /// The condition to report.
    pub condition: Wanted,
}

/// The person that an agent with this mailbox is. An archived agent may have a namesake,
/// whom it must not rename.
pub fn person(spec: &AgentSpec, mailbox: Option<&str>) -> Option<Person> {
    let mailbox = mailbox.filter(|_| spec.lifecycle() != Lifecycle::Archive)?;
    let slug = mailbox.split_once('@').map_or(mailbox, |(slug, _)| slug);
    let name = spec.display_name.as_deref().unwrap_or(slug);
    Some(Person { mailbox: mailbox.to_owned(), name: name.to_owned() })
}

/// How the registration of a person stands; `present` is the status that was read.
///
/// What the status says of this very person is kept until something else is known: a
/// service that flaps, or answers each time in other words, costs no writes.
pub fn registration(person: Person, present: &AgentStatus, heard: &Heard) -> Registration {
    let who = format!("{} as agent {:?}", person.mailbox, person.name);
    let present = present.conditions.iter().find(|it| it.type_ == kind::MAILBOX_REGISTERED);
    let registered = wanted(true, reason::REGISTERED, format!("{who} is registered"));
    let is_told = present.is_some_and(|it| says(it, &registered));
    let known = heard.of.as_ref().filter(|(of, _)| *of == person).map(|(_, outcome)| outcome);
    let condition = match known {
        Some(Outcome::Registered) => registered,
        None if is_told => registered,
        Some(Outcome::Refused { status, words }) => {
            let stem = format!("{who} is not registered: the people service answers {status}");
            let words = if words.is_empty() { String::new() } else { format!(", \"{words}\"") };
            let rest = "; change what it minds; tried again every hour";
            kept(present, reason::PEOPLE_REFUSED, &stem, &format!("{words}{rest}"))
        }
        Some(Outcome::Away(trouble)) => away(present, &who, trouble),
        None => match (&heard.trouble, still_of(present, &who)) {
            (Some(trouble), _) => away(present, &who, trouble),
            (None, Some(told)) => told,
            (None, None) => {
                wanted(false, reason::REGISTERING, format!("{who} is to be registered"))
            }
        },
    };
    Registration { person, is_told, condition }
}

fn away(present: Option<&Condition>, who: &str, trouble: &Trouble) -> Wanted {
    let reason = match trouble {
        Trouble::NoToken | Trouble::TokenRefused => reason::PEOPLE_TOKEN,
        Trouble::Unreachable | Trouble::Silent | Trouble::Answers(_) => reason::PEOPLE_UNAVAILABLE,
    };
    let rest = format!(": {trouble}; tried again within 5 min, or when the service says");
    kept(present, reason, &format!("{who} is not registered yet"), &rest)
}

/// The condition, in the words it has already where it has this reason and beginning.
fn kept(present: Option<&Condition>, reason: &'static str, stem: &str, rest: &str) -> Wanted {
    let told = present.filter(|it| it.reason == reason && it.message.starts_with(stem));
    let message = told.map_or_else(|| format!("{stem}{rest}"), |it| it.message.clone());
    wanted(false, reason, message)
}

/// What an earlier operator, or an earlier look, said of this very person.
fn still_of(present: Option<&Condition>, who: &str) -> Option<Wanted> {
    let present = present.filter(|it| it.status == "False" && it.message.starts_with(who))?;
    let reason = [reason::PEOPLE_REFUSED, reason::PEOPLE_UNAVAILABLE, reason::PEOPLE_TOKEN]
        .into_iter()
        .find(|reason| *reason == present.reason)?;
    Some(wanted(false, reason, present.message.clone()))
}

fn says(present: &Condition, wanted: &Wanted) -> bool {
    present.status == "True" && present.message == wanted.message
}

fn wanted(status: bool, reason: &'static str, message: String) -> Wanted {
    Wanted { kind: kind::MAILBOX_REGISTERED, status, reason, message }
}

#[cfg(test)]
mod tests {
    use k8s_openapi::jiff::Timestamp;
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::conditions::merge;

    fn ann() -> Person {
        Person { mailbox: "ann@ai.flow.life".to_owned(), name: "Ann".to_owned() }
    }

    /// The status after a look at which this was heard.
    fn after(present: &AgentStatus, person: Person, heard: &Heard) -> AgentStatus {
        let wanted = registration(person, present, heard).condition;
        let conditions = merge(&present.conditions, vec![wanted], 1, Timestamp::UNIX_EPOCH);
        AgentStatus { conditions, ..AgentStatus::default() }
    }

    fn told(status: &AgentStatus) -> (&str, &str, &str) {
        let it = &status.conditions[0];
        (&it.status, &it.reason, &it.message)
    }

    fn heard(outcome: Outcome) -> Heard {
        Heard { of: Some((ann(), outcome)), trouble: None }
    }

    /// BIND-03
    #[test]
    fn an_agent_is_a_person_by_its_name_for_people_else_by_its_slug() {
        let mut spec = AgentSpec::default();
        let person_of = |spec: &AgentSpec| person(spec, Some("ann@ai.flow.life"));
        assert_eq!(person_of(&spec).unwrap().name, "ann");
        spec.display_name = Some("Ann".to_owned());
        assert_eq!(person_of(&spec), Some(ann()));
        assert_eq!(person(&spec, None), None, "no mailbox, no person");
        spec.lifecycle = Some(Lifecycle::Archive);
        assert_eq!(person_of(&spec), None, "another agent may have its address");
    }

    /// BIND-03: an operator that starts anew knows what was registered, and a rename does not
    /// pass for it.
    #[test]
    fn what_is_registered_is_read_from_the_condition_and_a_rename_is_not() {
        let fresh = AgentStatus::default();
        let first = after(&fresh, ann(), &Heard::default());
        let words = "ann@ai.flow.life as agent \"Ann\" is to be registered";
        assert_eq!(told(&first), ("False", "Registering", words));
        let done = after(&first, ann(), &heard(Outcome::Registered));
        let words = "ann@ai.flow.life as agent \"Ann\" is registered";
        assert_eq!(told(&done), ("True", "Registered", words));
        let again = registration(ann(), &done, &Heard::default());
        assert!(again.is_told);
        assert_eq!(after(&done, ann(), &Heard::default()), done);

        let anna = Person { name: "Anna".to_owned(), ..ann() };
        for heard in [Heard::default(), heard(Outcome::Registered)] {
            let renamed = registration(anna.clone(), &done, &heard);
            assert!(!renamed.is_told);
            assert_eq!(renamed.condition.reason, "Registering");
        }
    }

    #[test]
    fn a_service_that_fails_in_ever_other_ways_is_told_of_once() {
        let first = after(&AgentStatus::default(), ann(), &Heard::default());
        let away = after(&first, ann(), &heard(Outcome::Away(Trouble::Silent)));
        let (status, reason, message) = told(&away);
        assert_eq!((status, reason), ("False", "PeopleUnavailable"));
        assert!(message.contains("within 10 s; tried again within 5 min"), "{message}");
        for heard in [
            heard(Outcome::Away(Trouble::Answers(503))),
            Heard { of: None, trouble: Some(Trouble::Unreachable) },
            Heard::default(),
        ] {
            assert_eq!(after(&away, ann(), &heard), away, "{heard:?}");
        }
        // Another cause for somebody to act is told.
        let token = after(&away, ann(), &heard(Outcome::Away(Trouble::TokenRefused)));
        assert_eq!(told(&token).1, "PeopleTokenInvalid");
    }

    #[test]
    fn a_refusal_says_what_the_service_says_and_is_not_told_anew_for_other_words() {
        let refused =
            |words: &str| heard(Outcome::Refused { status: 422, words: words.to_owned() });
        let first = after(&AgentStatus::default(), ann(), &refused("too long (request 1)"));
        let message = told(&first).2;
        assert!(message.contains("answers 422, \"too long (request 1)\"; change"), "{message}");
        assert_eq!(after(&first, ann(), &refused("too long (request 2)")), first);
    }

    #[test]
    fn who_comes_while_calls_are_held_back_learns_why_at_once() {
        let heard = Heard { of: None, trouble: Some(Trouble::Answers(429)) };
        let status = after(&AgentStatus::default(), ann(), &heard);
        let (_, reason, message) = told(&status);
        assert!(message.contains("answers 429") && reason == "PeopleUnavailable", "{message}");
    }
}
