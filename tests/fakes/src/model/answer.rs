//! Which answer a request gets, and the answer with its blanks filled in.

use super::captured::Captured;
use super::reply::{Failure, Play, Reply};
use super::server::{Bound, Inner, Script};

/// The answer to this request: scripts first, then rules, in the order given.
pub(super) fn choose(inner: &mut Inner, request: &Captured) -> Reply {
    if let Some(key) = &inner.key
        && request.key() != Some(key)
    {
        let kind = "invalid_api_key";
        return Reply::failure(401, kind, "Incorrect API key provided");
    }
    if let Some(violation) = request.violations.first() {
        return Reply::failure(400, "invalid_request_error", violation.clone());
    }
    let tokens = request.raw.len() as u64 / 4;
    if let Some(window) = inner.window
        && tokens > window
    {
        let message = format!("prompt is too long: {tokens} tokens > {window} maximum");
        return Reply::failure(400, "context_length_exceeded", message);
    }
    let reply = next_step(&mut inner.scripts, request).or_else(|| {
        let matches = |rule: &&mut super::Rule| rule.left != Some(0) && rule.when.holds(request);
        let rule = inner.rules.iter_mut().find(matches)?;
        rule.left = rule.left.map(|left| left - 1);
        Some(rule.reply.clone())
    });
    let Some(reply) = reply else {
        let asked: String = request.last_user_text().chars().take(200).collect();
        let complaint = format!("no script and no rule answers this; it says: {asked}");
        inner.complaints.push(format!("request {}: {complaint}", request.number));
        // Not a status that anyone retries: the test shall see it at once.
        return Reply::failure(400, "invalid_request_error", complaint);
    };
    filled(reply, request)
}

fn next_step(scripts: &mut [Script], request: &Captured) -> Option<Reply> {
    let conversation = request.conversation();
    let own = scripts.iter().position(|script| {
        !script.steps.is_empty() && script.bound == Bound::To(conversation.clone())
    });
    let open = scripts.iter().position(|script| {
        let free = !matches!(script.bound, Bound::To(_));
        free && !script.steps.is_empty() && script.when.holds(request)
    });
    let script = &mut scripts[own.or(open)?];
    if script.bound == Bound::FirstToAsk {
        script.bound = Bound::To(conversation);
    }
    script.steps.pop_front()
}

/// Fills `{{last_tool_result}}`, `{{last_user}}`, `{{model}}` and
/// `{{system_section:Heading}}` (what stands below `# Heading` in the system prompt).
fn filled(mut reply: Reply, request: &Captured) -> Reply {
    match &mut reply.play {
        Play::Completion(completion) => {
            let texts = completion.text.iter_mut().chain(completion.thinking.iter_mut());
            for text in texts {
                *text = fill(text, request, &str::to_owned);
            }
            for (_, arguments) in &mut completion.calls {
                // Within JSON, a value is written as the inside of a JSON string.
                *arguments = fill(arguments, request, &|value| {
                    let quoted = serde_json::Value::from(value).to_string();
                    quoted[1..quoted.len() - 1].to_owned()
                });
            }
        }
        Play::Failure(Failure { message, .. }) => {
            *message = fill(message, request, &str::to_owned);
        }
        Play::Overflow(_) | Play::Raw(_) => {}
    }
    reply
}

fn fill(text: &str, request: &Captured, write: &dyn Fn(&str) -> String) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some((before, after)) = rest.split_once("{{") {
        out.push_str(before);
        let Some((name, after)) = after.split_once("}}") else {
            out.push_str("{{");
            rest = after;
            continue;
        };
        if let Some(value) = value(name.trim(), request) {
            out.push_str(&write(&value));
        } else {
            // Braces that are none of ours.
            out.extend(["{{", name, "}}"]);
        }
        rest = after;
    }
    out.push_str(rest);
    out
}

fn value(name: &str, request: &Captured) -> Option<String> {
    match name {
        "last_tool_result" => {
            Some(request.tool_results().pop().map(|result| result.content).unwrap_or_default())
        }
        "last_user" => Some(request.last_user_text()),
        "model" => Some(request.model().to_owned()),
        _ => Some(section(&request.system(), name.strip_prefix("system_section:")?.trim())),
    }
}

/// The text below a heading, up to the next one, on one line.
fn section(text: &str, heading: &str) -> String {
    let is_heading = |line: &str| line.starts_with('#');
    let below = text
        .lines()
        .skip_while(|line| !(is_heading(line) && line.trim_start_matches('#').trim() == heading))
        .skip(1)
        .take_while(|line| !is_heading(line));
    let words: Vec<&str> = below.flat_map(str::split_whitespace).collect();
    words.join(" ")
}
