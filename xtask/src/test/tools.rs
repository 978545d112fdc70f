//! What must be installed.

use std::process::{Command, Stdio};

use anyhow::{Result, ensure};

/// Program, an argument it answers, and what to do without it.
const TOOLS: [(&str, &str, &str); 8] = [
    ("go", "version", "Go 1.26 or newer, https://go.dev/dl"),
    ("node", "--version", "Node, https://nodejs.org"),
    ("npm", "--version", "npm, which comes with Node"),
    ("python3", "--version", "Python 3, package python3"),
    ("git", "--version", "git, package git"),
    ("ssh", "-V", "ssh, package openssh-client"),
    ("cc", "--version", "a C compiler, package build-essential"),
    ("setpriv", "--version", "setpriv, package util-linux"),
];

/// One line that says all that is missing.
pub(super) fn check() -> Result<()> {
    let missing: Vec<_> = TOOLS
        .iter()
        .filter(|(program, argument, _)| !answers(program, argument))
        .map(|(_, _, remedy)| *remedy)
        .collect();
    ensure!(missing.is_empty(), "missing, please install: {}", missing.join("; "));
    Ok(())
}

fn answers(program: &str, argument: &str) -> bool {
    let mut command = Command::new(program);
    command.arg(argument).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}
