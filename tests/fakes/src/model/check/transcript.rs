//! What holds of a conversation on either wire.

use std::collections::HashSet;

use super::Found;
use crate::model::captured::{Captured, Message, Role};

pub(super) fn check(request: &Captured, found: &mut Found) {
    let messages = request.messages();
    let system = messages.iter().take_while(|one| one.role == Role::System).count();
    let late = messages[system..].iter().any(|one| one.role == Role::System);
    found.unless(!late, "legal", "a system message stands inside the conversation");
    let messages = &messages[system..];
    ends_open(messages, found);
    unique_ids(messages, found);
    answered(messages, found);
    no_orphan(messages, found);
}

/// It starts with what a person or the host said, and leaves the word to the model.
fn ends_open(messages: &[Message], found: &mut Found) {
    let Some((first, last)) = messages.first().zip(messages.last()) else {
        found.add("ends_open", "there is no message");
        return;
    };
    let asks = first.role == Role::User && first.results.is_empty();
    found.unless(asks, "ends_open", "the conversation does not start with a user message");
    let open = last.role != Role::Assistant;
    found.unless(open, "ends_open", "the conversation ends with the model's own message");
}

fn unique_ids(messages: &[Message], found: &mut Found) {
    let mut seen = HashSet::new();
    let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    for call in messages.iter().flat_map(|one| &one.calls) {
        let fits = !call.id.is_empty() && call.id.chars().all(legal);
        found.unless(fits, "unique_ids", format!("{:?} is no id of a call", call.id));
        let first = seen.insert(call.id.as_str());
        found.unless(first, "unique_ids", format!("two calls have the id {}", call.id));
    }
}

/// Each call has one result, right behind it and in the order of the calls.
fn answered(messages: &[Message], found: &mut Found) {
    for (place, message) in messages.iter().enumerate() {
        if message.calls.is_empty() {
            continue;
        }
        let behind = messages[place + 1..].iter().take_while(|one| !one.results.is_empty());
        let results = behind.flat_map(|one| one.results.iter().map(|(id, _)| id.as_str()));
        let results: Vec<&str> = results.collect();
        let calls: Vec<&str> = message.calls.iter().map(|call| call.id.as_str()).collect();
        for call in calls.iter().filter(|call| !results.contains(call)) {
            found.add("answered", format!("call {call} has no result right behind it"));
        }
        let in_order = results.iter().filter(|id| calls.contains(id)).eq(calls.iter());
        let complete = calls.iter().all(|call| results.contains(call));
        found.unless(
            in_order || !complete,
            "answered",
            "results are not in the order of the calls",
        );
    }
}

/// Each result has its call in the model's message just before.
fn no_orphan(messages: &[Message], found: &mut Found) {
    let mut open: HashSet<&str> = HashSet::new();
    for message in messages {
        if message.results.is_empty() {
            open = message.calls.iter().map(|call| call.id.as_str()).collect();
            continue;
        }
        for (id, _) in &message.results {
            let known = open.contains(id.as_str());
            found.unless(known, "no_orphan", format!("result {id} has no call just before it"));
        }
        if !message.text.is_empty() || message.role == Role::User {
            open.clear(); // Anthropic: all results stand in one message
        }
    }
}
