//! The sum of all suites.

use super::suite::Outcome;

/// How every suite went.
#[derive(Default)]
pub(super) struct Report {
    outcomes: Vec<Outcome>,
}

impl Report {
    /// Adds a suite.
    pub fn add(&mut self, outcome: Outcome) {
        self.outcomes.push(outcome);
    }

    /// `N passed, N failed`.
    pub fn sum(&self) -> String {
        let passed: usize = self.outcomes.iter().map(|outcome| outcome.passed).sum();
        let failed: usize = self.outcomes.iter().map(|outcome| outcome.failed).sum();
        format!("{passed} passed, {failed} failed")
    }

    /// Whether something was tested and nothing failed.
    pub fn is_good(&self) -> bool {
        self.outcomes.iter().all(|outcome| outcome.failed == 0)
            && self.outcomes.iter().any(|outcome| outcome.passed > 0)
    }

    /// Names the suites to look at.
    pub fn what_failed(&self) -> String {
        let failed = self.outcomes.iter().filter(|outcome| outcome.failed > 0);
        let names: Vec<_> = failed.map(|outcome| outcome.name.as_str()).collect();
        if names.is_empty() {
            "no test ran; does the filter fit?".to_owned()
        } else {
            format!("tests failed in {}", names.join(", "))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn outcome(name: &str, passed: usize, failed: usize) -> Outcome {
        Outcome { name: name.to_owned(), passed, failed }
    }

    #[test]
    fn a_report_sums_suites_and_names_those_that_failed() {
        let mut report = Report::default();
        report.add(outcome("crds", 5, 0));
        report.add(outcome("operator it", 2, 1));
        assert_eq!(report.sum(), "7 passed, 1 failed");
        assert!(!report.is_good());
        assert_eq!(report.what_failed(), "tests failed in operator it");
    }

    #[test]
    fn a_run_without_any_test_is_no_success() {
        let mut report = Report::default();
        report.add(outcome("crds", 0, 0));
        assert!(!report.is_good());
        assert_eq!(report.what_failed(), "no test ran; does the filter fit?");
    }
}
