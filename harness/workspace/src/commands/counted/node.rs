//! `node --test` (CODE-21).

use super::{Judgement, counts, with_option};

/// Options that take the next word as their value.
const VALUED: &[&str] = &[
    "--import",
    "--require",
    "-r",
    "--loader",
    "--experimental-loader",
    "--conditions",
    "-C",
    "--env-file",
    "--test-reporter",
    "--test-reporter-destination",
    "--test-concurrency",
    "--test-timeout",
    "--test-name-pattern",
    "--test-skip-pattern",
    "--test-shard",
    "--test-coverage-include",
    "--test-coverage-exclude",
    "--test-global-setup",
    "--input-type",
];

/// With these, something else than the tests is run.
const HOLLOW: &[&str] = &[
    "-e",
    "--eval",
    "-p",
    "--print",
    "-pe",
    "-c",
    "--check",
    "-h",
    "--help",
    "-v",
    "--version",
    "-i",
    "--interactive",
    "--run",
    "--watch",
    "--test-only",
];

/// `node …`; `--test` counts before the first word, for behind it it is the program's.
pub fn judge(arguments: &[String]) -> Judgement {
    let mut tests = false;
    let mut flaw = None;
    let mut rest = arguments;
    while let Some((word, after)) = rest.split_first() {
        if !word.starts_with('-') || word == "--" {
            break;
        }
        rest = after;
        let name = word.split('=').next().unwrap_or(word);
        if HOLLOW.contains(&name) {
            flaw = Some(name);
        }
        tests |= word == "--test";
        if VALUED.contains(&word.as_str()) {
            rest = rest.get(1..).unwrap_or_default();
        }
    }
    match (tests, flaw) {
        (false, _) => Judgement::NoCheck,
        (true, Some(option)) => with_option("node --test", option),
        (true, None) => counts("node --test"),
    }
}
