//! kubectl, as a person uses it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use testenv::Process;
use tokio::process::Command;

use crate::printer::say;

/// kubectl's own patience is endless.
const PATIENCE: Duration = Duration::from_mins(2);

/// kubectl for one person on one cluster.
#[derive(Clone, Debug)]
pub(super) struct Kubectl {
    /// The executable.
    pub program: PathBuf,
    /// Whose cluster and rights.
    pub kubeconfig: PathBuf,
    /// The namespace meant when none is said.
    pub namespace: Option<&'static str>,
    /// Whom the administrator acts as, for a person without a kubeconfig.
    pub person: Option<&'static str>,
}

/// Whether the machine has a kubectl of its own.
pub(super) fn on_path() -> bool {
    let mut command = std::process::Command::new("kubectl");
    command.args(["version", "--client"]).stdout(Stdio::null()).stderr(Stdio::null());
    command.status().is_ok_and(|status| status.success())
}

impl Kubectl {
    /// Runs it and gives what it printed.
    pub async fn run<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<String> {
        let mut command = Command::from(self.command(arguments));
        command.stdin(Stdio::null()).kill_on_drop(true);
        let shown = spell(arguments);
        let output = tokio::time::timeout(PATIENCE, command.output())
            .await
            .with_context(|| format!("kubectl {shown} did not end"))?
            .with_context(|| format!("failed to run {}", self.program.display()))?;
        if !output.status.success() {
            let words = String::from_utf8_lossy(&output.stderr);
            bail!("kubectl {shown} failed: {}", words.trim());
        }
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }

    /// Starts it, to go on until it is dropped; what it prints goes to a file.
    pub fn start<S: AsRef<OsStr>>(&self, arguments: &[S], output: &Path) -> Result<Process> {
        say(&format!("\n$ kubectl {}", spell(arguments)));
        Process::spawn("kubectl", &self.command(arguments), output)
    }

    /// Shows the command and what it prints, as in a terminal.
    pub async fn show<S: AsRef<OsStr>>(&self, arguments: &[S]) -> Result<()> {
        say(&format!("\n$ kubectl {}", spell(arguments)));
        say(self.run(arguments).await?.trim_end());
        Ok(())
    }

    fn command<S: AsRef<OsStr>>(&self, arguments: &[S]) -> std::process::Command {
        let mut command = std::process::Command::new(&self.program);
        command.env("KUBECONFIG", &self.kubeconfig);
        if let Some(namespace) = self.namespace {
            command.args(["--namespace", namespace]);
        }
        if let Some(person) = self.person {
            command.args(["--as", person]);
        }
        command.args(arguments);
        command
    }
}

/// The arguments as a shell takes them.
fn spell<S: AsRef<OsStr>>(arguments: &[S]) -> String {
    let quote = |argument: &S| {
        let word = argument.as_ref().to_string_lossy();
        if word.contains([' ', '{', '\'', '"', '$']) {
            format!("'{}'", word.replace('\'', r"'\''"))
        } else {
            word.into_owned()
        }
    };
    arguments.iter().map(quote).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_command_is_shown_so_that_it_can_be_typed() {
        assert_eq!(spell(&["get", "agents"]), "get agents");
        assert_eq!(spell(&["-k", "a demo's data"]), r"-k 'a demo'\''s data'");
    }
}
