//! One suite: an executable of tests, run to its end.

use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result};
use testenv::Process;

use super::surroundings::Surroundings;
use crate::printer::{elapsed, say};
use crate::repository;

/// A suite that is not done by then hangs.
const PATIENCE: Duration = Duration::from_mins(30);

/// Cluster tests wait more than they compute.
const THREADS: &str = "8";

/// An executable of tests. Fields are in sorting order: unit tests come before the
/// suites that need a cluster, package by package.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Suite {
    /// Whether it is a suite of its own or a crate's unit tests.
    pub integration: bool,
    /// The package's name.
    pub package: String,
    /// The target's name.
    pub target: String,
    /// The package's folder, which tests run in.
    pub folder: PathBuf,
    /// What to run.
    pub executable: PathBuf,
}

/// Which tests of a suite run, by what their paths contain.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Selection<'a> {
    /// These alone.
    Only(&'a str),
    /// Those of the filter, but never these.
    Without(&'a str, Option<&'a str>),
}

impl Selection<'_> {
    /// In the words of the test harness.
    fn arguments(self) -> Vec<String> {
        let (words, filter) = match self {
            Self::Only(filter) => (Vec::new(), Some(filter)),
            Self::Without(left_out, filter) => (vec!["--skip", left_out], filter),
        };
        words.into_iter().chain(filter).map(str::to_owned).collect()
    }
}

/// How a suite went.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Outcome {
    /// Package and target.
    pub name: String,
    /// Tests that passed.
    pub passed: usize,
    /// Tests that failed; a suite that broke off counts as one.
    pub failed: usize,
}

/// Runs a suite. Its output is shown only when something failed.
pub(super) async fn run(
    suite: &Suite,
    surroundings: &Surroundings,
    selection: Selection<'_>,
) -> Result<Outcome> {
    let mut command = Command::new(&suite.executable);
    command.current_dir(&suite.folder);
    command.env("CARGO_MANIFEST_DIR", &suite.folder);
    command.env("RUST_TEST_THREADS", THREADS);
    command.args(selection.arguments());
    watch(&format!("{} {}", suite.package, suite.target), command, surroundings).await
}

/// Runs the examples in the documentation.
pub(super) async fn run_documentation(surroundings: &Surroundings) -> Result<Outcome> {
    let mut command = Command::new("cargo");
    command.args(["test", "--quiet", "--workspace", "--doc"]);
    command.current_dir(repository::root());
    watch("documentation examples", command, surroundings).await
}

async fn watch(name: &str, mut command: Command, surroundings: &Surroundings) -> Result<Outcome> {
    for (variable, value) in surroundings.environment()? {
        command.env(variable, value);
    }
    let log = surroundings.folder().join("suites").join(format!("{name}.log"));
    let started = Instant::now();
    let mut process = Process::spawn(name, &command, &log)?;
    let status = process.finish(PATIENCE).await;
    let output = fs::read(&log).with_context(|| format!("failed to read {}", log.display()))?;
    let output = String::from_utf8_lossy(&output);
    let (passed, mut failed) = count(&output);
    if !status.as_ref().is_ok_and(std::process::ExitStatus::success) && failed == 0 {
        failed = 1;
    }
    let word = if failed == 0 { "ok   " } else { "FAIL " };
    if passed + failed > 0 {
        say(&format!("{word} {name}: {passed} passed, {failed} failed, {}", elapsed(started)));
    }
    if failed > 0 {
        say(&output);
        if let Ok(status) = status {
            say(&format!("{name} ended: {status}"));
        }
    }
    Ok(Outcome { name: name.to_owned(), passed, failed })
}

/// Sums the result lines of the test harness.
fn count(output: &str) -> (usize, usize) {
    let results = output.lines().filter(|line| line.starts_with("test result: "));
    results.fold((0, 0), |(passed, failed), line| {
        let number = |word: &str| -> usize {
            let before = line.split(word).next().unwrap_or_default().trim_end();
            before.rsplit(' ').next().and_then(|digits| digits.parse().ok()).unwrap_or(0)
        };
        (passed + number(" passed"), failed + number(" failed"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_left_out_is_left_out_of_every_filter() {
        let words = |selection: Selection<'_>| selection.arguments().join(" ");
        assert_eq!(words(Selection::Without("slow::", None)), "--skip slow::");
        assert_eq!(words(Selection::Without("slow::", Some("a"))), "--skip slow:: a");
        assert_eq!(words(Selection::Only("slow::")), "slow::");
    }

    #[test]
    fn results_of_all_crates_in_one_output_are_summed() {
        let output = "running 3 tests\n\
            test result: FAILED. 12 passed; 3 failed; 0 ignored; 0 measured; 1 filtered out\n\
            test it_says_test_result ... ok\n\
            test result: ok. 30 passed; 0 failed; 0 ignored; 0 measured; 0 filtered out\n";
        assert_eq!(count(output), (42, 3));
    }

    #[test]
    fn a_suite_that_broke_off_has_no_results() {
        assert_eq!(count("thread panicked\n"), (0, 0));
    }
}
