//! Scripts as files, for the executable. `README.md` describes the form.

mod reply;
mod server;

use std::path::Path;

use anyhow::Context;
use serde::Deserialize;

use super::reply::Reply;
use super::rule::{Rule, When};
use super::server::ModelServer;
use super::strict::Strict;
use reply::ReplyPart;
use server::{ChecksPart, PrefixPart, WindowPart};

/// A whole script file.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ScriptFile {
    /// The only key accepted; absent: any, or none.
    key: Option<String>,
    /// The window to enforce; absent: none.
    window: Option<WindowPart>,
    /// What this server demands beyond the wire's common form: one object, or a list.
    #[serde(default, deserialize_with = "server::one_or_many")]
    strict: Vec<Strict>,
    /// Whether a conversation may break with its beginning.
    #[serde(default)]
    prefix: PrefixPart,
    /// When requests are checked.
    #[serde(default)]
    checks: ChecksPart,
    /// Ordered answers, which come before all rules.
    #[serde(default)]
    scripts: Vec<ScriptPart>,
    /// Answers to whatever matches, first match first.
    #[serde(default)]
    rules: Vec<RulePart>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct ScriptPart {
    #[serde(default)]
    when: When,
    /// Keeps all steps for the first conversation that asks.
    #[serde(default)]
    one_conversation: bool,
    steps: Vec<ReplyPart>,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct RulePart {
    #[serde(default)]
    when: When,
    times: Option<usize>,
    reply: ReplyPart,
}

impl ScriptFile {
    /// Reads a file; the error names the file, the line and the field.
    pub fn read(path: &Path) -> anyhow::Result<Self> {
        let place = || format!("the script {} is not usable", path.display());
        let text = std::fs::read_to_string(path).with_context(place)?;
        Self::parse(&text).with_context(place)
    }

    /// Reads a file's text. JSON is YAML.
    pub fn parse(text: &str) -> anyhow::Result<Self> {
        let file: Self = serde_yaml::from_str(text)?;
        for step in file.scripts.iter().flat_map(|script| &script.steps) {
            step.check()?;
        }
        for RulePart { when: _, times: _, reply } in &file.rules {
            reply.check()?;
            anyhow::ensure!(
                !reply.has_turns(),
                "a rule has no turns: it answers as often as asked"
            );
        }
        Ok(file)
    }

    /// Has a server answer so.
    pub fn play_on(self, server: &ModelServer) {
        let Self { key, window, strict, prefix, checks, scripts, rules } = self;
        if let Some(key) = key {
            server.require_key(key);
        }
        if let Some(WindowPart(window)) = window {
            server.window(window);
        }
        for strict in strict {
            server.strict(strict);
        }
        match prefix {
            PrefixPart::Free => {}
            PrefixPart::Strict => server.demand_prefix(),
        }
        match checks {
            ChecksPart::First => {}
            ChecksPart::Later => server.check_at_the_end(),
        }
        for ScriptPart { when, one_conversation, steps } in scripts {
            let steps: Vec<Reply> = steps.into_iter().flat_map(ReplyPart::replies).collect();
            if one_conversation {
                server.conversation(when, steps);
            } else {
                server.script_for(when, steps);
            }
        }
        for RulePart { when, times, reply } in rules {
            let rule = Rule::new(when, reply.into());
            server.on(match times {
                Some(times) => rule.times(times),
                None => rule,
            });
        }
    }
}

#[cfg(test)]
mod tests;
