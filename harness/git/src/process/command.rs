//! What is to be run.

use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::time::Duration;

use super::environment::is_secret;

/// How long a foreground command may take (CODE-15).
pub const FOREGROUND_LIMIT: Duration = Duration::from_mins(10);

/// A program, its arguments and where it runs. There is no shell in between.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Command {
    pub(crate) program: OsString,
    pub(crate) arguments: Vec<OsString>,
    pub(crate) folder: PathBuf,
    pub(crate) additions: Vec<(OsString, OsString)>,
    pub(crate) limit: Duration,
}

impl Command {
    /// A command of `program`, looked up on PATH, or an absolute path.
    pub fn new(program: impl Into<OsString>, folder: impl Into<PathBuf>) -> Self {
        Self {
            program: program.into(),
            arguments: Vec::new(),
            folder: folder.into(),
            additions: Vec::new(),
            limit: FOREGROUND_LIMIT,
        }
    }

    /// Adds arguments.
    #[must_use]
    pub fn args(mut self, arguments: impl IntoIterator<Item = impl Into<OsString>>) -> Self {
        self.arguments.extend(arguments.into_iter().map(Into::into));
        self
    }

    /// Adds a variable for this command alone. A name that must never pass
    /// ([`Environment`](super::Environment)) is left out.
    #[must_use]
    pub fn env(mut self, name: impl Into<OsString>, value: impl Into<OsString>) -> Self {
        let name = name.into();
        if !is_secret(&name) {
            self.additions.push((name, value.into()));
        }
        self
    }

    /// Stops it after `limit` instead of [`FOREGROUND_LIMIT`].
    #[must_use]
    pub fn limit(mut self, limit: Duration) -> Self {
        self.limit = limit;
        self
    }

    /// The program.
    pub fn program(&self) -> &OsStr {
        &self.program
    }

    /// Where it runs.
    pub fn folder(&self) -> &Path {
        &self.folder
    }
}
