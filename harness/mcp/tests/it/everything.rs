//! The protocol's reference server, in JavaScript, as npm has it: over both transports.

use std::path::Path;
use std::process::Command;

use foundry_mcp::{Connections, Environment, Options, Servers};
use pretty_assertions::assert_eq;
use serde_json::json;
use testenv::Process;

use super::scene::PATIENCE;

fn host() -> Environment {
    #[expect(
        clippy::disallowed_methods,
        reason = "tests have no config module; node is found on PATH"
    )]
    let path = std::env::var("PATH").unwrap();
    Environment::new([("PATH".to_owned(), path)])
}

async fn open(entry: serde_json::Value) -> Connections {
    let file = json!({"mcpServers": {"everything": entry}});
    let servers = Servers::parse(&file.to_string(), &host()).unwrap();
    let options = Options { connect: PATIENCE, ..Options::default() };
    let (connections, problems) = Connections::open(servers, options).await;
    assert_eq!(problems, []);
    connections
}

async fn serve(program: &Path, port: u16) -> Process {
    let folder = testenv::scratch("server-everything").unwrap();
    let mut command = Command::new("node");
    command.arg(program).arg("streamableHttp").env("PORT", port.to_string());
    let mut process = Process::spawn("server-everything", &command, &folder.join("log")).unwrap();
    let listens = || async { tokio::net::TcpStream::connect(("127.0.0.1", port)).await.map(drop) };
    process.wait_for("it listens", PATIENCE, listens).await.unwrap();
    process
}

async fn call(connections: &Connections, name: &str, arguments: serde_json::Value) -> String {
    let tools = connections.tools();
    let all: Vec<&str> = tools.iter().map(|tool| tool.spec.name.as_str()).collect();
    let found = tools.iter().find(|tool| tool.spec.name.ends_with(name));
    let tool = found.unwrap_or_else(|| panic!("no {name} in {all:?}"));
    let arguments = serde_json::from_value(arguments).unwrap();
    let result = tokio::time::timeout(PATIENCE, tool.executor.execute(arguments)).await.unwrap();
    result.unwrap_or_else(|error| panic!("{name}: {error}"))
}

async fn exercise(connections: &Connections) {
    assert!(connections.tools().iter().all(|tool| tool.deferred));
    let echoed = call(connections, "echo", json!({"message": "hello"})).await;
    assert!(echoed.contains("hello"), "{echoed}");
    let sum = call(connections, "get-sum", json!({"a": 20, "b": 22})).await;
    assert!(sum.contains("42"), "{sum}");
    let image = call(connections, "get-tiny-image", json!({})).await;
    assert!(image.contains("[image, image/png, about "), "{image}");
    let structured =
        call(connections, "get-structured-content", json!({"location": "Chicago"})).await;
    assert!(structured.contains("temperature"), "{structured}");
    let long = json!({"duration": 1, "steps": 4});
    let long = call(connections, "trigger-long-running-operation", long).await;
    assert!(long.contains("completed"), "{long}");
}

#[tokio::test]
async fn the_reference_server_serves_as_a_child() {
    let connections =
        open(json!({"command": "node", "args": [testenv::server_everything().await, "stdio"]}))
            .await;
    exercise(&connections).await;
    connections.close().await;
}

#[tokio::test]
async fn the_reference_server_serves_over_http_and_again_after_a_restart() {
    let program = testenv::server_everything().await;
    let port = testenv::free_port().unwrap();
    let mut first = serve(&program, port).await;
    let url = format!("http://127.0.0.1:{port}/mcp");
    let connections = open(json!({"type": "http", "url": url, "trustReadOnlyHint": true})).await;
    exercise(&connections).await;

    first.kill().unwrap();
    let _second = serve(&program, port).await;
    testenv::eventually("it serves on a new session", PATIENCE, || async {
        let tools = connections.tools();
        let echo = tools.iter().find(|tool| tool.spec.name.ends_with("echo")).unwrap();
        let arguments = serde_json::from_value(json!({"message": "again"})).unwrap();
        echo.executor.execute(arguments).await.map(drop)
    })
    .await;
    connections.close().await;
}
