//! The last eight cycles of this process: what was looked up, what each lookup
//! returned and what was concluded (LOOP-10).

use std::collections::VecDeque;

use foundry_platform::text::{cut, instant};
use jiff::Timestamp;

/// Cycles kept.
const CYCLES: usize = 8;
/// Lookups shown of one cycle.
const LOOKUPS: usize = 20;
/// Bytes kept of what a lookup returned.
const RETURNED_BYTES: usize = 600;
/// Bytes kept of a conclusion.
const CONCLUSION_BYTES: usize = 1_000;

/// What this process has done lately. Kept nowhere else: a restart clears it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct WorkingSet {
    /// As they are shown: what is not shown is not kept.
    cycles: VecDeque<String>,
}

/// One evaluation or wake.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    /// When it began.
    pub at: Timestamp,
    /// What it was, such as `evaluation 3 of start 2`.
    pub what: String,
    /// Tools called, in order.
    pub lookups: Vec<Lookup>,
    /// What the model said last.
    pub conclusion: String,
}

/// One tool call of a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// Tool and arguments.
    call: String,
    /// How what came back begins.
    returned: String,
}

impl Lookup {
    /// A call, and as much of what it returned as is kept: a result may be megabytes
    /// long, and a cycle may make many calls.
    pub fn new(call: String, returned: &str) -> Self {
        Self { call, returned: one_line(returned, RETURNED_BYTES) }
    }
}

impl WorkingSet {
    /// Adds a cycle, and forgets the ninth.
    pub fn push(&mut self, cycle: &Cycle) {
        if self.cycles.len() == CYCLES {
            self.cycles.pop_front();
        }
        self.cycles.push_back(cycle.render());
    }

    /// The cycle log as the user turn shows it, oldest first.
    pub fn render(&self) -> String {
        if self.cycles.is_empty() {
            return "No cycle has run in this process yet.".to_owned();
        }
        self.cycles.iter().map(String::as_str).collect::<Vec<_>>().join("\n")
    }
}

impl Cycle {
    fn render(&self) -> String {
        let mut lines = vec![format!("- {} at {}", self.what, instant(self.at))];
        for Lookup { call, returned } in self.lookups.iter().take(LOOKUPS) {
            lines.push(format!("  - {call} returned: {returned}"));
        }
        if self.lookups.len() > LOOKUPS {
            lines.push(format!("  - and {} more calls", self.lookups.len() - LOOKUPS));
        }
        lines.push(format!("  - concluded: {}", one_line(&self.conclusion, CONCLUSION_BYTES)));
        lines.join("\n")
    }
}

fn one_line(text: &str, limit: usize) -> String {
    cut(text.trim(), limit).replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn cycle(number: i64) -> Cycle {
        Cycle {
            at: Timestamp::from_second(number).unwrap(),
            what: format!("evaluation {number} of start 1"),
            lookups: vec![Lookup::new(format!("recall query=fact {number}"), "one\nmemory")],
            conclusion: "nothing is due".to_owned(),
        }
    }

    /// LOOP-10
    #[test]
    fn the_last_eight_cycles_are_kept_with_lookups_returns_and_conclusions() {
        let mut set = WorkingSet::default();
        for number in 1..=9 {
            set.push(&cycle(number));
        }
        let log = set.render();
        assert!(!log.contains("evaluation 1 of"), "{log}");
        assert!(log.starts_with(
            "- evaluation 2 of start 1 at 1970-01-01T00:00:02Z\n  \
             - recall query=fact 2 returned: one memory\n  - concluded: nothing is due\n"
        ));
        assert_eq!(log.matches("concluded").count(), 8);
    }

    /// LOOP-10
    #[test]
    fn a_wide_cycle_cannot_fill_the_user_turn() {
        let mut set = WorkingSet::default();
        let wide = Lookup::new("recall".to_owned(), &"é".repeat(10_000));
        set.push(&Cycle { lookups: vec![wide; 25], ..cycle(1) });
        let log = set.render();
        assert!(log.contains("and 5 more calls"), "{log}");
        assert!(log.len() < 20 * (RETURNED_BYTES + 60), "{} bytes", log.len());
    }

    /// LOOP-10
    #[test]
    fn a_process_begins_with_an_empty_log() {
        assert_eq!(WorkingSet::default().render(), "No cycle has run in this process yet.");
    }
}
