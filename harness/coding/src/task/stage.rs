//! Where a task stands, and what follows from what came (CODE-28, CODE-31 to CODE-34).

use foundry_client::{Approval, CodingOutcome, CodingResult};

/// The word that approves a plan; any other words change it (CODE-31).
const BUILD: &str = "build";

/// Where a task stands. It lives in the process alone: a restart begins anew (CODE-34).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Stage {
    /// The model reads and plans. Every task begins here (CODE-28).
    Planning {
        /// What a person wants changed in the plan before.
        change: Option<Change>,
    },
    /// The plan waits for a person.
    Awaiting {
        /// The plan.
        plan: Plan,
    },
    /// The model edits, checks and commits.
    Building {
        /// The approved plan.
        plan: Plan,
    },
    /// Over.
    Ended(CodingResult),
}

/// A saved plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Its text.
    pub markdown: String,
    /// SHA-256 of its text in hex: what is approved.
    pub sha256: String,
    /// Where it is stored, `documents:<id>` (CODE-30); nowhere in a local run.
    pub location: Option<String>,
}

/// A plan that was not approved, and what a person said to it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The plan.
    pub plan: Plan,
    /// The words.
    pub words: String,
}

/// What came of a stage.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Came {
    /// The model saved a plan.
    Planned(Plan),
    /// A person answered to the plan.
    Answered(Reply),
    /// The task ended: finished, given up, or cut off.
    Ended(CodingResult),
}

/// What a person said to a plan.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reply {
    /// The words.
    pub text: String,
    /// Digest of the plan that was read.
    pub plan_sha256: Option<String>,
}

impl Stage {
    /// Where every task begins (CODE-28).
    pub fn first() -> Self {
        Self::Planning { change: None }
    }

    /// Where the task stands next. What cannot come at a stage is a bug, and ends the
    /// task as one.
    #[must_use]
    pub fn next(self, came: Came, approval: Approval) -> Self {
        match (self, came) {
            (_, Came::Ended(result)) => Self::Ended(result),
            (Self::Planning { .. }, Came::Planned(plan)) => match approval {
                Approval::Person => Self::Awaiting { plan },
                Approval::Itself => Self::Building { plan }, // CODE-32
            },
            (Self::Awaiting { plan }, Came::Answered(reply)) => answered(plan, reply),
            (stage @ Self::Ended(_), Came::Planned(_) | Came::Answered(_)) => stage,
            (Self::Planning { .. }, Came::Answered(_)) => misplaced("an answer while planning"),
            (Self::Awaiting { .. }, Came::Planned(_)) => misplaced("a plan while one waits"),
            (Self::Building { .. }, Came::Planned(_) | Came::Answered(_)) => {
                misplaced("a plan or an answer while building")
            }
        }
    }
}

fn answered(plan: Plan, reply: Reply) -> Stage {
    if !is_build(&reply.text) {
        return Stage::Planning { change: Some(Change { plan, words: reply.text }) };
    }
    // The platform has compared the digests already; a terminal shows one plan only.
    match reply.plan_sha256 {
        Some(read) if read != plan.sha256 => Stage::Awaiting { plan },
        Some(_) | None => Stage::Building { plan },
    }
}

/// Whether the words approve a plan.
pub fn is_build(words: &str) -> bool {
    words.trim().eq_ignore_ascii_case(BUILD)
}

fn misplaced(what: &str) -> Stage {
    Stage::Ended(CodingResult {
        outcome: CodingOutcome::HarnessFailed,
        summary: format!("the harness got {what}; this is a defect of the harness"),
    })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use rstest::rstest;

    use super::*;

    fn plan(sha256: &str) -> Plan {
        Plan { markdown: "# Plan".to_owned(), sha256: sha256.to_owned(), location: None }
    }

    fn says(text: &str, plan_sha256: Option<&str>) -> Came {
        let plan_sha256 = plan_sha256.map(str::to_owned);
        Came::Answered(Reply { text: text.to_owned(), plan_sha256 })
    }

    fn ended(outcome: CodingOutcome) -> CodingResult {
        CodingResult { outcome, summary: "so".to_owned() }
    }

    /// CODE-28
    #[test]
    fn every_task_plans_first() {
        assert_eq!(Stage::first(), Stage::Planning { change: None });
    }

    /// CODE-31, CODE-32, CODE-33
    #[test]
    fn a_plan_waits_for_a_person_or_is_built_at_once() {
        let came = || Came::Planned(plan("a"));
        let next = |approval| Stage::first().next(came(), approval);
        assert_eq!(next(Approval::Person), Stage::Awaiting { plan: plan("a") });
        assert_eq!(next(Approval::Itself), Stage::Building { plan: plan("a") });
    }

    /// CODE-31
    #[rstest]
    #[case("build", Some("a"))]
    #[case("  Build\n", Some("a"))]
    #[case("BUILD", None)]
    fn the_reply_build_begins_the_work(#[case] words: &str, #[case] read: Option<&str>) {
        let waiting = Stage::Awaiting { plan: plan("a") };
        let next = waiting.next(says(words, read), Approval::Person);
        assert_eq!(next, Stage::Building { plan: plan("a") });
    }

    /// CODE-31
    #[rstest]
    #[case("build it, but with tests")]
    #[case("no")]
    #[case("")]
    #[case("do not build")]
    fn other_words_change_the_plan(#[case] words: &str) {
        let waiting = Stage::Awaiting { plan: plan("a") };
        let next = waiting.next(says(words, None), Approval::Person);
        let change = Change { plan: plan("a"), words: words.to_owned() };
        assert_eq!(next, Stage::Planning { change: Some(change) });
    }

    /// CODE-31
    #[test]
    fn build_for_another_plan_approves_nothing() {
        let waiting = Stage::Awaiting { plan: plan("a") };
        let next = waiting.clone().next(says("build", Some("b")), Approval::Person);
        assert_eq!(next, waiting);
    }

    #[rstest]
    #[case(Stage::first())]
    #[case(Stage::Awaiting { plan: plan("a") })]
    #[case(Stage::Building { plan: plan("a") })]
    fn an_end_ends_every_stage_and_stays(#[case] stage: Stage) {
        let over = stage.next(Came::Ended(ended(CodingOutcome::OutOfTime)), Approval::Person);
        assert_eq!(over, Stage::Ended(ended(CodingOutcome::OutOfTime)));
        assert_eq!(over.clone().next(Came::Planned(plan("b")), Approval::Itself), over);
    }

    #[rstest]
    #[case(Stage::first(), says("build", None))]
    #[case(Stage::Awaiting { plan: plan("a") }, Came::Planned(plan("b")))]
    #[case(Stage::Building { plan: plan("a") }, Came::Planned(plan("b")))]
    #[case(Stage::Building { plan: plan("a") }, says("build", None))]
    fn what_cannot_come_builds_nothing(#[case] stage: Stage, #[case] came: Came) {
        let next = stage.next(came, Approval::Person);
        assert!(
            matches!(&next, Stage::Ended(result) if result.outcome == CodingOutcome::HarnessFailed),
            "{next:?}"
        );
    }
}
