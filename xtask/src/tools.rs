//! What must be installed.

use std::process::{Command, Stdio};

use anyhow::{Result, ensure};

/// What the suites need.
pub const OF_TESTS: &[&str] =
    &["go", "node", "npm", "python3", "git", "ssh", "curl", "cc", "setpriv"];

/// What the demo needs beside Rust, its C compiler and, where it builds its own
/// control plane, Go: its coding run clones over SSH and tests a Go module.
pub const OF_DEMO: &[&str] = &["go", "git", "ssh", "setpriv"];

/// Program, an argument it answers, and what to do without it.
const TOOLS: [(&str, &str, &str); 9] = [
    ("go", "version", "Go 1.26 or newer, https://go.dev/dl"),
    ("node", "--version", "Node, https://nodejs.org"),
    ("npm", "--version", "npm, which comes with Node"),
    ("python3", "--version", "Python 3, package python3"),
    ("git", "--version", "git, package git"),
    ("ssh", "-V", "ssh, package openssh-client"),
    ("curl", "--version", "curl, package curl"),
    ("cc", "--version", "a C compiler, package build-essential"),
    ("setpriv", "--version", "setpriv, package util-linux"),
];

/// One line that says all that is missing of these.
pub fn check(needed: &[&str]) -> Result<()> {
    let missing: Vec<_> = TOOLS
        .iter()
        .filter(|(program, argument, _)| needed.contains(program) && !answers(program, argument))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whatever_is_needed_is_known() {
        for tool in OF_TESTS.iter().chain(OF_DEMO) {
            assert!(TOOLS.iter().any(|(name, _, _)| name == tool), "{tool}");
        }
    }
}
