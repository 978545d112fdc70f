//! What a provider would not accept, or should never see. Each rule has its name from
//! the kernel's own list and is written anew here, so that both would have to err alike.

mod anthropic;
mod openai;
mod transcript;

use serde_json::Value;

use super::captured::{Captured, Wire};

/// Everything wrong with a request, each with its rule's name.
pub fn violations(request: &Captured) -> Vec<String> {
    let mut found = Found::default();
    if !request.body.is_object() {
        found.add("legal", "the body is no JSON object");
        return found.0;
    }
    found.unless(!request.model().is_empty(), "legal", "no model is named");
    match request.wire {
        Wire::Anthropic => anthropic::check(request, &mut found),
        Wire::OpenAi => openai::check(request, &mut found),
    }
    transcript::check(request, &mut found);
    key_in_its_header(request, &mut found);
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

    /// A tool's name must be legal on both wires, and be there once.
    fn tool_names(&mut self, request: &Captured) {
        let names = request.tools();
        for (place, name) in names.iter().enumerate() {
            let legal = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
            let fits = !name.is_empty() && name.len() <= 64 && name.chars().all(legal);
            self.unless(fits, "legal", format!("{name:?} is no name of a tool"));
            let again = names[..place].contains(name);
            self.unless(!again, "legal", format!("two tools are named {name}"));
        }
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
