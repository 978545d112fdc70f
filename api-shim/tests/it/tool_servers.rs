//! Tool servers are asked for their tools, and their status shows what they answer.

use std::process::Command;
use std::time::Duration;

use foundry_crds::{
    ToolServer, ToolServerSpec, model::SecretKeyRef, tool_server::ToolServerReport,
};
use kube::api::PostParams;
use pretty_assertions::assert_eq;
use testenv::Process;
use tokio::{
    io::{AsyncReadExt, AsyncWriteExt},
    net::TcpListener,
};
use tokio_util::task::AbortOnDropHandle;

use super::app::TestApp;

const PATIENCE: Duration = Duration::from_mins(1);

fn spec(url: &str) -> ToolServerSpec {
    ToolServerSpec { url: url.to_owned(), ..ToolServerSpec::default() }
}

/// Waits until what stands in the status fits.
async fn until(
    app: &TestApp,
    name: &str,
    fits: impl Fn(&ToolServerReport) -> bool,
) -> ToolServerReport {
    testenv::eventually("the status says so", PATIENCE, || async {
        let server = app.cluster.tool_servers().get(name).await.unwrap();
        let reported = server.status.and_then(|status| status.reported).unwrap_or_default();
        if fits(&reported) { Ok(reported) } else { Err(format!("{reported:?}")) }
    })
    .await
}

/// The reference server, on a port of its own.
async fn everything() -> (String, Process) {
    let program = testenv::server_everything().await;
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let port = listener.local_addr().unwrap().port();
    drop(listener);
    let folder = testenv::scratch("tool-servers").unwrap();
    let mut command = Command::new("node");
    command.arg(program).arg("streamableHttp").env("PORT", port.to_string());
    let mut process = Process::spawn("server-everything", &command, &folder.join("log")).unwrap();
    let listens = || async { tokio::net::TcpStream::connect(("127.0.0.1", port)).await.map(drop) };
    process.wait_for("it listens", PATIENCE, listens).await.unwrap();
    (format!("http://127.0.0.1:{port}/mcp"), process)
}

/// One that answers every request with these bytes, and tells what it was asked.
async fn stub(
    answer: &'static str,
) -> (String, tokio::sync::mpsc::UnboundedReceiver<String>, AbortOnDropHandle<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap());
    let (heard, questions) = tokio::sync::mpsc::unbounded_channel();
    let serving = async move {
        let mut held = Vec::new();
        loop {
            let (mut stream, _) = listener.accept().await.unwrap();
            let mut bytes = vec![0; 16 * 1024];
            let read = stream.read(&mut bytes).await.unwrap_or(0);
            let _gone = heard.send(String::from_utf8_lossy(&bytes[..read]).into_owned());
            if answer.is_empty() {
                // It hangs: the connection is held and nothing comes.
                held.push(stream);
            } else {
                let _gone = stream.write_all(answer.as_bytes()).await;
            }
        }
    };
    #[expect(clippy::disallowed_methods, reason = "ends with the test by its handle")]
    let handle = AbortOnDropHandle::new(tokio::spawn(serving));
    (url, questions, handle)
}

const REFUSAL: &str = "HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
const ELSEWHERE: &str = "HTTP/1.1 302 Found\r\nlocation: http://127.0.0.1:9/mcp\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";

/// SPEC-06: only what a server says only reads comes in, unless the spec lets all in.
#[tokio::test]
async fn a_server_that_answers_shows_the_tools_that_agents_get() {
    let app = TestApp::start().await;
    let (url, _process) = everything().await;
    app.cluster.create_tool_server("reads", spec(&url)).await;
    let writes = ToolServerSpec { write: Some(true), ..spec(&url) };
    app.cluster.create_tool_server("writes", writes).await;
    let all = until(&app, "writes", |report| report.reachable).await;
    assert!(all.tools.contains(&"echo".to_owned()), "{all:?}");
    assert_eq!(all.tool_count, i64::try_from(all.tools.len()).ok());
    assert_eq!((all.generation, &all.message), (Some(1), &None));
    let reading = until(&app, "reads", |report| report.reachable).await;
    assert!(reading.tools.iter().all(|tool| all.tools.contains(tool)), "{reading:?}");
    assert!(reading.tools.len() < all.tools.len(), "{reading:?} of {all:?}");

    let server = app.cluster.tool_servers().get("writes").await.unwrap();
    let managers = server.metadata.managed_fields.unwrap_or_default();
    let ours = managers.iter().filter(|entry| entry.subresource.as_deref() == Some("status"));
    let ours = ours.map(|entry| entry.manager.as_deref().unwrap()).collect::<Vec<_>>();
    assert_eq!(ours, ["foundry-api/reported"]);
}

#[tokio::test]
async fn a_server_that_keeps_failing_is_asked_again_and_nothing_more_is_written() {
    let app = TestApp::start().await;
    let (url, mut hears, _serving) = stub(REFUSAL).await;
    app.cluster.create_tool_server("fails", spec(&url)).await;
    let fails = until(&app, "fails", |report| report.message.is_some()).await;
    assert!(!fails.reachable && fails.tools.is_empty(), "{fails:?}");
    let version = || async {
        app.cluster.tool_servers().get("fails").await.unwrap().metadata.resource_version
    };
    let before = version().await;
    // When it hears the last question, what came of those before has been looked at.
    for _ in 0..3 {
        while hears.try_recv().is_ok() {}
        app.pass(Duration::from_mins(11));
        tokio::time::timeout(PATIENCE, hears.recv()).await.unwrap();
    }
    assert_eq!(version().await, before);
}

#[tokio::test]
async fn a_server_that_hangs_holds_up_no_other() {
    let app = TestApp::start().await;
    let (url, mut hears, _serving) = stub("").await;
    app.cluster.create_tool_server("hangs", spec(&url)).await;
    tokio::time::timeout(PATIENCE, hears.recv()).await.unwrap();
    app.cluster.create_tool_server("other", spec("http://127.0.0.1:9/mcp")).await;
    until(&app, "other", |report| report.message.is_some()).await;
    let hangs = app.cluster.tool_servers().get("hangs").await.unwrap();
    assert_eq!(hangs.status.and_then(|status| status.reported), None, "it is waited for yet");
    let late = until(&app, "hangs", |report| report.message.is_some()).await;
    assert!(!late.reachable, "{late:?}");
}

/// SPEC-05
#[tokio::test]
async fn the_key_is_read_by_name_sent_as_it_is_and_shown_nowhere() {
    let app = TestApp::start().await;
    let (url, mut hears, _serving) = stub(REFUSAL).await;
    let key = SecretKeyRef { name: "wiki".into(), key: "token".into() };
    let keyed = ToolServerSpec { auth_secret: Some(key), ..spec(&url) };
    app.cluster.create_tool_server("wiki", keyed).await;
    let missing = until(&app, "wiki", |report| report.message.is_some()).await;
    assert!(missing.message.unwrap().contains("Secret wiki has no key token"));
    assert!(hears.try_recv().is_err(), "without its key it is not asked");

    app.cluster.create_secret("wiki", "token", "Bearer s3cr3t-of-the-wiki").await;
    app.pass(Duration::from_mins(11));
    let asked = tokio::time::timeout(PATIENCE, hears.recv()).await.unwrap().unwrap();
    assert!(asked.to_lowercase().contains("authorization: bearer s3cr3t-of-the-wiki"), "{asked}");
    let refused = until(&app, "wiki", |report| {
        report.message.as_ref().is_some_and(|words| words.contains("401"))
    });
    let refused = refused.await;
    assert!(!format!("{refused:?}").contains("s3cr3t"), "{refused:?}");
}

#[tokio::test]
async fn redirects_are_not_followed_and_the_machines_own_addresses_not_asked() {
    let app = TestApp::start().await;
    let (url, _hears, _serving) = stub(ELSEWHERE).await;
    app.cluster.create_tool_server("elsewhere", spec(&url)).await;
    let metadata = spec("http://169.254.169.254/latest/meta-data");
    app.cluster.create_tool_server("metadata", metadata).await;
    let told = until(&app, "elsewhere", |report| report.message.is_some()).await;
    assert!(told.message.as_ref().unwrap().contains("redirect"), "{told:?}");
    let told = until(&app, "metadata", |report| report.message.is_some()).await;
    assert!(told.message.as_ref().unwrap().contains("of the machine or its cloud"), "{told:?}");
}

#[tokio::test]
async fn an_edit_is_answered_at_once() {
    let app = TestApp::start().await;
    app.cluster.create_tool_server("moves", spec("http://127.0.0.1:9/mcp")).await;
    until(&app, "moves", |report| report.generation == Some(1)).await;
    let (url, _hears, _serving) = stub(REFUSAL).await;
    let server: ToolServer = app.cluster.tool_servers().get("moves").await.unwrap();
    let moved = ToolServer { spec: spec(&url), ..server };
    app.cluster.tool_servers().replace("moves", &PostParams::default(), &moved).await.unwrap();
    let told = until(&app, "moves", |report| report.generation == Some(2)).await;
    assert!(told.message.as_ref().unwrap().contains("401"), "{told:?}");
}
