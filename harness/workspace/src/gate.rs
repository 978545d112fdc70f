//! Whether a task may be called completed (CODE-18, CODE-19): a pure fold over edits and
//! commands.
//!
//! It is open when a check that counts has passed after the last edit. What an edit is,
//! is decided by the tree of files and not by who says so: whatever changes the tree
//! between two looks at it closes the gate, be it a tool, a command, a check that writes
//! files, or somebody else. A tree that could not be read counts as changed. And it is the
//! newest check that speaks: one that fails closes what another had opened, so that a
//! build which passed does not cover for a test that failed.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::commands::{self, Check, Judgement};
use crate::{EditLog, shown};

/// Files that need no check (CODE-19).
const DOCUMENTS: [&str; 3] = ["md", "mdx", "txt"];

/// Longest name of a check, in bytes, and most of them that are kept.
const LONGEST_NAME: usize = 512;
const MOST_OUTCOMES: usize = 100;

/// One thing that happened in the clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Event {
    /// An edit tool changed this file.
    Edited(PathBuf),
    /// A command ran.
    Command(Ran),
    /// What the tree is now; absent when it could not be read.
    TreeNow(Option<String>),
}

/// A command that ran.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Ran {
    /// Program and arguments, as the model gave them.
    pub argv: Vec<String>,
    /// Folder of the clone it ran in.
    pub folder: String,
    /// Its exit status; absent when it was stopped or did not start.
    pub exit: Option<i32>,
    /// Whether it said nothing on standard output.
    pub quiet: bool,
    /// The tree before and after it; absent when it could not be read.
    pub before: Option<String>,
    /// See `before`.
    pub after: Option<String>,
}

/// The newest result of one check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Outcome {
    /// The command as it was run, and the folder where that is not the root.
    pub name: String,
    /// What kind of check it is.
    pub kind: String,
    /// Whether it passed.
    pub passed: bool,
    /// Whether nothing was edited since.
    pub since_last_edit: bool,
}

/// Why the gate is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Pass {
    /// This check, the newest, passed after the last edit.
    Checked(String),
    /// Every changed file is a document (CODE-19).
    OnlyDocuments,
}

/// Why the gate is closed; the words are for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Closed(String);

/// What has happened so far. It lives as long as the task, over all its attempts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Gate {
    /// The tree as it was last seen, unless something changed it since.
    tree: Option<String>,
    /// Edits of the log that were taken.
    taken: u64,
    /// What closed it last.
    last_edit: Option<String>,
    /// Results of checks, the newest last; one for each command.
    outcomes: Vec<Outcome>,
    /// A command since the last edit that looks like a check and is none.
    hollow: Option<String>,
}

impl Gate {
    /// Begins with the tree as it is; absent when it could not be read.
    pub fn new(tree: Option<String>) -> Self {
        Self { tree, taken: 0, last_edit: None, outcomes: Vec::new(), hollow: None }
    }

    /// Takes the edits of the log that it has not taken yet. Call it before a command is
    /// taken and before asking.
    pub fn catch_up(&mut self, log: &EditLog) {
        for edit in log.after(self.taken) {
            self.taken = edit.sequence;
            self.take(Event::Edited(edit.path));
        }
    }

    /// Takes what happened next.
    pub fn take(&mut self, event: Event) {
        match event {
            Event::Edited(path) => {
                self.edited(format!("{} was edited", shown::path(&path)));
                self.tree = None;
            }
            Event::Command(ran) => self.command(ran),
            Event::TreeNow(now) => {
                self.look(now.as_ref(), "the files changed, and no tool did it");
                self.tree = now;
            }
        }
    }

    fn command(&mut self, ran: Ran) {
        let Ran { argv, folder, exit, quiet, before, after } = ran;
        let name = name(&argv, &folder);
        self.look(before.as_ref(), "the files changed, and no tool did it");
        let changed = before.is_none() || before != after;
        if changed {
            self.edited(match (&before, &after) {
                (Some(_), Some(_)) => format!("`{name}` changed files"),
                _ => format!("the files could not be compared before and after `{name}`"),
            });
        }
        self.tree = after;
        match commands::judge(&argv) {
            Judgement::NoCheck => {}
            Judgement::Hollow(why) => self.hollow = Some(format!("`{name}` does not count: {why}")),
            Judgement::Counts(Check { kind, quiet: must_be_quiet }) => {
                let passed = exit == Some(0) && (quiet || !must_be_quiet);
                self.outcomes.retain(|outcome| outcome.name != name);
                let since_last_edit = !changed;
                self.outcomes.push(Outcome { name, kind, passed, since_last_edit });
                if self.outcomes.len() > MOST_OUTCOMES {
                    self.outcomes.remove(0);
                }
            }
        }
    }

    /// Compares the tree with what it was.
    fn look(&mut self, now: Option<&String>, changed: &str) {
        match (&self.tree, now) {
            (Some(was), Some(now)) if was == now => {}
            // What made the tree unknown has closed the gate.
            (None, Some(_)) => {}
            (_, None) => self.edited("the files could not be read".to_owned()),
            (Some(_), Some(_)) => self.edited(changed.to_owned()),
        }
    }

    fn edited(&mut self, what: String) {
        self.last_edit = Some(what);
        self.hollow = None;
        for outcome in &mut self.outcomes {
            outcome.since_last_edit = false;
        }
    }

    /// Whether the task may be called completed. `changed` is every path in which the
    /// work differs from what the task began with: files that are new to git, deleted
    /// ones, and both names of a renamed one. Where nothing differs a check is needed, too:
    /// it shows that nothing had to be done.
    pub fn verdict(
        &self,
        changed: impl IntoIterator<Item = impl AsRef<Path>>,
    ) -> Result<Pass, Closed> {
        let (mut any, mut only_documents) = (false, true);
        for path in changed {
            any = true;
            only_documents &= is_document(path.as_ref());
        }
        if any && only_documents {
            return Ok(Pass::OnlyDocuments);
        }
        match self.outcomes.last() {
            Some(Outcome { name, passed: true, since_last_edit: true, .. }) => {
                Ok(Pass::Checked(name.clone()))
            }
            _ if any => Err(Closed(self.why())),
            _ => Err(Closed(format!("nothing was changed. {}", self.why()))),
        }
    }

    fn why(&self) -> String {
        let newest = self.outcomes.last().filter(|outcome| outcome.since_last_edit);
        let before = self.outcomes.iter().rev().find(|outcome| outcome.passed);
        let mut words =
            "completed needs a check that passed after the last edit, and there is none."
                .to_owned();
        if let Some(Outcome { name, .. }) = newest {
            let failed =
                format_args!(" The newest, `{name}`, did not pass: correct that and run it again.");
            shown::push(&mut words, failed);
        } else if let (Some(edit), Some(outcome)) = (&self.last_edit, before) {
            shown::push(
                &mut words,
                format_args!(" `{}` passed, but {edit}: run it again.", outcome.name),
            );
        } else if let Some(edit) = &self.last_edit {
            shown::push(&mut words, format_args!(" Since {edit}, none has run."));
        }
        if let Some(hollow) = &self.hollow {
            shown::push(&mut words, format_args!(" {hollow}."));
        }
        words
            + " Checks are go test, vet and build, gofmt -l, golangci-lint run, make test, lint \
                 or check, the scripts test, lint, check, verify, typecheck and build of npm, pnpm \
                 and yarn, npx tsc, eslint, vitest, jest and playwright test, node --test, python \
                 -m pytest, gradlew test, lint, check, build and ktlint, and ktlint. If the task \
                 cannot be done, finish with failed."
    }

    /// The newest result of each check, the newest last.
    pub fn results(&self) -> Vec<Outcome> {
        self.outcomes.clone()
    }

    /// The checks whose newest result is a failure: what the next attempt is told. The gate
    /// can be open beside them: something narrower may have passed since.
    pub fn failed(&self) -> Vec<Outcome> {
        self.outcomes.iter().filter(|outcome| !outcome.passed).cloned().collect()
    }
}

/// CODE-19
fn is_document(path: &Path) -> bool {
    path.extension()
        .is_some_and(|extension| DOCUMENTS.iter().any(|one| extension.eq_ignore_ascii_case(one)))
}

/// What a check is called: the command, and the folder where that is not the root.
fn name(argv: &[String], folder: &str) -> String {
    let mut name = commands::shown(argv);
    if !["", ".", "./"].contains(&folder) {
        shown::push(&mut name, format_args!(" (in {folder})"));
    }
    if name.len() > LONGEST_NAME {
        name.truncate(name.floor_char_boundary(LONGEST_NAME - '…'.len_utf8()));
        name.push('…');
    }
    name
}

#[cfg(test)]
mod tests;
