//! The repository of the example: laid into the demo's Git server, and looked at as
//! anybody would who may clone it.

use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Output, Stdio};
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use fakes::git::BareRepository;
use testenv::stack::{GitAccess, Stack};
use testenv::{bin_folder, workspace_root};
use tokio::io::AsyncWriteExt as _;
use tokio::process::Command;

use super::super::folder::DataFolder;
use crate::printer::say;

/// Its owner and name.
pub(super) const NAME: &str = "acme/greeting";

/// The branch that everything begins with.
pub(super) const MAIN: &str = "main";

/// What its own checks may take, compiling included.
const PATIENCE: Duration = Duration::from_mins(5);

/// The repository, on its server.
pub(super) struct Repository {
    bare: BareRepository,
    remote: String,
    access: GitAccess,
    clones: PathBuf,
}

impl Repository {
    /// Lays it anew: one commit, and no branch of an earlier demo.
    pub fn lay(stack: &Stack, folder: &DataFolder) -> Result<Self> {
        let path = stack.bare_repository(NAME);
        let clones = folder.path().join("coding/clones");
        for old in [&path, &clones] {
            if old.exists() {
                fs::remove_dir_all(old)
                    .with_context(|| format!("failed to remove {}", old.display()))?;
            }
        }
        let files = workspace_root().join("examples/coding/repository");
        let bare = BareRepository::make(path, &files)?;
        Ok(Self { bare, remote: stack.remote(NAME), access: stack.git_access(), clones })
    }

    /// The bare repository.
    pub fn bare(&self) -> &BareRepository {
        &self.bare
    }

    /// Its SSH remote.
    pub fn remote(&self) -> &str {
        &self.remote
    }

    /// Clones a branch, with the key and host key of the run.
    pub async fn clone_of(&self, branch: &str) -> Result<PathBuf> {
        let clone = self.clones.join(branch);
        let mut git = Command::new("git");
        git.args(["clone", "--quiet", "--branch", branch, &self.remote]).arg(&clone);
        git.env("GIT_SSH_COMMAND", ssh_command(&self.access)).env("GIT_TERMINAL_PROMPT", "0");
        git.env("GIT_SSH_VARIANT", "ssh");
        done(&mut git).await?;
        Ok(clone)
    }

    /// Lets flowcode carry out a task in a checkout, shows what it prints, and gives
    /// what it changed. Its plan gets the yes that a person would type.
    pub async fn flowcode(&self, task: &str, model_url: &str) -> Result<String> {
        let checkout = self.clones.join("flowcode");
        done(Command::new("git").args(["clone", "--quiet"]).arg(self.bare.path()).arg(&checkout))
            .await?;
        for (name, value) in [("user.name", "Ann"), ("user.email", "ann@example.com")] {
            let mut git = Command::new("git");
            done(git.args(["config", name, value]).current_dir(&checkout)).await?;
        }
        let task = task.trim();
        say(&format!("\n$ echo build | flowcode --base-url {model_url} '{task}'"));
        // It would outlive a demo that is killed.
        let mut flowcode = Command::new("setpriv");
        flowcode.args(["--pdeathsig", "KILL", "--"]).arg(bin_folder()?.join("flowcode"));
        flowcode.args(["--base-url", model_url, task]).current_dir(&checkout);
        done_with(&mut flowcode, "build\n").await?.lines().for_each(say);
        BareRepository::open(checkout.join(".git"))?.diff(MAIN, "HEAD")
    }

    /// Runs its tests in a clone, shows what they print, and says whether they passed.
    pub async fn test(&self, clone: &Path) -> Result<bool> {
        let arguments = ["test", "-count=1", "./..."];
        say(&format!("\n$ go {}", arguments.join(" ")));
        let mut go = Command::new("go");
        go.args(arguments).current_dir(clone).env("GOWORK", "off");
        let output = ended(&mut go, "").await?;
        for printed in [&output.stdout, &output.stderr] {
            String::from_utf8_lossy(printed).lines().for_each(say);
        }
        Ok(output.status.success())
    }
}

/// Where the person's Go keeps what it has compiled.
pub(super) async fn go_cache() -> Result<String> {
    Ok(done(Command::new("go").args(["env", "GOCACHE"])).await?.trim().to_owned())
}

/// What a program prints that must end well.
async fn done(command: &mut Command) -> Result<String> {
    done_with(command, "").await
}

async fn done_with(command: &mut Command, input: &str) -> Result<String> {
    let output = ended(command, input).await?;
    let shown = command.as_std();
    let words = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "{shown:?} failed ({}): {}", output.status, words.trim());
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

async fn ended(command: &mut Command, input: &str) -> Result<Output> {
    let program = command.as_std().get_program().to_string_lossy().into_owned();
    let ended = async {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.kill_on_drop(true).spawn()?;
        if let Some(mut stdin) = child.stdin.take() {
            // One that ends without reading has its own reason.
            stdin.write_all(input.as_bytes()).await.ok();
        }
        child.wait_with_output().await
    };
    match tokio::time::timeout(PATIENCE, ended).await {
        Ok(output) => output.with_context(|| format!("failed to run {program}")),
        Err(_) => bail!("{program} did not end within {}s", PATIENCE.as_secs()),
    }
}

/// ssh with this key and no other, and this host key and no other. git hands the words
/// to a shell, and ssh splits file names at blanks unless they are quoted.
fn ssh_command(access: &GitAccess) -> String {
    let known_hosts = format!("UserKnownHostsFile=\"{}\"", access.known_hosts.display());
    let words: [&OsStr; 13] = [
        "ssh".as_ref(),
        "-F".as_ref(),
        "none".as_ref(),
        "-i".as_ref(),
        access.private_key.as_os_str(),
        "-o".as_ref(),
        "IdentitiesOnly=yes".as_ref(),
        "-o".as_ref(),
        "StrictHostKeyChecking=yes".as_ref(),
        "-o".as_ref(),
        "BatchMode=yes".as_ref(),
        "-o".as_ref(),
        known_hosts.as_ref(),
    ];
    let quoted = words.map(|word| format!("'{}'", word.to_string_lossy().replace('\'', r"'\''")));
    quoted.join(" ")
}
