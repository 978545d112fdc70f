//! Tools of a real MCP server in flowcode, over both transports, and the death of that
//! server in the middle of a run.

use std::path::Path;

use fakes::model::{Captured, Gate, Reply};
use pretty_assertions::assert_eq;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use testenv::{Process, eventually, scratch, server_everything};

use super::place::{Place, commit, edit, ended, finish, plan};
use crate::world::DEADLINE;

/// As the model calls the server's `echo`.
const ECHO: &str = "everything__echo";

fn search() -> Reply {
    Reply::call("ToolSearch", json!({"query": "echo"}))
}

fn echo(words: &str) -> Reply {
    Reply::call(ECHO, json!({"message": words}))
}

/// A file of one server, `everything`.
fn config(place: &Place, entry: &Value) -> String {
    let file = place.beside("mcp.json");
    std::fs::write(&file, json!({"mcpServers": {"everything": entry}}).to_string()).unwrap();
    file.display().to_string()
}

/// What the server's echo returned, in order.
fn echoes(requests: &[Captured]) -> Vec<String> {
    let messages = requests.last().map(Captured::messages).unwrap_or_default();
    let calls = messages.iter().flat_map(|message| &message.calls);
    let echoes: Vec<&str> =
        calls.filter(|call| call.name == ECHO).map(|call| call.id.as_str()).collect();
    let results = messages.iter().flat_map(|message| &message.results);
    let of_echo = results.filter(|(id, _)| echoes.contains(&id.as_str()));
    of_echo.map(|(_, content)| content.clone()).collect()
}

/// Plays a run that echoes, loses its server, and echoes twice more. `lose` has returned
/// when the server is gone, and whatever is to take its place is there.
async fn lose_the_server(entry: &Value, lose: impl AsyncFnOnce()) -> (Place, Vec<String>) {
    let place = Place::new().await;
    let gate = Gate::new();
    place.model.script([
        plan(),
        search(),
        echo("first"),
        echo("second").held_by(&gate),
        echo("third"),
        edit(),
        commit(),
        finish(),
    ]);
    let file = config(&place, entry);
    let flowcode = place.start(&["--model", "openai/first", "--mcp-config", &file]);
    // The fourth request brings what came of the first echo.
    tokio::time::timeout(DEADLINE, place.model.request(4)).await.unwrap();
    lose().await;
    gate.open();
    let ran = ended(flowcode).await;
    assert_eq!(ran.status, Some(0), "{}", ran.said);
    place.model.finish().unwrap();
    let requests = place.model.requests();
    assert_deferred(&requests);
    let echoes = echoes(&requests);
    (place, echoes)
}

/// KERN-08: the schema is in no request until the model has searched.
fn assert_deferred(requests: &[Captured]) {
    let offers: Vec<bool> =
        requests.iter().map(|request| request.tools().iter().any(|tool| tool == ECHO)).collect();
    // A plan; a search, whose result is in the third request.
    let mut expected = vec![true; requests.len()];
    expected[..2].fill(false);
    assert_eq!(offers, expected);
    let tools = |request: &Captured| request.body["tools"].to_string();
    assert!(!tools(&requests[1]).contains("Echoes back"), "{}", tools(&requests[1]));
}

/// What was on its way may be lost and says so; what is called after it finds the server
/// again.
fn assert_reopened(echoes: &[String]) {
    assert_eq!(echoes.len(), 3, "{echoes:?}");
    assert!(echoes[0].contains("first"), "{echoes:?}");
    let second = &echoes[1];
    assert!(second.contains("second") || second.contains("outcome unknown"), "{echoes:?}");
    assert!(echoes[2].contains("third"), "{echoes:?}");
}

/// KERN-08
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_is_a_child_and_is_killed_is_started_again_and_ends_with_flowcode() {
    let program = server_everything().await;
    // By this word it is told from the same server of another suite.
    let mark = format!("of-test-{}", std::process::id());
    let entry = json!({"command": "node", "args": [program, "stdio", mark]});
    let (_place, echoes) = lose_the_server(&entry, async || {
        let server = marked(&mark);
        assert_eq!(server.len(), 1, "{server:?}");
        kill_process(Pid::from_raw(server[0]).unwrap(), Signal::KILL).unwrap();
        eventually("it is gone", DEADLINE, || async {
            let left = marked(&mark);
            if left.contains(&server[0]) { Err(format!("{left:?}")) } else { Ok(()) }
        })
        .await;
    })
    .await;
    assert_reopened(&echoes);
    assert_eq!(marked(&mark), [0; 0], "it outlived flowcode");
}

/// KERN-08
#[tokio::test(flavor = "multi_thread")]
async fn a_server_over_http_that_is_killed_and_comes_back_is_used_again() {
    let program = server_everything().await;
    let port = testenv::free_port().unwrap();
    let mut server = serve(&program, port).await;
    let mut second = None;
    let entry = json!({"type": "http", "url": format!("http://127.0.0.1:{port}/mcp")});
    let (_place, echoes) = lose_the_server(&entry, async || {
        server.kill().unwrap();
        second = Some(serve(&program, port).await);
    })
    .await;
    assert_reopened(&echoes);
    drop(second);
}

/// A server that cannot be started is a line, and the run goes on without it.
#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_start_is_named_and_the_run_goes_on() {
    let place = Place::new().await;
    place.model.script([plan(), edit(), commit(), finish()]);
    let file = config(&place, &json!({"command": "no-such-server-anywhere"}));
    let ran = place.run(&["--model", "openai/first", "--mcp-config", &file]).await;
    assert_eq!(ran.status, Some(0), "{}", ran.said);
    assert!(ran.said.contains("everything"), "{}", ran.said);
    assert!(ran.said.contains("no-such-server-anywhere"), "{}", ran.said);
    place.model.finish().unwrap();
}

/// A file that says nothing usable is one clear line, before anything is begun.
#[tokio::test(flavor = "multi_thread")]
async fn a_file_of_servers_that_is_none_is_refused_before_anything_is_begun() {
    let place = Place::new().await;
    let file = place.beside("mcp.json");
    std::fs::write(&file, "{\"mcpServers\": {\"everything\": {}}}").unwrap();
    let file = file.display().to_string();
    let ran = place.run(&["--model", "openai/first", "--mcp-config", &file]).await;
    assert_eq!(ran.status, Some(2), "{}", ran.said);
    assert!(ran.said.contains(&file) && ran.said.contains("everything"), "{}", ran.said);
    assert_eq!(ran.said.trim_end().lines().count(), 1, "{}", ran.said);
    assert!(place.model.requests().is_empty());
}

async fn serve(program: &Path, port: u16) -> Process {
    let folder = scratch("server-everything").unwrap();
    let mut command = std::process::Command::new("node");
    command.arg(program).arg("streamableHttp").env("PORT", port.to_string());
    let mut server = Process::spawn("server-everything", &command, &folder.join("log")).unwrap();
    let listens = || async { tokio::net::TcpStream::connect(("127.0.0.1", port)).await.map(drop) };
    server.wait_for("it listens", DEADLINE, listens).await.unwrap();
    server
}

/// Processes with this word on their command line, as /proc has them.
fn marked(word: &str) -> Vec<i32> {
    let folders = std::fs::read_dir("/proc").unwrap().filter_map(Result::ok);
    let pids = folders.filter_map(|folder| folder.file_name().to_str()?.parse::<i32>().ok());
    let has_it = |pid: &i32| {
        let line = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        line.split('\0').any(|given| given == word)
    };
    pids.filter(has_it).collect()
}
