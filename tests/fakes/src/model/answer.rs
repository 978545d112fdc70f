//! Which answer a request gets, and the answer with its blanks filled in.

use super::cache::tokens;
use super::captured::Captured;
use super::overflow::{Above, Window};
use super::reply::{Failure, Play, Reply, Stop, Usage};
use super::server::{Bound, Inner, Script};

/// An answer, and what it says of the tokens that came in.
pub(super) struct Answer {
    pub reply: Reply,
    pub input: Usage,
}

/// The answer to this request: refusals, then scripts, then rules, in the order given.
pub(super) fn choose(inner: &mut Inner, request: &Captured) -> Answer {
    let mut input = inner.cache.input(request);
    let above = inner.window.filter(|window| tokens(request.raw.len()) > window.tokens);
    if let Some(Window { tokens: window, above: Above::CutSilently }) = above {
        // What is cut from the front takes the cache with it.
        input = Usage { input: window, ..Usage::default() };
    }
    let reply = refusal(inner, request, above).unwrap_or_else(|| scripted(inner, request));
    if let Play::Completion(completion) = &reply.play {
        inner.said.remember(request, completion);
        inner.cache.remember(request);
    }
    Answer { reply, input }
}

fn refusal(inner: &Inner, request: &Captured, above: Option<Window>) -> Option<Reply> {
    if inner.key.as_deref().is_some_and(|key| request.key() != Some(key)) {
        let kind = "invalid_api_key";
        return Some(Reply::failure(401, kind, "Incorrect API key provided"));
    }
    if let Some(violation) = request.violations.first() {
        return Some(Reply::failure(400, "invalid_request_error", violation.clone()));
    }
    let strict = inner.strict.iter().find_map(|strict| strict.refusal(request, &inner.said));
    if strict.is_some() {
        return strict;
    }
    let Window { tokens: window, above } = above?;
    match above {
        Above::CutSilently => None,
        Above::EmptyWithLength => Some(Reply::empty(Stop::Length)),
        Above::Refused(wording) => {
            let body = wording.body(request.wire, tokens(request.raw.len()), window);
            Some(Reply::json(wording.status(), &body))
        }
    }
}

fn scripted(inner: &mut Inner, request: &Captured) -> Reply {
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
    let thread = request.thread();
    let own = scripts
        .iter()
        .position(|script| !script.steps.is_empty() && script.bound == Bound::To(thread.clone()));
    let open = scripts.iter().position(|script| {
        let free = !matches!(script.bound, Bound::To(_));
        free && !script.steps.is_empty() && script.when.holds(request)
    });
    let script = &mut scripts[own.or(open)?];
    if script.bound == Bound::FirstToAsk {
        script.bound = Bound::To(thread);
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
