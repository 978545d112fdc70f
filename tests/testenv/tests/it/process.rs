//! Processes: they end with their owner, and say what went wrong.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use testenv::{Process, RunFolder, eventually};

const SOON: Duration = Duration::from_secs(20);

/// Not a test of its own: the owner that the test below kills.
const OWNER: &str = "FOUNDRY_TESTENV_OWNER_WRITES_PID_TO";

#[tokio::test]
async fn a_process_ends_when_its_owner_is_killed() {
    let run = RunFolder::create().unwrap();
    let pid_file = run.path().join("pid of child");
    let mut owner = Command::new(std::env::current_exe().unwrap());
    owner.args(["--exact", "process::an_owner_lives_until_it_is_killed", "--nocapture"]);
    owner.env(OWNER, &pid_file);
    let mut owner =
        Process::spawn("owner", &owner, &run.path().join("owner with blanks.log")).unwrap();
    let child = owner
        .wait_for("the owner writes its child's pid", SOON, || async {
            fs::read_to_string(&pid_file).map_err(|error| error.to_string())
        })
        .await
        .unwrap();
    assert!(lives(&child), "the child {child} should live while its owner does");

    owner.kill().unwrap();

    eventually("the child ends with its owner", SOON, || async {
        if lives(&child) { Err(format!("process {child} lives")) } else { Ok(()) }
    })
    .await;
}

#[test]
fn an_owner_lives_until_it_is_killed() {
    let Some(pid_file) = std::env::var_os(OWNER) else { return };
    let pid_file = Path::new(&pid_file);
    let mut sleep = Command::new("sleep");
    sleep.arg("600");
    let child = Process::spawn("child", &sleep, &pid_file.with_extension("log")).unwrap();
    let part = pid_file.with_extension("part");
    fs::write(&part, child.pid().to_string()).unwrap();
    fs::rename(part, pid_file).unwrap();
    std::thread::park_timeout(Duration::from_mins(10));
}

#[tokio::test]
async fn a_process_that_ends_too_early_is_told_with_its_last_words() {
    let run = RunFolder::create().unwrap();
    let mut early = Command::new("sh");
    early.args(["-c", "echo out of luck >&2; exit 3"]);
    let mut early = Process::spawn("early", &early, &run.path().join("early.log")).unwrap();
    let never = early.wait_for("it answers", SOON, || async { Err::<(), _>("silence") });
    let error = never.await.unwrap_err().to_string();
    assert!(error.contains("early ended (exit status: 3) before it answers"), "{error}");
    assert!(error.contains("out of luck"), "{error}");
}

#[tokio::test]
async fn a_process_that_ignores_sigterm_is_killed_when_its_grace_is_over() {
    let run = RunFolder::create().unwrap();
    let log = run.path().join("stubborn.log");
    let mut stubborn = Command::new("sh");
    stubborn.args(["-c", "trap '' TERM; echo ready; while :; do sleep 1; done"]);
    let mut stubborn = Process::spawn("stubborn", &stubborn, &log).unwrap();
    let ready = || async { if log_says(&log, "ready") { Ok(()) } else { Err("not ready") } };
    stubborn.wait_for("it is ready", SOON, ready).await.unwrap();
    let status = stubborn.stop(Duration::from_millis(100)).await.unwrap();
    assert_eq!(std::os::unix::process::ExitStatusExt::signal(&status), Some(9));
}

#[test]
fn a_missing_program_is_named() {
    let command = Command::new("/nowhere/etcd");
    let error = Process::spawn("etcd", &command, Path::new("/tmp/never.log")).unwrap_err();
    assert_eq!(error.to_string(), "failed to start etcd: /nowhere/etcd does not exist");
}

#[test]
fn the_folder_of_a_run_that_ended_is_removed_by_the_next_and_no_other() {
    let ended = RunFolder::create().unwrap();
    let ended_path = ended.path().to_path_buf();
    let living = RunFolder::create().unwrap();
    drop(ended);
    let _next = RunFolder::create().unwrap();
    assert!(!ended_path.exists(), "{} should be gone", ended_path.display());
    assert!(living.path().exists(), "{} should be there", living.path().display());
}

fn lives(pid: &str) -> bool {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    !stat.is_empty() && !stat.contains(") Z ")
}

fn log_says(log: &Path, words: &str) -> bool {
    fs::read_to_string(log).is_ok_and(|text| text.contains(words))
}
