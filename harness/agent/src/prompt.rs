//! What the model is told. Pure: the same agent, thoughts and instant always give
//! the same bytes.
//!
//! What stays the same from one cycle to the next stands in the system prompt, so
//! that providers can cache it (LOOP-12); what changes stands in the user turn.

use foundry_platform::text::instant;
use jiff::Timestamp;

use crate::start::Start;
use crate::working_set::WorkingSet;

/// The part of the system prompt that is the same for every agent.
const POLICY: &str = include_str!("prompt/policy.md");

/// Who the agent is; its conversation's id joins this when it has one (LOOP-19).
#[derive(Clone, Copy, Debug)]
pub struct Identity<'a> {
    /// Its id.
    pub id: &'a str,
    /// Its slug.
    pub slug: &'a str,
    /// The name people see.
    pub name: &'a str,
}

/// The system prompt: policy, instructions, thoughts (LOOP-11).
pub fn system(instructions: &str, thoughts: &str) -> String {
    let instructions = match instructions.trim() {
        "" => "You have no instructions yet. Call no tool; say that instructions are missing.",
        given => given,
    };
    format!(
        "# Policy\n\n{}\n\n# Instructions\n\n{instructions}\n\n# Thoughts\n\n{}\n",
        POLICY.trim(),
        thoughts.trim()
    )
}

/// The user turn of an evaluation (LOOP-14, LOOP-15).
pub fn evaluation(now: Timestamp, who: Identity<'_>, start: &Start, log: &WorkingSet) -> String {
    let due = if start.declares_work_due() {
        "\nWork that your instructions assign to each start is due in this start, even when \
         your memories record it for an earlier one.\n"
    } else {
        ""
    };
    format!(
        "{}\n{due}\nDecide whether anything your instructions ask for is due now, and do it. \
         If nothing is due, say why in one short sentence and call no tool.\n\n{}",
        situation(now, who, start),
        cycle_log(log)
    )
}

/// The user turn of a wake: somebody or something wants this agent's attention.
pub fn wake(
    now: Timestamp,
    who: Identity<'_>,
    start: &Start,
    log: &WorkingSet,
    woken_by: &str,
) -> String {
    format!(
        "{}\n\n{woken_by}\n\nDo what this asks for as far as your instructions and tools allow, \
         then say in a few words what you did.\n\n{}",
        situation(now, who, start),
        cycle_log(log)
    )
}

fn situation(now: Timestamp, who: Identity<'_>, start: &Start) -> String {
    format!(
        "Time now: {}\nYou are agent {}, slug {}, shown as {}.\n\
         This start began at {}. It is start number {}. Evaluations done in it: {}.",
        instant(now),
        who.id,
        who.slug,
        who.name,
        instant(start.began()),
        start.number(),
        start.evaluations()
    )
}

fn cycle_log(log: &WorkingSet) -> String {
    format!("Cycle log of this process, oldest first:\n{}", log.render())
}

#[cfg(test)]
mod tests;
