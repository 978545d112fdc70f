//! The executable `harness-coding`, as the operator starts it.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use pretty_assertions::assert_eq;
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

use crate::scene::DEADLINE;

const TOKEN: &str = "ghp_secret-of-a-host";

struct Harness {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

fn command(folder: &Path) -> Command {
    std::fs::write(folder.join("token"), "a-token\n").unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_harness-coding"));
    command
        .env_clear()
        // Port 9 is discard: nothing listens there.
        .env("FOUNDRY_API_URL", "http://127.0.0.1:9")
        .env("FOUNDRY_AGENT_ID", "fix-greeting")
        .env("FOUNDRY_AGENT_NAMESPACE", "foundry-agents")
        .env("FOUNDRY_START_NUMBER", "3")
        .env("FOUNDRY_TOKEN_FILE", folder.join("token"))
        .env("HOME", folder)
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .stdin(Stdio::null())
        .kill_on_drop(true);
    command
}

impl Harness {
    /// A harness whose API is not there.
    fn start(folder: &TempDir, environment: &[(&str, &str)]) -> Self {
        let mut child = command(folder.path()).envs(environment.iter().copied()).spawn().unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    async fn line_of(&mut self, kind: &str) -> serde_json::Value {
        loop {
            let line = timeout(DEADLINE, self.lines.next_line()).await.expect("a line in time");
            let line = line.unwrap().expect("a line before the end");
            let line: serde_json::Value = serde_json::from_str(&line).unwrap();
            if line["kind"] == kind {
                return line;
            }
        }
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(i32::try_from(self.child.id().unwrap()).unwrap()).unwrap()
    }

    async fn status(&mut self) -> Option<i32> {
        timeout(DEADLINE, self.child.wait()).await.expect("an end in time").unwrap().code()
    }
}

/// LOOP-02
#[tokio::test]
async fn without_its_api_it_starts_says_what_is_wrong_and_ends_well_on_sigterm() {
    let folder = tempfile::tempdir().unwrap();
    let mut harness = Harness::start(&folder, &[]);
    let started = harness.line_of("started").await;
    assert_eq!(
        (&started["message"], &started["data"]["start_number"]),
        (&"harness started".into(), &3.into())
    );
    let message = harness.line_of("error").await["message"].as_str().unwrap().to_owned();
    assert!(message.starts_with("api ") && message.contains(" failed: "), "{message}");
    kill_process(harness.pid(), Signal::TERM).unwrap();
    harness.line_of("stopped").await;
    assert_eq!(harness.status().await, Some(0));
}

/// BIND-11
#[tokio::test]
async fn tokens_of_git_hosts_do_not_stay_in_the_environment() {
    let folder = tempfile::tempdir().unwrap();
    let lock = folder.path().join("lock").display().to_string();
    let environment =
        [("GITHUB_TOKEN", TOKEN), ("AZURE_DEVOPS_TOKEN", TOKEN), ("FOUNDRY_LOCK_FILE", &lock)];
    let mut harness = Harness::start(&folder, &environment);
    harness.line_of("started").await;
    let pid = harness.pid();
    assert_eq!(std::fs::read_to_string(&lock).unwrap().trim(), pid.as_raw_nonzero().to_string());
    let of = |name: &str| {
        let path = PathBuf::from(format!("/proc/{}/{name}", pid.as_raw_nonzero()));
        // Another process of the same user may not look there at all; root may.
        std::fs::read(path).map(|text| String::from_utf8_lossy(&text).into_owned())
    };
    if let Ok(environment) = of("environ") {
        assert!(environment.contains("FOUNDRY_AGENT_ID"), "{environment}");
        assert!(!environment.contains(TOKEN), "{environment}");
    }
    assert!(!of("cmdline").unwrap().contains(TOKEN));
    kill_process(harness.pid(), Signal::INT).unwrap();
    assert_eq!(harness.status().await, Some(0));
}

#[tokio::test]
async fn a_missing_setting_is_named_and_nothing_is_started() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = command(folder.path());
    let output = timeout(DEADLINE, command.env_remove("FOUNDRY_START_NUMBER").output());
    let output = output.await.unwrap().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(words.contains("--start-number"), "{words}");
    assert!(output.stdout.is_empty());
}

/// BIND-11
#[tokio::test]
async fn a_token_that_is_none_is_refused_without_being_repeated() {
    let folder = tempfile::tempdir().unwrap();
    let mut command = command(folder.path());
    let output = timeout(DEADLINE, command.env("GITHUB_TOKEN", "not a token").output());
    let output = output.await.unwrap().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(
        words.contains("GITHUB_TOKEN holds no token") && !words.contains("not a token"),
        "{words}"
    );
}
