//! `flowcode` with a person's own MCP servers, which are child processes here.

use std::path::{Path, PathBuf};
use std::time::Duration;

use fakes::model::{Gate, Point, Reply};
use rstest::rstest;
use serde_json::{Value, json};
use tokio::time::timeout;

use crate::flowcode::{Place, ended};
use crate::project::{finish, plan, run};
use crate::scene::DEADLINE;

/// A server of two tools, of which one says that it only reads. It writes down who it is.
const SERVER: &str = r"
const fs = require('fs');
fs.writeFileSync(process.argv[2], String(process.pid));
const tools = [
  { name: 'lookup', description: 'Looks a word up.', annotations: { readOnlyHint: true },
    inputSchema: { type: 'object', properties: { word: { type: 'string' } }, required: ['word'] } },
  { name: 'stamp', description: 'Stamps the work.', inputSchema: { type: 'object' } },
];
const answer = (method, params) => {
  switch (method) {
    case 'initialize': return { protocolVersion: params.protocolVersion, capabilities: { tools: {} },
      serverInfo: { name: 'notes', version: '1' } };
    case 'tools/list': return { tools };
    case 'tools/call': return { content: [{ type: 'text',
      text: `${params.name} ${JSON.stringify(params.arguments)} ${process.env.NOTE ?? ''}` }] };
    default: return {};
  }
};
require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (id === undefined) return;
  console.log(JSON.stringify({ jsonrpc: '2.0', id, result: answer(method, params) }));
}).on('close', () => process.exit(0));
";

/// Writes the server and a file that names it; the file, and where the server says who it is.
fn notes(place: &Place, others: &Value) -> (PathBuf, PathBuf) {
    let path = |name: &str| place.folder.path().join(name);
    std::fs::write(path("notes.js"), SERVER).unwrap();
    let mut servers = json!({
        "notes": {
            "command": "node",
            "args": [path("notes.js"), path("server.pid")],
            "env": { "NOTE": "${MY_NOTE}" },
            "trustReadOnlyHint": true
        }
    });
    for (name, server) in others.as_object().unwrap() {
        servers[name] = server.clone();
    }
    std::fs::write(path("mcp.json"), json!({ "mcpServers": servers }).to_string()).unwrap();
    (path("mcp.json"), path("server.pid"))
}

fn lives(pid: &Path) -> bool {
    let pid = std::fs::read_to_string(pid).unwrap();
    assert!(!pid.is_empty());
    Path::new("/proc").join(pid).exists()
}

fn select(tool: &str) -> Reply {
    Reply::call("ToolSearch", json!({ "query": format!("select:{tool}") }))
}

/// KERN-08
#[rstest]
#[case("openai")]
#[case("anthropic")]
#[tokio::test]
async fn tools_of_servers_join_the_run_when_they_are_found_and_while_planning_those_that_read(
    #[case] provider: &str,
) {
    let place = Place::new().await;
    let (file, pid) = notes(&place, &json!({}));
    place.model.script([
        select("notes__stamp"),
        select("notes__lookup"),
        // Commands come and go beside the server, and their orphans are ended.
        run(&["pwd"]),
        Reply::call("notes__lookup", json!({ "word": "greeting" })),
        plan("# Plan"),
        select("notes__stamp"),
        Reply::call("notes__stamp", json!({})),
        finish("failed"),
    ]);
    let mut command = place.command(provider, &["--approve", "self", "Fix it"]);
    command.arg("--mcp-config").arg(&file).env("MY_NOTE", "kept");
    let ran = ended(command.spawn().unwrap()).await;
    assert_eq!(ran.status, Some(1), "{}\n{}", ran.output, ran.progress);
    place.model.finish().unwrap();

    let requests = place.model.requests();
    let offers =
        |number: usize, tool: &str| requests[number].tools().iter().any(|name| name == tool);
    assert!(offers(0, "ToolSearch") && !offers(0, "notes__lookup"));
    let result = |number: usize| requests[number].tool_results().last().unwrap().content.clone();
    assert!(!offers(1, "notes__stamp"), "it may change something, and this is planning");
    assert!(offers(2, "notes__lookup"));
    assert_eq!(result(4), r#"lookup {"word":"greeting"} kept"#);
    assert!(offers(6, "notes__stamp"));
    assert_eq!(result(7), "stamp {} kept");
    assert!(!lives(&pid), "the server ends with flowcode");
}

/// KERN-08
#[tokio::test]
async fn a_server_that_fails_is_a_line_and_the_others_serve() {
    let place = Place::new().await;
    let absent = json!({ "absent": { "command": "no-such-program-anywhere" } });
    let (file, _) = notes(&place, &absent);
    place.model.script([
        select("notes__lookup"),
        Reply::call("notes__lookup", json!({ "word": "greeting" })),
        plan("# Plan"),
        finish("failed"),
    ]);
    let mut command = place.command("openai", &["--approve", "self", "Fix it"]);
    command.arg("--mcp-config").arg(&file).env("MY_NOTE", "kept");
    let ran = ended(command.spawn().unwrap()).await;
    assert_eq!(ran.status, Some(1), "{}\n{}", ran.output, ran.progress);
    place.model.finish().unwrap();
    let mut lines = ran.progress.lines();
    let line = lines.find(|line| line.contains("MCP server absent")).expect("a line about it");
    assert!(line.starts_with("! ") && line.contains("no-such-program-anywhere"), "{line}");
}

#[tokio::test]
async fn an_interrupted_run_leaves_no_server_behind() {
    let place = Place::new().await;
    let (file, pid) = notes(&place, &json!({}));
    let gate = Gate::new();
    place.model.script([plan("# Plan").held(Point::Headers, &gate)]);
    let mut command = place.command("openai", &["Fix it"]);
    command.arg("--mcp-config").arg(&file).env("MY_NOTE", "kept");
    let child = command.spawn().unwrap();
    timeout(DEADLINE, gate.reached()).await.unwrap();
    assert!(lives(&pid));
    crate::flowcode::interrupt(&child);
    let ran = timeout(Duration::from_secs(20), ended(child)).await.unwrap();
    assert_eq!(ran.status, Some(3), "{}", ran.progress);
    assert!(!lives(&pid));
}

/// A server that says that its tools changed, and never lists them again.
const STUCK: &str = r"
const fs = require('fs');
let lists = 0;
const say = (message) => console.log(JSON.stringify({ jsonrpc: '2.0', ...message }));
require('readline').createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  if (method === 'initialize') {
    say({ id, result: { protocolVersion: params.protocolVersion,
      capabilities: { tools: { listChanged: true } }, serverInfo: { name: 'stuck', version: '1' } } });
  } else if (method === 'tools/list' && lists++ === 0) {
    say({ id, result: { tools: [] } });
    say({ method: 'notifications/tools/list_changed' });
  } else if (method === 'tools/list') {
    fs.writeFileSync(process.argv[2], String(process.pid));
  }
}).on('close', () => process.exit(0));
";

#[tokio::test]
async fn a_server_that_hangs_between_two_runs_holds_nobody_who_wants_to_stop() {
    let place = Place::new().await;
    let path = |name: &str| place.folder.path().join(name);
    let (program, hangs, file) = (path("stuck.js"), path("stuck.pid"), path("mcp.json"));
    std::fs::write(&program, STUCK).unwrap();
    let servers =
        json!({ "mcpServers": { "stuck": { "command": "node", "args": [program, hangs] } } });
    std::fs::write(&file, servers.to_string()).unwrap();
    place.model.script([plan("# Plan")]);
    let mut command = place.command("openai", &["--approve", "self", "Fix it"]);
    command.arg("--mcp-config").arg(&file);
    let child = command.spawn().unwrap();
    let asked_again = async {
        while !hangs.exists() {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    };
    timeout(DEADLINE, asked_again).await.expect("the server is asked again");
    crate::flowcode::interrupt(&child);
    let ran = timeout(Duration::from_secs(15), ended(child)).await.expect("it goes on");
    assert_eq!(ran.status, Some(3), "{}", ran.progress);
    assert!(!lives(&hangs));
}

#[rstest]
#[case(None, "failed to read MCP servers from")]
#[case(Some("{"), "mcp.json: ")]
#[case(Some(r#"{"mcpServers": {"notes": {}}}"#), "notes")]
#[case(
    Some(r#"{"mcpServers": {"notes": {"command": "x", "env": {"A": "${NOWHERE}"}}}}"#),
    "NOWHERE"
)]
#[tokio::test]
async fn a_file_of_servers_that_cannot_be_used_is_one_line_and_nothing_is_begun(
    #[case] content: Option<&str>,
    #[case] part: &str,
) {
    let place = Place::new().await;
    let file = place.folder.path().join("mcp.json");
    if let Some(content) = content {
        std::fs::write(&file, content).unwrap();
    }
    let ran = place.runs("openai", &["--mcp-config", file.to_str().unwrap(), "Fix it"], "").await;
    assert_eq!(ran.status, Some(2), "{}", ran.progress);
    assert!(ran.progress.starts_with("flowcode: "), "{}", ran.progress);
    assert!(ran.progress.contains(part) && ran.progress.contains("mcp.json"), "{}", ran.progress);
    assert_eq!(ran.progress.lines().count(), 1, "{}", ran.progress);
    place.is_untouched();
}
