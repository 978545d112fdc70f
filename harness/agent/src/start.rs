//! A start: what an agent counts its evaluations from.

use jiff::Timestamp;

/// Evaluations in which work assigned to each start is declared due (LOOP-17).
const DECLARED_DUE: u32 = 3;

/// The start this process is in (LOOP-15).
///
/// A start is told by its number, the agent's *generation*. It rises with a start,
/// a restart and an edit of what the agent is; only the first two replace the
/// process, so one process may live through several starts (LOOP-16).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Start {
    number: i64,
    began: Timestamp,
    evaluations: u32,
    acted: bool,
}

impl Start {
    /// The start a process finds itself in.
    pub fn begin(number: i64, now: Timestamp) -> Self {
        Self { number, began: now, evaluations: 0, acted: false }
    }

    /// Takes note of the number just read; a higher one begins a new start. A lower one
    /// was read earlier: evaluations and wakes read the agent side by side.
    pub fn observe(&mut self, number: i64, now: Timestamp) -> Observed {
        if number <= self.number {
            return Observed::Same;
        }
        *self = Self::begin(number, now);
        Observed::New
    }

    /// Counts an evaluation, and whether the model called a tool in it.
    pub fn evaluated(&mut self, called_a_tool: bool) {
        self.evaluations += 1;
        self.acted |= called_a_tool;
    }

    /// The start's number.
    pub fn number(&self) -> i64 {
        self.number
    }

    /// The instant it began.
    pub fn began(&self) -> Timestamp {
        self.began
    }

    /// Evaluations done in it.
    pub fn evaluations(&self) -> u32 {
        self.evaluations
    }

    /// Whether work assigned to each start is to be called due although memories
    /// may record it for an earlier start (LOOP-17).
    pub fn declares_work_due(&self) -> bool {
        !self.acted && self.evaluations < DECLARED_DUE
    }
}

/// What [`Start::observe`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observed {
    /// Still the same start.
    Same,
    /// A new start has begun in this process.
    New,
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    /// LOOP-16
    #[test]
    fn an_edit_that_raises_the_number_is_a_new_start_with_its_count_at_zero() {
        let mut start = Start::begin(1, at(0));
        start.evaluated(true);
        start.evaluated(false);
        assert_eq!(start.observe(1, at(30)), Observed::Same);
        assert_eq!((start.evaluations(), start.began()), (2, at(0)));

        assert_eq!(start.observe(2, at(45)), Observed::New);
        assert_eq!(start, Start::begin(2, at(45)));
    }

    /// LOOP-16
    #[test]
    fn a_record_read_late_does_not_bring_an_earlier_start_back() {
        let mut start = Start::begin(2, at(0));
        start.evaluated(false);
        assert_eq!(start.observe(1, at(15)), Observed::Same);
        assert_eq!((start.number(), start.evaluations()), (2, 1));
    }

    /// LOOP-17
    #[test]
    fn work_of_each_start_is_due_for_three_evaluations_or_until_a_tool_was_called() {
        let mut idle = Start::begin(1, at(0));
        let declared = (0..5).map(|_| {
            let due = idle.declares_work_due();
            idle.evaluated(false);
            due
        });
        assert_eq!(declared.collect::<Vec<_>>(), [true, true, true, false, false]);

        let mut busy = Start::begin(1, at(0));
        busy.evaluated(true);
        assert!(!busy.declares_work_due());
    }
}
