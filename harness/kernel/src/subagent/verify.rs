//! A verdict, and whether what it cites was ever read (KERN-31).

use std::fmt;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::json;

use crate::entry::{Entry, Settled, UserInput};
use crate::policy::structured::OutputSchema;
use crate::policy::truncate::prefix;
use crate::tool::Tool;

/// Characters, spaces not counted, of which a quote has this many at least, or all that
/// its source has: fewer are found in anything.
const SHORTEST_QUOTE: usize = 8;
/// Bytes of a quote in a refusal.
const SHOWN_BYTES: usize = 80;

/// What a verifier found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Verdict {
    #[serde(rename = "verdict")]
    finding: Finding,
    reasons: Vec<String>,
    citations: Vec<Citation>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Finding {
    Refuted,
    NotRefuted,
    Unclear,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Citation {
    tool: String,
    quote: String,
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&serde_json::to_string(self).map_err(|_| fmt::Error)?)
    }
}

/// What a verifier submits.
pub(super) fn schema() -> OutputSchema {
    let text = |what: &str| json!({ "type": "string", "minLength": 1, "maxLength": 4000, "description": what });
    OutputSchema::trusted(json!({
        "type": "object", "additionalProperties": false,
        "required": ["verdict", "reasons", "citations"],
        "properties": {
            "verdict": {
                "type": "string", "enum": ["refuted", "not_refuted", "unclear"],
                "description": "What became of your tries to refute the claim."
            },
            "reasons": {
                "type": "array", "minItems": 1, "maxItems": 20, "items": text("One reason.")
            },
            "citations": {
                "type": "array", "maxItems": 50,
                "items": {
                    "type": "object", "additionalProperties": false, "required": ["tool", "quote"],
                    "properties": {
                        "tool": text("Name of the tool that returned it."),
                        "quote": text("A passage of its output, word for word.")
                    }
                }
            }
        }
    }))
}

/// Whether a verdict stands on what was read in this log; else what is wrong with it. One
/// that says that nothing could be found out need cite nothing.
pub(super) fn check(
    verdict: &Verdict,
    log: &[Entry],
    tools: &[Arc<Tool>],
) -> Result<(), Vec<String>> {
    let Verdict { finding, reasons: _, citations } = verdict;
    let mut wrong: Vec<String> =
        citations.iter().filter_map(|citation| unfounded(citation, log, tools)).collect();
    let must_cite = match finding {
        Finding::Refuted | Finding::NotRefuted => true,
        Finding::Unclear => false,
    };
    if must_cite && citations.is_empty() {
        wrong.push("it cites nothing".to_owned());
    }
    if wrong.is_empty() { Ok(()) } else { Err(wrong) }
}

fn unfounded(citation: &Citation, log: &[Entry], tools: &[Arc<Tool>]) -> Option<String> {
    let Citation { tool, quote } = citation;
    // What the kernel's own tools return is not evidence.
    if !tools.iter().any(|known| known.spec.name == *tool) {
        return Some(format!("{tool:?} is none of your tools"));
    }
    let mut outputs = outputs_of(tool, log).map(unspaced).peekable();
    if outputs.peek().is_none() {
        return Some(format!("{tool} returned nothing in this run"));
    }
    let wanted = unspaced(quote);
    let is_long = wanted.chars().count() >= SHORTEST_QUOTE;
    let is_found = outputs.any(|output| {
        if is_long { output.contains(&wanted) } else { !wanted.is_empty() && output == wanted }
    });
    let shown = prefix(quote, SHOWN_BYTES);
    match (is_found, is_long) {
        (true, _) => None,
        (false, true) => Some(format!("{shown:?} is in no output of {tool}")),
        (false, false) => Some(format!("{shown:?} is too short to be a quote of {tool}")),
    }
}

fn outputs_of<'a>(tool: &'a str, log: &'a [Entry]) -> impl Iterator<Item = &'a str> {
    let results = log.iter().filter_map(|entry| match entry {
        Entry::Results { results } => Some(results),
        Entry::User { .. } | Entry::Assistant { .. } | Entry::Fold { .. } | Entry::Stubs { .. } => {
            None
        }
    });
    results.flatten().filter(move |result| result.name == tool).filter_map(|result| {
        match &result.settled {
            Settled::Output { content } => Some(content.as_str()),
            Settled::Failed { .. } | Settled::Unknown { .. } | Settled::NotRun { .. } => None,
        }
    })
}

fn unspaced(text: &str) -> String {
    text.chars().filter(|letter| !letter.is_whitespace()).collect()
}

/// What a verifier reads when its verdict does not stand.
pub(super) fn refusal(wrong: &[String]) -> UserInput {
    UserInput::from(format!(
        "Your verdict was not accepted, because of its citations:\n- {}\nRead what you need, and \
         submit again. Each citation names a tool you called and a passage of what it returned, \
         word for word. If you cannot cite anything, the verdict is unclear.",
        wrong.join("\n- ")
    ))
}

/// What is reported of a verdict that still does not stand.
pub(super) fn unclear(verdict: &Verdict, wrong: &[String]) -> Verdict {
    let Verdict { finding: _, reasons, citations: _ } = verdict;
    let why = format!("its citations do not stand: {}", wrong.join("; "));
    let reasons = std::iter::once(why).chain(reasons.iter().cloned()).collect();
    Verdict { finding: Finding::Unclear, reasons, citations: Vec::new() }
}

#[cfg(test)]
mod tests;
