//! The executable as the operator starts it.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use pretty_assertions::assert_eq;
use rustix::fs::{CWD, FileType, FlockOperation, Mode, flock, mknodat};
use rustix::process::{Pid, Signal, kill_process};
use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout, Command};
use tokio::time::timeout;

const DEADLINE: Duration = Duration::from_secs(20);

/// A folder of its own for each test, removed at the end.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = Path::new(env!("CARGO_TARGET_TMPDIR"))
            .join(format!("harness-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn file(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        drop(std::fs::remove_dir_all(&self.0));
    }
}

struct Harness {
    child: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Harness {
    /// A harness whose API is not there.
    fn start(folder: &Folder, environment: &[(&str, &Path)]) -> Self {
        std::fs::write(folder.file("token"), "a-token\n").unwrap();
        let mut child = Command::new(env!("CARGO_BIN_EXE_harness"))
            .env_clear()
            // Port 9 is discard: nothing listens there.
            .env("FOUNDRY_API_URL", "http://127.0.0.1:9")
            .env("FOUNDRY_AGENT_ID", "scout")
            .env("FOUNDRY_AGENT_NAMESPACE", "foundry-agents")
            .env("FOUNDRY_TOKEN_FILE", folder.file("token"))
            .envs(environment.iter().copied())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        Self { child, lines }
    }

    async fn line(&mut self) -> serde_json::Value {
        let line = timeout(DEADLINE, self.lines.next_line()).await.expect("a line in time");
        serde_json::from_str(&line.unwrap().expect("a line before the end")).unwrap()
    }

    async fn line_of(&mut self, kind: &str) -> serde_json::Value {
        loop {
            let line = self.line().await;
            if line["kind"] == kind {
                return line;
            }
        }
    }

    fn send(&self, signal: Signal) {
        let pid = i32::try_from(self.child.id().unwrap()).unwrap();
        kill_process(Pid::from_raw(pid).unwrap(), signal).unwrap();
    }

    async fn status(&mut self) -> Option<i32> {
        timeout(DEADLINE, self.child.wait()).await.expect("an end in time").unwrap().code()
    }
}

/// LOOP-01, LOOP-02, LOOP-24
#[tokio::test]
async fn without_its_api_it_starts_says_what_is_wrong_and_ends_well_on_sigterm() {
    let folder = Folder::new("alone");
    let mut harness = Harness::start(&folder, &[]);
    assert_eq!(harness.line().await["message"], "harness started");
    assert_eq!(harness.line().await["kind"], "heartbeat");
    let error = harness.line_of("error").await;
    let message = error["message"].as_str().unwrap();
    assert!(message.starts_with("api ") && message.contains(" failed: "), "{message}");

    harness.send(Signal::TERM);
    assert_eq!(harness.line_of("stopped").await["message"], "harness stopped");
    assert_eq!(harness.status().await, Some(0));
}

/// LOOP-01
#[tokio::test]
async fn an_api_that_never_answers_does_not_hold_it_at_its_end() {
    let folder = Folder::new("silent");
    // Connections are taken by the system, and nobody reads from them.
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let mut harness = Harness::start(&folder, &[("FOUNDRY_API_URL", Path::new(&url))]);
    harness.line_of("heartbeat").await;
    harness.send(Signal::TERM);
    assert_eq!(harness.status().await, Some(0));
}

/// LOOP-01, LOOP-24
#[tokio::test]
async fn a_token_that_is_never_read_to_its_end_is_told_and_does_not_hold_it_at_its_end() {
    let folder = Folder::new("stuck");
    let token = folder.file("pipe");
    // Opening a pipe waits for its writer, as a dead network file system waits.
    mknodat(CWD, &token, FileType::Fifo, Mode::RUSR | Mode::WUSR, 0).unwrap();
    let mut harness = Harness::start(&folder, &[("FOUNDRY_TOKEN_FILE", &token)]);
    harness.line_of("heartbeat").await;
    let told = harness.line_of("error").await["message"].as_str().unwrap().to_owned();
    let expected = format!("failed to read token file {}: not read within 5 s", token.display());
    assert!(told.ends_with(&expected), "{told}");
    harness.send(Signal::TERM);
    assert_eq!(harness.status().await, Some(0));
}

/// OPS-01
#[tokio::test]
async fn it_ends_when_the_owner_of_its_lifeline_is_gone() {
    let folder = Folder::new("lifeline");
    let lifeline = folder.file("lifeline");
    let owner = std::fs::File::create(&lifeline).unwrap();
    flock(&owner, FlockOperation::NonBlockingLockExclusive).unwrap();
    let mut harness = Harness::start(&folder, &[("FOUNDRY_LIFELINE", &lifeline)]);
    harness.line_of("started").await;
    drop(owner);
    assert_eq!(harness.status().await, Some(0));
}

/// OPS-01
#[tokio::test]
async fn its_lock_tells_that_it_lives_and_keeps_a_second_one_out() {
    let folder = Folder::new("lock");
    let lock = folder.file("lock");
    let mut first = Harness::start(&folder, &[("FOUNDRY_LOCK_FILE", &lock)]);
    first.line_of("started").await;
    let pid = first.child.id().unwrap().to_string();
    assert_eq!(std::fs::read_to_string(&lock).unwrap().trim(), pid);

    let mut second = Harness::start(&folder, &[("FOUNDRY_LOCK_FILE", &lock)]);
    assert_eq!(second.status().await, Some(1));
    first.send(Signal::INT);
    assert_eq!(first.status().await, Some(0));
}

#[tokio::test]
async fn a_missing_setting_is_named_and_nothing_is_started() {
    let child = Command::new(env!("CARGO_BIN_EXE_harness"))
        .env_clear()
        .env("FOUNDRY_AGENT_ID", "scout")
        .output();
    let output = timeout(DEADLINE, child).await.unwrap().unwrap();
    assert_eq!(output.status.code(), Some(2));
    let words = String::from_utf8(output.stderr).unwrap();
    assert!(words.contains("--api-url"), "{words}");
    assert!(output.stdout.is_empty());
}
