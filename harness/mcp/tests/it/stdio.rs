//! Servers that are children.

use std::any::Any;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use foundry_mcp::{Children, Connections, Environment, Options, Servers};
use futures::future::join_all;
use pretty_assertions::assert_eq;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::json;
use tempfile::TempDir;

use super::scene::{PATIENCE, call, failure, unknown};

/// The example of this crate, which cargo builds beside its tests.
fn program() -> PathBuf {
    let tests = std::env::current_exe().unwrap();
    let program = tests.ancestors().nth(2).unwrap().join("examples/stdio-server");
    assert!(program.is_file(), "no {}: cargo build -p foundry-mcp --examples", program.display());
    program
}

struct Scene {
    folder: TempDir,
}

impl Scene {
    fn new() -> Self {
        Self { folder: tempfile::tempdir().unwrap() }
    }

    fn lives_file(&self) -> PathBuf {
        self.folder.path().join("lives")
    }

    /// How often the server was started.
    fn lives(&self) -> usize {
        std::fs::read_to_string(self.lives_file()).unwrap_or_default().lines().count()
    }

    async fn open(&self, options: Options) -> Connections {
        self.open_with(&program(), options).await
    }

    async fn open_with(&self, program: &Path, options: Options) -> Connections {
        let file = json!({"mcpServers": {"db": {
            "command": program,
            "env": {"FOUNDRY_TEST_LIVES": self.lives_file(), "API_TOKEN": "${MY_TOKEN}"},
            "trustReadOnlyHint": true,
        }}});
        let host = [("PATH", "/usr/bin:/bin"), ("MY_TOKEN", "ak_child"), ("MODEL_KEY", "ak_host")];
        let host = host.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let servers = Servers::parse(&file.to_string(), &Environment::new(host)).unwrap();
        let (connections, problems) = Connections::open(servers, options).await;
        assert_eq!(problems, []);
        connections
    }
}

fn shell(script: &str) -> (Servers, Options) {
    let file = json!({"mcpServers": {"db": {
        "command": "sh", "args": ["-c", script], "env": {"API_TOKEN": "ak_child"}
    }}});
    let host = Environment::new([("PATH".to_owned(), "/usr/bin:/bin".to_owned())]);
    let servers = Servers::parse(&file.to_string(), &host).unwrap();
    let options = Options { connect: Duration::from_secs(5), ..Options::default() };
    (servers, options)
}

async fn refused(script: &str) -> String {
    let (servers, options) = shell(script);
    let (_connections, problems) = Connections::open(servers, options).await;
    let [problem] = problems.as_slice() else { panic!("{problems:?}") };
    problem.to_string()
}

async fn gone(what: &str, pid: Pid) {
    testenv::eventually(what, PATIENCE, || async {
        match test_kill_process(pid) {
            Err(_) => Ok(()),
            // A zombie that its parent has not yet buried is gone too.
            Ok(()) if is_zombie(pid) => Ok(()),
            Ok(()) => Err(format!("{pid:?} runs")),
        }
    })
    .await;
}

fn is_zombie(pid: Pid) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
    stat.is_ok_and(|stat| stat.rsplit(") ").next().is_some_and(|rest| rest.starts_with('Z')))
}

fn pid(text: &str) -> Pid {
    Pid::from_raw(text.trim().parse().unwrap()).unwrap()
}

#[tokio::test]
async fn a_child_serves_and_ends_in_good_order() {
    let scene = Scene::new();
    let connections = scene.open(Options::default()).await;
    assert_eq!(call(&connections, "read").await, Ok("read did it".to_owned()));
    assert_eq!(failure(call(&connections, "fail").await), "the disk is full");
    assert_eq!(call(&connections, "huge").await.map(|text| text.len()), Ok(2_000_000));
    let began = Instant::now();
    connections.close().await;
    // It ended by itself when its input closed, not by a signal after a wait.
    assert!(began.elapsed() < Duration::from_secs(2), "{:?}", began.elapsed());
    assert_eq!(scene.lives(), 1);
}

#[tokio::test]
async fn a_child_sees_of_the_hosts_environment_only_what_programs_need() {
    let scene = Scene::new();
    let connections = scene.open(Options::default()).await;
    let seen = call(&connections, "environment").await.unwrap();
    let mut names: Vec<&str> = seen.lines().filter_map(|line| line.split('=').next()).collect();
    names.sort_unstable();
    assert_eq!(names, ["API_TOKEN", "FOUNDRY_TEST_LIVES", "PATH"]);
    // It has the value, and what it says of it is not kept.
    assert!(seen.contains("API_TOKEN=***"), "{seen}");
}

/// KERN-41
#[tokio::test]
async fn a_child_that_dies_is_started_once_for_all_waiting_calls() {
    let scene = Scene::new();
    let connections = scene.open(Options::default()).await;
    let words = unknown(call(&connections, "die").await);
    assert!(
        words.starts_with("MCP server db: the connection closed; it ended (exit status: 3)"),
        "{words}"
    );
    assert!(words.contains("it said: panic: the index is corrupt"), "{words}");

    let results = join_all((0..8).map(|_| call(&connections, "read"))).await;
    assert_eq!(results, vec![Ok("read did it".to_owned()); 8]);
    assert_eq!(scene.lives(), 2);
}

/// KERN-41
#[tokio::test]
async fn calls_of_a_child_that_is_killed_fail_at_once() {
    let scene = Scene::new();
    let connections = scene.open(Options::default()).await;
    let child = pid(&call(&connections, "orphan").await.unwrap());
    let leader = rustix::process::getpgid(Some(child)).unwrap();

    let began = Instant::now();
    let kill = async {
        tokio::task::yield_now().await;
        kill_process(leader, Signal::KILL).unwrap();
    };
    let (result, ()) = tokio::join!(call(&connections, "hang"), kill);
    let words = unknown(result);
    assert!(words.contains("it ended (signal: 9 (SIGKILL))"), "{words}");
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    // What it had started went with it, though the dead cannot kill.
    gone("its own child ends", child).await;
    assert_eq!(call(&connections, "read").await, Ok("read did it".to_owned()));
    assert_eq!(scene.lives(), 2);
}

#[tokio::test]
async fn a_drop_kills_a_child_with_all_its_children() {
    let scene = Scene::new();
    let connections = scene.open(Options::default()).await;
    let child = pid(&call(&connections, "orphan").await.unwrap());
    let leader = rustix::process::getpgid(Some(child)).unwrap();
    assert_ne!(leader, rustix::process::getpgrp());
    drop(connections);
    gone("the server ends", leader).await;
    gone("its own child ends", child).await;
}

#[tokio::test]
async fn a_message_beyond_the_limit_ends_the_session_and_not_the_turn() {
    let scene = Scene::new();
    let connections = scene.open(Options::default()).await;
    let words = unknown(call(&connections, "giant").await);
    assert!(words.contains("it sent a message of more than 16711680 bytes"), "{words}");
    assert_eq!(call(&connections, "read").await, Ok("read did it".to_owned()));
}

#[tokio::test]
async fn a_program_that_is_not_there_is_a_problem_with_a_remedy() {
    let text = r#"{"mcpServers": {"db": {"command": "foundry-no-such-program"}}}"#;
    let servers = Servers::parse(text, &Environment::default()).unwrap();
    let (_connections, problems) = Connections::open(servers, Options::default()).await;
    assert_eq!(
        problems[0].to_string(),
        "MCP server db: foundry-no-such-program is not found: install it, give its path, or put it on PATH"
    );
}

/// BIND-11
#[tokio::test]
async fn a_child_that_fails_at_its_start_is_quoted_without_its_secret() {
    let words = refused("echo \"bad token $API_TOKEN\" >&2; exit 4").await;
    assert_eq!(
        words,
        "MCP server db: it closed the connection before it had said hello; \
         it ended (exit status: 4); it said: bad token ***"
    );
}

#[tokio::test]
async fn a_child_that_says_nothing_is_given_up_in_time() {
    let (servers, options) = shell("sleep 600");
    let options = Options { connect: Duration::from_millis(200), ..options };
    let (connections, problems) = Connections::open(servers, options).await;
    assert_eq!(problems[0].to_string(), "MCP server db: it did not answer within 200ms");
    drop(connections);
}

#[tokio::test]
async fn a_child_that_closes_its_output_and_lives_on_is_not_waited_for() {
    let words = refused("exec >&-; exec sleep 600").await;
    assert_eq!(words, "MCP server db: it closed the connection before it had said hello");
}

/// A server that says hello and lists one tool, and at the first call of it does `then`.
fn shaking_hands(then: &str) -> String {
    let hello = json!({"jsonrpc": "2.0", "id": 0, "result": {
        "protocolVersion": "2025-06-18", "capabilities": {"tools": {}},
        "serverInfo": {"name": "db", "version": "1"},
    }});
    let tools = json!({"jsonrpc": "2.0", "id": 1, "result": {"tools": [
        {"name": "write", "description": "does write", "inputSchema": {"type": "object"}},
    ]}});
    // Between the two comes the notice that the hello was heard.
    format!("read line; echo '{hello}'; read line; read line; echo '{tools}'; read line; {then}")
}

#[tokio::test]
async fn a_child_that_asks_without_end_and_takes_no_answers_is_ended_and_fills_no_memory() {
    let ping = json!({"jsonrpc": "2.0", "id": 7, "method": "ping"});
    let (servers, options) = shell(&shaking_hands(&format!("exec yes '{ping}'")));
    let (connections, problems) = Connections::open(servers, options).await;
    assert_eq!(problems, []);
    let words = unknown(call(&connections, "write").await);
    assert!(words.contains("has not taken 256 answers"), "{words}");
}

#[tokio::test]
async fn a_child_that_leaves_something_behind_that_holds_its_pipes_is_not_waited_for() {
    let then = "setsid sleep 600 & echo $! >&2; exit 5";
    let (servers, options) = shell(&shaking_hands(then));
    let (connections, problems) = Connections::open(servers, options).await;
    assert_eq!(problems, []);
    let began = Instant::now();
    let words = unknown(call(&connections, "write").await);
    assert!(began.elapsed() < Duration::from_secs(5), "{:?}", began.elapsed());
    assert!(words.contains("it ended (exit status: 5)"), "{words}");
    // It is of another group and another session, which are not ours to end.
    let left = pid(words.rsplit("it said: ").next().unwrap().split(' ').next().unwrap());
    kill_process(left, Signal::KILL).unwrap();
}

/// Who minds the children of a process.
#[derive(Default)]
struct Nursery {
    started: Mutex<Vec<u32>>,
    ended: Arc<Mutex<usize>>,
}

struct Kept(Arc<Mutex<usize>>);

impl Drop for Kept {
    fn drop(&mut self) {
        *self.0.lock().unwrap() += 1;
    }
}

impl Children for Nursery {
    fn start(
        &self,
        spawn: &mut dyn FnMut() -> io::Result<u32>,
    ) -> io::Result<Box<dyn Any + Send + Sync>> {
        let mut started = self.started.lock().unwrap();
        started.push(spawn()?);
        Ok(Box::new(Kept(self.ended.clone())))
    }
}

#[tokio::test]
async fn who_minds_the_children_knows_each_for_as_long_as_it_lives() {
    let scene = Scene::new();
    let nursery = Arc::new(Nursery::default());
    let options = Options { children: Some(nursery.clone()), ..Options::default() };
    let connections = scene.open(options).await;
    assert_eq!((nursery.started.lock().unwrap().len(), *nursery.ended.lock().unwrap()), (1, 0));
    connections.close().await;
    testenv::eventually("its end is known", PATIENCE, || async {
        let ended = *nursery.ended.lock().unwrap();
        if ended == 1 { Ok(()) } else { Err(ended) }
    })
    .await;
}
