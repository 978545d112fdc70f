//! What a provider would not accept, or should never see. Each rule has its name from
//! the kernel's own list and is written anew here, so that both would have to err alike.

mod anthropic;
mod marks;
mod openai;
mod thinking;
mod transcript;

use serde_json::Value;

use super::captured::{Captured, Wire};
use super::remembered::Remembered;

/// Everything wrong with a request, each with its rule's name.
pub fn violations(request: &Captured) -> Vec<String> {
    let mut found = Found::default();
    if !request.body.is_object() {
        found.add("legal", "the body is no JSON object");
        return found.0;
    }
    found.unless(!request.model().is_empty(), "legal", "no model is named");
    found.unless(request.body["messages"].is_array(), "legal", "messages is no list");
    if request.body.get("tools").is_some_and(|tools| !tools.is_array()) {
        found.add("legal", "tools is no list");
    }
    let json =
        |value: &str| value.split(';').next().is_some_and(|kind| kind.trim() == "application/json");
    let typed = request.header("content-type").is_some_and(json);
    found.unless(typed, "legal", "content-type is not application/json");
    match request.wire {
        Wire::Anthropic => anthropic::check(request, &mut found),
        Wire::OpenAi => openai::check(request, &mut found),
    }
    transcript::check(request, &mut found);
    key_in_its_header(request, &mut found);
    found.0
}

/// Thinking that is not as the model said it: known only to who remembers what was said.
pub(super) fn whole_thinking(request: &Captured, said: &Remembered) -> Vec<String> {
    let mut found = Found::default();
    thinking::check(request, said, &mut found);
    found.0
}

/// Collects what is found.
#[derive(Default)]
struct Found(Vec<String>);

impl Found {
    fn add(&mut self, rule: &str, what: impl AsRef<str>) {
        self.0.push(format!("{rule}: {}", what.as_ref()));
    }

    fn unless(&mut self, holds: bool, rule: &str, what: impl AsRef<str>) {
        if !holds {
            self.add(rule, what);
        }
    }

    /// Only these keys may stand in an object.
    fn only(&mut self, object: &Value, allowed: &[&str], place: &str) {
        for key in object.as_object().into_iter().flat_map(|object| object.keys()) {
            if !allowed.contains(&key.as_str()) {
                self.add("legal", format!("{place} has an unknown field {key}"));
            }
        }
    }

    fn tool_name(&mut self, name: &str) {
        let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
        let fits = !name.is_empty() && name.len() <= 64 && name.chars().all(legal);
        self.unless(fits, "legal", format!("{name:?} is no name of a tool"));
    }

    /// Tools: each name legal on both wires and there once, no more than OpenAI takes; a choice
    /// only where there are any, and of one that is there.
    fn tools(&mut self, request: &Captured) {
        let names = request.tools();
        for (place, name) in names.iter().enumerate() {
            self.tool_name(name);
            let again = names[..place].contains(name);
            self.unless(!again, "legal", format!("two tools are named {name}"));
        }
        self.unless(names.len() <= 128, "legal", format!("{} tools are offered", names.len()));
        let Some(choice) = request.body.get("tool_choice") else { return };
        self.unless(!names.is_empty(), "legal", "tool_choice is set without tools");
        let chosen = choice["name"].as_str().or_else(|| choice["function"]["name"].as_str());
        let known = chosen.is_none_or(|chosen| names.iter().any(|name| name == chosen));
        self.unless(known, "legal", "tool_choice names a tool that is not offered");
    }
}

/// A key stands in its own header and nowhere else (BIND-11).
fn key_in_its_header(request: &Captured, found: &mut Found) {
    let Some(key) = request.key().filter(|key| key.len() >= 4) else { return };
    found.unless(!request.raw.contains(key), "no_key", "the API key stands in the body");
    found.unless(!request.path.contains(key), "no_key", "the API key stands in the path");
    for (name, value) in &request.headers {
        let own = matches!(name.as_str(), "authorization" | "x-api-key");
        found.unless(
            own || !value.contains(key),
            "no_key",
            format!("the API key stands in {name}"),
        );
    }
}

#[cfg(test)]
mod tests;
