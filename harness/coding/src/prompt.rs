//! What the model is told. Pure: the same task always gives the same bytes.
//!
//! What stays the same through a phase stands in the system prompt, so that providers can
//! cache it; the task, the plan and what is known so far stand in the first user turn.

use crate::task::attempt::{Hint, Phase};
use crate::task::stage::{Change, Plan};

const POLICY: &str = include_str!("prompt/policy.md");
const PLANNING: &str = include_str!("prompt/planning.md");
const BUILDING: &str = include_str!("prompt/building.md");
const DELIVERY: &str = include_str!("prompt/delivery.md");
const PLAN_HINT: &str = include_str!("prompt/plan_hint.md");
const BUILD_HINT: &str = include_str!("prompt/build_hint.md");

/// What the model is told of the place it works in.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Setting {
    /// Standing instructions of a persistent agent; an ephemeral one's are its task.
    pub instructions: Option<String>,
    /// Branch that is checked out.
    pub branch: String,
    /// Path prefixes it may touch; empty means all.
    pub paths: Vec<String>,
    /// Programs it may run beside the standard ones.
    pub extra_commands: Vec<String>,
    /// What becomes of the commits.
    pub delivery: Delivery,
}

/// What becomes of the commits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// They stay on the branch in this clone.
    Commit,
    /// The branch is pushed; the host has no pull requests that we know.
    Push,
    /// The branch is pushed and a pull request opened.
    PullRequest,
}

/// What the first user turn of an attempt says.
#[derive(Clone, Copy, Debug)]
pub struct Opening<'a> {
    /// The task.
    pub task: &'a str,
    /// The approved plan, while building.
    pub plan: Option<&'a Plan>,
    /// What is to be changed in the plan before, while planning (CODE-31).
    pub change: Option<&'a Change>,
    /// What is known from the attempts before (CODE-25).
    pub known: Option<&'a str>,
}

/// The system prompt of a phase.
pub fn system(phase: Phase, setting: &Setting) -> String {
    let Setting { instructions, branch, paths, extra_commands, delivery } = setting;
    let place = [
        Some(format!("The branch {branch} is checked out, and the work belongs on it.")),
        listed("You may see and change only these paths:", paths),
        listed("Beside the usual programs you may run:", extra_commands),
    ];
    let place: Vec<String> = place.into_iter().flatten().collect();
    let mut parts = vec![format!("# Policy\n\n{}", POLICY.trim())];
    if let Some(instructions) = instructions.as_deref().map(str::trim).filter(|it| !it.is_empty()) {
        parts.push(format!("# Instructions\n\n{instructions}"));
    }
    parts.push(match phase {
        Phase::Plan => format!("# Planning\n\n{}", PLANNING.trim()),
        Phase::Build => format!("# Building\n\n{}", building(*delivery)),
    });
    parts.push(format!("# Repository\n\n{}", place.join("\n")));
    parts.join("\n\n") + "\n"
}

/// The first user turn of an attempt.
pub fn opening(opening: Opening<'_>) -> String {
    let Opening { task, plan, change, known } = opening;
    let mut parts = vec![format!("# Task\n\n{}", task.trim())];
    if let Some(plan) = plan {
        parts.push(format!("# Approved plan\n\n{}", plan.markdown.trim()));
    }
    if let Some(Change { plan, words }) = change {
        let markdown = plan.markdown.trim();
        parts.push(format!("# Plan so far\n\n{markdown}\n\n# Change\n\n{}", said(words)));
    }
    if let Some(known) = known {
        parts.push(format!(
            "# From the attempts before\n\nThis phase was begun before and its allowance of \
             turns was spent. The clone is as it was left. Go on from here; do not begin anew.\n\n\
             {known}"
        ));
    }
    parts.join("\n\n")
}

/// What a person's words to a plan mean for it (CODE-31).
pub fn said(words: &str) -> String {
    let words = match words.trim() {
        "" => "(The answer was empty: say in the plan what you need to know.)",
        given => given,
    };
    format!(
        "The plan was not approved. This was said to it:\n\n{words}\n\n\
         Change the plan accordingly and save it again with save_coding_plan."
    )
}

/// What the host says in the middle of an attempt.
pub fn hint(hint: Hint, phase: Phase, delivery: Delivery, turns: u32) -> String {
    match (hint, phase) {
        (Hint::LastTurns, Phase::Plan) => PLAN_HINT.trim().replace("{{turns}}", &turns.to_string()),
        (Hint::LastTurns, Phase::Build) => BUILD_HINT
            .trim()
            .replace("{{turns}}", &turns.to_string())
            .replace("{{deliver}} and", deliver(delivery)),
        (Hint::CallSomething, Phase::Plan) => "You called no tool. Planning ends with \
            save_coding_plan and with nothing else: go on, or save the plan now."
            .to_owned(),
        (Hint::CallSomething, Phase::Build) => "You called no tool. The task ends with finish \
            and with nothing else: go on, or call finish now."
            .to_owned(),
    }
}

fn building(delivery: Delivery) -> String {
    let delivery = match delivery {
        Delivery::Commit => "4. Do not push: the work stays on this branch.",
        Delivery::Push => "4. Push with git_push.",
        Delivery::PullRequest => DELIVERY.trim(),
    };
    BUILDING.trim().replace("{{delivery}}", delivery)
}

/// As it stands between "commit what works," and "call finish".
fn deliver(delivery: Delivery) -> &'static str {
    match delivery {
        Delivery::Commit => "and",
        Delivery::Push => "push it and",
        Delivery::PullRequest => "push it, open the pull request and",
    }
}

fn listed(title: &str, items: &[String]) -> Option<String> {
    (!items.is_empty()).then(|| format!("{title} {}", items.join(", ")))
}

#[cfg(test)]
mod tests;
