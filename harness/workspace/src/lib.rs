//! What is done in a clone.
//!
//! A [`Workspace`] is one folder, held by a handle; every path is walked beneath that
//! handle, so that no `..`, link or race leads out, and `.git` is never touched. Its
//! [`tools`] read, search and edit, and note each edit in an [`EditLog`].
//! [`commands`] says which commands may run (CODE-12) and which of them are checks
//! (CODE-20 to CODE-22); [`gate`] folds edits and checks into the one question whether
//! a task may be called completed (CODE-18).

#![warn(missing_docs)]

pub mod commands;
mod edits;
mod error;
pub mod gate;
mod locate;
mod scope;
mod shown;
mod text;
pub mod tools;
mod walk;
mod workspace;

pub use edits::{Change, Edit, EditLog};
pub use error::Error;
pub use workspace::Workspace;
