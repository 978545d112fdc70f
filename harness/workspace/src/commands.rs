//! Which commands may run, and which of them are checks.
//!
//! There is no shell: a command is a program and its arguments. [`Policy`] says whether
//! it may run (CODE-12, CODE-13); it looks through programs that run others and keeps
//! `git push` in every spelling for the tool of that name (CODE-05). This is a guard
//! against a model that takes a short cut, not a wall: `make`, `node` or `python` run
//! whatever the clone says, and what a command must not reach, it is kept from by the
//! operating system. [`judge`] says whether a command is a check (CODE-20 to CODE-22).

use std::path::Path;

mod counted;
mod git;
mod gradlew;
mod options;
mod policy;
mod wrapped;

pub use counted::{Check, Judgement, counted, judge};
pub use gradlew::{Wrapper, gradlew};
pub use policy::{Policy, Refused};

/// Variables that every command gets, so that nothing waits for a person who is not
/// there. Commands have no terminal either: `less`, `more`, `man` and `info` then write
/// through and end, `top` and `htop` say that they need one.
pub const ENVIRONMENT: &[(&str, &str)] = &[
    ("CI", "1"), // watchers run once, prompts are not shown
    ("COREPACK_ENABLE_DOWNLOAD_PROMPT", "0"),
    ("EDITOR", "true"), // a commit message or todo list stays as it was written
    ("GIT_EDITOR", "true"),
    ("GIT_PAGER", "cat"),
    ("GIT_SEQUENCE_EDITOR", "true"),
    ("LESSSECURE", "1"),
    ("MANPAGER", "cat"),
    ("NO_COLOR", "1"),
    ("PAGER", "cat"),
    ("PYTHONDONTWRITEBYTECODE", "1"), // a test leaves the tree as it was (CODE-18)
    ("TERM", "dumb"),
    ("VISUAL", "true"),
];

/// A command on one line, quoted where it has to be.
pub fn shown(argv: &[String]) -> String {
    let words: Vec<String> = argv.iter().map(|word| quoted(word)).collect();
    words.join(" ")
}

fn quoted(word: &str) -> String {
    let is_plain = |one: char| one.is_alphanumeric() || "-_./:=@%+,^~".contains(one);
    if !word.is_empty() && word.chars().all(is_plain) {
        return word.to_owned();
    }
    let clean: String = word.chars().map(|one| if one.is_control() { ' ' } else { one }).collect();
    format!("'{}'", clean.replace('\'', r"'\''"))
}

/// The last component of a program's path.
fn base_name(program: &str) -> &str {
    Path::new(program).file_name().and_then(|name| name.to_str()).unwrap_or(program)
}

/// Whether a path given to a command stays in the folder it runs in, as far as its text
/// tells.
fn is_local(path: &str) -> bool {
    let path = Path::new(path);
    path.is_relative() && !path.components().any(|one| one == std::path::Component::ParentDir)
}

#[cfg(test)]
mod tests;
