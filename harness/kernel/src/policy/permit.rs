//! Whether a call may be run. A refusal is the call's result, and the turn goes on
//! (LOOP-25, CHAT-21).

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use super::schema::cost;
use super::search;
use crate::entry::Settled;
use crate::tool::{Effect, Found, Guard, Tool, Toolbox};

/// Bytes of the arguments of one call; no reply of a model is that long.
const MOST_BYTES: usize = 4 << 20;
/// Depth of the arguments of one call; what is parsed is never deeper.
const DEEPEST: usize = 128;
/// Names that a refusal lists.
const MOST_NAMES: usize = 50;

/// What is to become of a call.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Judged {
    /// It is run, with these arguments.
    Run(Map<String, Value>),
    /// It is answered without being run: refused, or a search for tools (KERN-08).
    Answered(Settled),
    /// It submits the value of the run (KERN-28).
    Submitted {
        /// The value; it fits the run's output schema.
        value: Value,
    },
}

/// Judges a call whose arguments were parsed: is there such a tool, can it be called yet,
/// do the arguments fit? What the kernel answers itself is answered here; a search adds
/// what it finds to `activated`.
pub(crate) fn judge(
    tools: &Toolbox,
    activated: &mut Vec<String>,
    name: &str,
    arguments: Map<String, Value>,
) -> Judged {
    let found = tools.find(name);
    let (tool, is_known) = match &found {
        Found::Tool(tool) => (tool.as_ref(), known(tools, activated, name).map(|_| ())),
        Found::Search(tool) | Found::Output(tool) => (*tool, Ok(())),
        Found::None => return refused(missing(tools, activated, name)),
    };
    let arguments = match is_known.and_then(|()| fitting(tool, arguments)) {
        Ok(arguments) => arguments,
        Err(reason) => return refused(reason),
    };
    match found {
        Found::Search(_) => Judged::Answered(search::answer(tools, activated, &arguments)),
        Found::Output(_) => Judged::Submitted { value: Value::Object(arguments) },
        Found::Tool(_) | Found::None => Judged::Run(arguments),
    }
}

fn refused(reason: String) -> Judged {
    Judged::Answered(Settled::not_run(reason))
}

/// The tool of this name, if it can be called now; else what to do instead.
pub(crate) fn known<'a>(
    tools: &'a Toolbox,
    activated: &[String],
    name: &str,
) -> Result<&'a Arc<Tool>, String> {
    match tools.get(name) {
        Some(tool) if tool.deferred && !activated.iter().any(|known| known == name) => {
            Err(format!(
                "the tool {name} is not loaded yet: call {} with the query \"select:{name}\" \
                 first, then read its schema",
                search::NAME
            ))
        }
        Some(tool) => Ok(tool),
        None => Err(missing(tools, activated, name)),
    }
}

fn missing(tools: &Toolbox, activated: &[String], name: &str) -> String {
    let name = super::truncate::prefix(name, 100);
    let mut existing: Vec<&str> = tools.names(activated).collect();
    if existing.is_empty() {
        return format!("there is no tool {name:?}, nor any other");
    }
    existing.sort_unstable();
    let left_out = existing.len().saturating_sub(MOST_NAMES);
    existing.truncate(MOST_NAMES);
    let more = if left_out == 0 { String::new() } else { format!(" and {left_out} more") };
    format!("there is no tool {name:?}. There are: {}{more}", existing.join(", "))
}

/// The arguments, when they are bounded and fit the tool's schema.
fn fitting(tool: &Tool, arguments: Map<String, Value>) -> Result<Map<String, Value>, String> {
    let name = &tool.spec.name;
    let arguments = Value::Object(arguments);
    if !cost::is_within_depth(&arguments, DEEPEST) {
        return Err(format!("the arguments of {name} are nested more than {DEEPEST} deep"));
    }
    let bytes = cost::json_bytes(&arguments);
    if bytes > MOST_BYTES {
        return Err(format!(
            "the arguments of {name} have {bytes} bytes, and {MOST_BYTES} are the most: \
             make several smaller calls"
        ));
    }
    let Value::Object(arguments) = arguments else {
        return Err(format!("the arguments of {name} are no object"));
    };
    match tool.mismatch(&arguments) {
        Some(mismatch) => Err(format!("the arguments do not fit the schema of {name}: {mismatch}")),
        None => Ok(arguments),
    }
}

/// Which calls need leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Mode {
    /// Every call that changes something, and every guarded one (CHAT-14).
    Default,
    /// Guarded calls alone (CHAT-15).
    Auto,
    /// None (CHAT-16).
    Bypass,
    /// None that changes something gets it: a plan is made first (CHAT-17).
    Plan,
}

/// What a mode says to a call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Decision {
    /// It is run.
    Allow,
    /// Somebody is asked.
    Ask,
    /// It is not run, for this reason, which the model reads.
    Deny(&'static str),
}

const PLAN_FIRST: &str = "the conversation is in plan mode, in which nothing is changed: present \
    your plan, and wait until it is approved";

/// What a mode says to a call of a tool with this effect and guard. Asked at dispatch, so
/// that a change of mode counts for the next call (CHAT-19).
pub fn decide(mode: Mode, effect: Effect, guard: Guard) -> Decision {
    match (mode, effect, guard) {
        (Mode::Plan, Effect::Write, Guard::Routine | Guard::Guarded) => Decision::Deny(PLAN_FIRST),
        (Mode::Default, Effect::Write, Guard::Routine | Guard::Guarded)
        | (Mode::Default | Mode::Auto | Mode::Plan, Effect::Read, Guard::Guarded)
        | (Mode::Auto, Effect::Write, Guard::Guarded) => Decision::Ask,
        (Mode::Bypass, Effect::Read | Effect::Write, Guard::Routine | Guard::Guarded)
        | (Mode::Default | Mode::Auto | Mode::Plan, Effect::Read, Guard::Routine)
        | (Mode::Auto, Effect::Write, Guard::Routine) => Decision::Allow,
    }
}

#[cfg(test)]
mod tests;
