//! A git server over SSH for tests and demos: it serves the bare repositories of a
//! folder by git's own `upload-pack` and `receive-pack`, and goes wrong where it is
//! told to.

mod backend;
mod command;
mod embedded;
mod faults;
mod hook;
mod keys;
pub mod openssh;
mod pump;
mod repository;
mod server;

use std::path::Path;
use std::process::{Command, Stdio};

pub use command::Program;
pub use faults::{Faults, Hang, RefusedPush};
pub use repository::{BareRepository, Commit};
pub use server::{GitServer, Options, Session};

/// git, started in this folder, with nothing of this process's settings but the search
/// path. It asks nobody anything.
fn git(folder: &Path) -> Command {
    let mut command = Command::new("git");
    command
        .current_dir(folder)
        .env_clear()
        .envs(std::env::vars_os().filter(|(name, _)| name == "PATH" || name == "LD_LIBRARY_PATH"))
        .env("HOME", folder)
        .env("LC_ALL", "C")
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .env("GIT_TERMINAL_PROMPT", "0")
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
    command
}
