//! What can go wrong with a path or a file, in words for the model.

use std::io;
use std::path::PathBuf;

/// Why something could not be done with a path.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The clone itself cannot be opened.
    #[error("failed to open {} as the root of the clone", path.display())]
    Root {
        /// What was to be opened.
        path: PathBuf,
        /// Why not.
        source: io::Error,
    },
    /// A path prefix that names nothing in a clone.
    #[error("path prefix {prefix:?} cannot be used: {why}")]
    Prefix {
        /// As it was given.
        prefix: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A path that no file can have.
    #[error("{path:?} is not a path: {why}")]
    NotAPath {
        /// As it was given.
        path: String,
        /// What is wrong with it.
        why: &'static str,
    },
    /// A path that leads out of the clone.
    #[error("{path} is outside the clone: name a path beneath its root")]
    Outside {
        /// The path.
        path: String,
    },
    /// A path in the clone that this agent may not touch (CODE-10).
    #[error("{path} is outside the permitted paths, which are: {permitted}")]
    NotPermitted {
        /// The path.
        path: String,
        /// What may be touched.
        permitted: String,
    },
    /// A path within `.git`.
    #[error("{path} belongs to git: use git by run_command")]
    Git {
        /// The path.
        path: String,
    },
    /// Nothing is there.
    #[error("{path} does not exist{hint}")]
    NotFound {
        /// The path.
        path: String,
        /// What may have been meant, beginning with a separator, or nothing.
        hint: String,
    },
    /// A folder was wanted.
    #[error("{path} is not a folder")]
    NotAFolder {
        /// The path.
        path: String,
    },
    /// A file was wanted.
    #[error("{path} is a folder: {instead}")]
    IsAFolder {
        /// The path.
        path: String,
        /// What to do.
        instead: &'static str,
    },
    /// A pipe, socket or device.
    #[error("{path} is {kind}, not a regular file")]
    NotRegular {
        /// The path.
        path: String,
        /// What it is.
        kind: &'static str,
    },
    /// A symbolic link where only a file itself can be written.
    #[error("{path} is a symbolic link to {target}: name the file itself")]
    IsALink {
        /// The path.
        path: String,
        /// Where it leads.
        target: String,
    },
    /// Links that lead to links without end.
    #[error("{path} leads through too many symbolic links")]
    TooManyLinks {
        /// The path.
        path: String,
    },
    /// Something was exchanged for something else just now.
    #[error("{path} was changed by somebody else while it was opened: try again")]
    Moved {
        /// The path.
        path: String,
    },
    /// A file that is not text (CODE-11).
    #[error("{path} is a binary file: only text can be read and edited")]
    Binary {
        /// The path.
        path: String,
    },
    /// The operating system refuses.
    #[error("failed to {doing} {path}: {cause}")]
    Io {
        /// What was tried.
        doing: &'static str,
        /// The path.
        path: String,
        /// Why not.
        cause: io::Error,
    },
    /// A call that makes no sense as it stands; the words say what would.
    #[error("{0}")]
    Refused(String),
    /// The run no longer wants the answer.
    #[error("stopped: nobody waits for the answer any more")]
    Cancelled,
}

impl Error {
    /// For use in `map_err`.
    pub(crate) fn io(doing: &'static str, path: &str) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |cause| Self::Io { doing, path, cause }
    }
}
