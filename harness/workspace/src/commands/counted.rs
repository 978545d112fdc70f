//! Which commands are checks that count (CODE-20, CODE-21, CODE-22).
//!
//! What counts must be able to fail. A command of a counted program that only lists,
//! prints, plans or forgives is *hollow*, and the model is told why: `make -n test`,
//! `go test -list .`, `npm test --if-present`, `golangci-lint run --issues-exit-code=0`.
//! So is one whose text does not tell what it checks: variables for `make`, another
//! folder, the standard library instead of the clone's packages.
//!
//! A filter does not make a check hollow: `go test -run TestX` builds and vets what it
//! does not run, and nobody can tell from a text that a filter matches nothing. Patterns
//! that are written to match nothing (`-run '^$'`) are hollow. The name under which a
//! check is reported is the whole command, so that a person sees the filter.

use super::is_local;
use super::wrapped::{self, Inner};

mod go;
mod gradle;
mod make;
mod node;
mod python;
mod scripts;
mod tools;

/// A command that counts as a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Check {
    /// What kind of check, in few words: `go test`, `npm lint`.
    pub kind: String,
    /// It exits with 0 even when it finds something, and says so on standard output:
    /// passed is what exits with 0 and says nothing there.
    pub quiet: bool,
}

/// What a command is worth as a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Judgement {
    /// It counts.
    Counts(Check),
    /// It is a command of a counted program, but cannot fail as one; why, for the model.
    Hollow(String),
    /// It is no check.
    NoCheck,
}

/// The check that a command is, if it counts.
pub fn counted(argv: &[String]) -> Option<Check> {
    match judge(argv) {
        Judgement::Counts(check) => Some(check),
        Judgement::Hollow(_) | Judgement::NoCheck => None,
    }
}

/// What a command is worth as a check, looking through the programs that run others.
pub fn judge(argv: &[String]) -> Judgement {
    let mut argv = argv.to_vec();
    let mut flaw = None;
    for _ in 0..8 {
        let inner = match wrapped::inner(&argv) {
            Ok(inner) => inner,
            Err(why) => return Judgement::Hollow(why),
        };
        let next = match inner {
            Inner::Nothing => return flawed(program(&argv), flaw),
            Inner::Command { argv, sets, folder } => {
                if let Some((name, _)) = sets.iter().find(|(name, value)| decides(name, value)) {
                    flaw = flaw.or(Some(format!("{name} may decide what it does: leave it out")));
                }
                if folder.is_some() {
                    flaw = flaw.or(Some("it runs in another folder: give it as `path`".to_owned()));
                }
                argv
            }
            Inner::Manager(argv) => argv,
            Inner::Package { argv, packages, is_clear } => {
                let judged = tools::judge(&argv, &packages, is_clear);
                return flawed(judged, flaw);
            }
            Inner::GoTool(argv) => {
                let is_linter = argv.first().is_some_and(|name| name == "golangci-lint");
                return if is_linter { flawed(program(&argv), flaw) } else { Judgement::NoCheck };
            }
        };
        argv = next;
    }
    Judgement::NoCheck
}

fn flawed(judged: Judgement, flaw: Option<String>) -> Judgement {
    match (judged, flaw) {
        (Judgement::Counts(_), Some(why)) => Judgement::Hollow(why),
        (judged, _) => judged,
    }
}

fn program(argv: &[String]) -> Judgement {
    let Some((program, arguments)) = argv.split_first() else { return Judgement::NoCheck };
    match program.as_str() {
        "go" => go::judge(arguments),
        "gofmt" => go::format(arguments),
        "golangci-lint" => go::lint(arguments),
        "make" => make::judge(arguments),
        "npm" | "pnpm" | "yarn" => scripts::judge(program, arguments),
        "node" => node::judge(arguments),
        "python" | "python3" => python::judge(arguments),
        "gradlew" | "gradle" => gradle::judge(arguments),
        "ktlint" => gradle::ktlint(arguments),
        _ => Judgement::NoCheck,
    }
}

/// Variables by which a check can be told to check nothing.
fn decides(name: &str, value: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    if lower == "goflags" {
        // What may stand on the command line may stand here.
        let words: Vec<String> = value.split_whitespace().map(str::to_owned).collect();
        return go::flaw("test", &words).is_some();
    }
    let names = [
        "path",
        "makeflags",
        "gnumakeflags",
        "mflags",
        "makefiles",
        "shell",
        "node_options",
        "pytest_addopts",
        "pytest_plugins",
        "pythonpath",
        "pythonstartup",
        "goroot",
        "goenv",
        "gotoolchain",
        "java_tool_options",
        "_java_options",
        "jdk_java_options",
        "gradle_opts",
        "java_opts",
        "bash_env",
        "env",
        "home",
    ];
    names.contains(&lower.as_str())
        || ["npm_config_", "ld_", "dyld_", "git_"].iter().any(|start| lower.starts_with(start))
}

fn counts(kind: impl Into<String>) -> Judgement {
    Judgement::Counts(Check { kind: kind.into(), quiet: false })
}

fn hollow(why: impl Into<String>) -> Judgement {
    Judgement::Hollow(why.into())
}

/// Options of test runners, linters and compilers with which nothing is checked, or
/// nothing found is as good as everything passed.
const HOLLOW: &[&str] = &[
    "--help",
    "-h",
    "--version",
    "--if-present",
    "--passWithNoTests",
    "--pass-with-no-tests",
    "--listTests",
    "--list",
    "--collect-only",
    "--collectonly",
    "--co",
    "--print-config",
    "--showConfig",
    "--init",
    "--dry-run",
    "--no-error-on-unmatched-pattern",
    "--pass-on-no-patterns",
    "--clearCache",
    "--env-info",
    "--setup-plan",
    "--setup-only",
    "--fixtures",
    "--markers",
    "--suppress-no-test-exit-code",
];

/// The first argument that makes a check hollow.
fn hollow_option<'a>(arguments: &'a [String], more: &[&str]) -> Option<&'a str> {
    arguments.iter().find_map(|word| {
        let name = word.split('=').next().unwrap_or(word);
        (HOLLOW.contains(&name) || more.contains(&name)).then_some(name)
    })
}

fn with_option(program: &str, option: &str) -> Judgement {
    hollow(format!("with {option}, {program} passes without checking: leave it out"))
}

#[cfg(test)]
mod tests;
