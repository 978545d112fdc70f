//! `ToolSearch`: finds tools that are out of sight and brings them in (KERN-08).

use std::collections::BTreeSet;
use std::sync::Arc;

use async_trait::async_trait;
use foundry_llm::ToolSpec;
use serde_json::{Map, Value, json};

use super::truncate::prefix;
use crate::entry::Settled;
use crate::tool::{Effect, Execute, Tool, ToolError, Toolbox};

/// Its name on the wire.
pub(crate) const NAME: &str = "ToolSearch";

/// Hits of one search by keywords.
const DEFAULT_HITS: usize = 5;
/// Most hits of one search, by name or by keywords.
const MOST_HITS: usize = 20;
/// Bytes of names that the description lists.
const LISTED_BYTES: usize = 4_000;
/// Bytes of a tool's description in a list of hits.
const SHOWN_BYTES: usize = 200;
/// Words of a query that are looked for.
const MOST_WORDS: usize = 16;

/// How much a word of the query says when it is found there.
const EXACT_NAME: u32 = 100;
const PART_OF_NAME: u32 = 10;
const BEGINS_PART_OF_NAME: u32 = 5;
const WORD_OF_DESCRIPTION: u32 = 2;
const BEGINS_WORD_OF_DESCRIPTION: u32 = 1;

/// The search as the model sees it. What it finds among stays the same for a whole run,
/// and so do its bytes.
pub(crate) fn tool(tools: &[Arc<Tool>]) -> Tool {
    let names = tools.iter().filter(|tool| tool.deferred).map(|tool| tool.spec.name.as_str());
    let spec = ToolSpec {
        name: NAME.to_owned(),
        description: format!(
            "Loads tools that cannot be called yet; once found, they can be called as any \
             other. The query is either \"select:NAME,NAME\" with exact names, or keywords \
             that are looked for in names and descriptions. Load all that a task needs at \
             once. Tools to be loaded: {}",
            listed(names)
        ),
        input_schema: json!({
            "type": "object", "additionalProperties": false, "required": ["query"],
            "properties": {
                "query": {
                    "type": "string", "minLength": 1, "maxLength": 1000,
                    "description": "select:NAME,NAME or keywords."
                },
                "max_results": {
                    "type": "integer", "minimum": 1, "maximum": MOST_HITS,
                    "description": format!("Most tools to load; {DEFAULT_HITS} unless set.")
                }
            }
        }),
    };
    Tool::new(spec, Effect::Read, Arc::new(Answered))
}

fn listed<'a>(names: impl Iterator<Item = &'a str>) -> String {
    let mut list = String::new();
    let mut left_out = 0;
    for name in names {
        if list.len() + name.len() > LISTED_BYTES {
            left_out += 1;
            continue;
        }
        if !list.is_empty() {
            list.push_str(", ");
        }
        list.push_str(name);
    }
    match left_out {
        0 => list,
        more => format!("{list} and {more} more, to be found by keywords"),
    }
}

/// The kernel answers the call while it judges it, so nothing is left to be run.
struct Answered;

#[async_trait]
impl Execute for Answered {
    async fn execute(&self, _: Map<String, Value>) -> Result<String, ToolError> {
        Err(ToolError::Failed(format!("{NAME} is answered by the kernel and never run")))
    }
}

/// Answers a search, and adds every hit to the tools in sight: all at once, for each
/// change of the list costs the provider's cache.
pub(crate) fn answer(
    tools: &Toolbox,
    activated: &mut Vec<String>,
    arguments: &Map<String, Value>,
) -> Settled {
    let query = arguments.get("query").and_then(Value::as_str).unwrap_or_default().trim();
    let asked = arguments.get("max_results").and_then(Value::as_u64);
    let most = asked.map_or(DEFAULT_HITS, |most| usize::try_from(most).unwrap_or(MOST_HITS));
    let most = most.clamp(1, MOST_HITS);
    let found = match query.strip_prefix("select:") {
        Some(names) => select(tools, activated, names),
        None => Found { hits: ranked(tools, query, most), notes: Vec::new() },
    };
    bring_in(found, activated, query)
}

struct Found<'a> {
    hits: Vec<&'a Arc<Tool>>,
    /// What there is to say of names that are no hits.
    notes: Vec<String>,
}

fn select<'a>(tools: &'a Toolbox, activated: &[String], names: &str) -> Found<'a> {
    let mut found = Found { hits: Vec::new(), notes: Vec::new() };
    let mut seen = BTreeSet::new();
    let names = names.split([',', ' ', '\n']).map(str::trim).filter(|name| !name.is_empty());
    for name in names.filter(|name| seen.insert(*name)) {
        match tools.get(name) {
            Some(tool) if tool.deferred && found.hits.len() < MOST_HITS => found.hits.push(tool),
            Some(tool) if tool.deferred => {
                found.notes.push(format!("{name} was left out: {MOST_HITS} are the most at once"));
            }
            Some(_) => found.notes.push(format!("{name} could be called all along")),
            None if tools.names(activated).any(|known| known == name) => {
                found.notes.push(format!("{name} could be called all along"));
            }
            None => found.notes.push(unknown(tools, name)),
        }
    }
    found
}

fn unknown(tools: &Toolbox, name: &str) -> String {
    let name = prefix(name, SHOWN_BYTES);
    let near: Vec<&str> =
        ranked(tools, name, 3).into_iter().map(|tool| tool.spec.name.as_str()).collect();
    match near.as_slice() {
        [] => format!("there is no tool {name:?}"),
        near => format!("there is no tool {name:?}; near it are {}", near.join(", ")),
    }
}

/// The deferred tools in which the query's words are found, best first; of two that are
/// as good, the one given first.
fn ranked<'a>(tools: &'a Toolbox, query: &str, most: usize) -> Vec<&'a Arc<Tool>> {
    let query = query.to_lowercase();
    let words: Vec<&str> = words_of(&query).take(MOST_WORDS).collect();
    let mut scored: Vec<(u32, &Arc<Tool>)> = tools
        .deferred()
        .map(|tool| (score(tool, &query, &words), tool))
        .filter(|(score, _)| *score > 0)
        .collect();
    scored.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
    scored.into_iter().take(most).map(|(_, tool)| tool).collect()
}

fn score(tool: &Tool, query: &str, words: &[&str]) -> u32 {
    let name = spaced(&tool.spec.name);
    let description = tool.spec.description.to_lowercase();
    let exact = if tool.spec.name.to_lowercase() == query { EXACT_NAME } else { 0 };
    let found = |word: &&str| {
        best(&name, word, PART_OF_NAME, BEGINS_PART_OF_NAME)
            + best(&description, word, WORD_OF_DESCRIPTION, BEGINS_WORD_OF_DESCRIPTION)
    };
    words.iter().map(found).fold(exact, u32::saturating_add)
}

fn best(text: &str, word: &str, whole: u32, beginning: u32) -> u32 {
    let of = |found: &str| match found.strip_prefix(word) {
        Some("") => whole,
        // Two letters begin too many words.
        Some(_) if word.len() > 2 => beginning,
        Some(_) | None => 0,
    };
    words_of(text).map(of).max().unwrap_or(0)
}

fn words_of(text: &str) -> impl Iterator<Item = &str> {
    text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty())
}

/// A name in lower case with its parts apart: `createIssue` and `create_issue` are both
/// `create issue`.
fn spaced(name: &str) -> String {
    let mut spaced = String::with_capacity(name.len() + 4);
    let mut before = ' ';
    for letter in name.chars() {
        if letter.is_uppercase() && before.is_lowercase() {
            spaced.push(' ');
        }
        spaced.extend(letter.to_lowercase());
        before = letter;
    }
    spaced
}

fn bring_in(found: Found<'_>, activated: &mut Vec<String>, query: &str) -> Settled {
    let Found { hits, notes } = found;
    let (mut lines, mut notes) = (Vec::new(), notes);
    for tool in hits {
        let ToolSpec { name, description, input_schema: _ } = &tool.spec;
        if let Err(error) = tool.prepare() {
            notes.push(format!("{name} cannot be called: its schema cannot be used: {error}"));
            continue;
        }
        if !activated.contains(name) {
            activated.push(name.clone());
        }
        let first = description.lines().next().unwrap_or_default();
        lines.push(format!("- {name}: {}", prefix(first, SHOWN_BYTES)));
    }
    if lines.is_empty() && notes.is_empty() {
        notes.push(format!(
            "no tool was found for {:?}: try other words",
            prefix(query, SHOWN_BYTES)
        ));
    }
    let notes = notes.join("\n");
    if lines.is_empty() {
        return Settled::failed(notes);
    }
    let list = lines.join("\n");
    let end = if notes.is_empty() { notes } else { format!("\n{notes}") };
    Settled::output(format!("These tools can be called now:\n{list}{end}"))
}

#[cfg(test)]
mod tests;
