//! What a server was given and repeats: told neither in errors nor in logs nor in results.

use std::io::{self, Write};
use std::sync::{Arc, Mutex};

use axum::http::StatusCode;
use axum::response::IntoResponse as _;
use foundry_mcp::Server;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tracing_subscriber::fmt::MakeWriter;

use super::odd::{Odd, is, json_response, result};
use super::scene::{HttpServer, call, failure};
use super::server::World;

const TOKEN: &str = "ak_0123456789abcdefghijklmnopqrstuvwxyz";

fn url_with_secrets(odd: &Odd) -> url::Url {
    let mut url = odd.url.clone();
    url.set_username("ann").unwrap();
    url.set_password(Some("pass-word-7")).unwrap();
    url.set_query(Some("api_key=ak_query_77"));
    url
}

fn error(message: &Value, words: &str) -> axum::response::Response {
    let error = json!({"code": -32000, "message": words});
    json_response(StatusCode::OK, &json!({"jsonrpc": "2.0", "id": message["id"], "error": error}))
}

/// BIND-11
#[tokio::test]
async fn a_secret_on_which_a_long_error_is_cut_is_not_told_in_part() {
    let words = format!("{} {TOKEN}", "x".repeat(580));
    let odd = Odd::start(move |message| is(message, "tools/call").then(|| error(message, &words)));
    let server = Server::http("odd", odd.url.clone());
    let server = server.authorization(format!("Bearer {TOKEN}").into());
    let (connections, _) = odd.open_as(server).await;
    let told = failure(call(&connections, "write").await);
    assert_eq!(told, format!("MCP server odd: {} ***", "x".repeat(580)));
}

/// BIND-11
#[tokio::test]
async fn a_secret_in_the_part_that_is_shown_of_an_answer_without_form_is_not_told_in_part() {
    let odd = Odd::start(|message| {
        is(message, "tools/call").then(|| {
            // As much of it is shown as lets the secret begin.
            let body = format!("{}{TOKEN}", "x".repeat(240));
            ([("content-type", "application/json")], body).into_response()
        })
    });
    let server = Server::http("odd", odd.url.clone());
    let server = server.authorization(format!("Bearer {TOKEN}").into());
    let (connections, _) = odd.open_as(server).await;
    let told = super::scene::unknown(call(&connections, "write").await);
    assert!(told.contains("could not parse") && !told.contains("ak_0123"), "{told}");
}

/// BIND-11
#[tokio::test]
async fn parts_of_a_url_that_are_secrets_are_told_neither_whole_nor_alone() {
    let words = "no entry for pass-word-7 (YW5uOnBhc3Mtd29yZC03) by ak_query_77";
    let odd = Odd::start(move |message| is(message, "tools/call").then(|| error(message, words)));
    let (connections, problems) = odd.open_as(Server::http("odd", url_with_secrets(&odd))).await;
    assert_eq!(problems, [""; 0]);
    // They were sent.
    let sent = odd.headers.lock().unwrap()[0]["authorization"].clone();
    assert_eq!(sent, "Basic YW5uOnBhc3Mtd29yZC03");
    let told = failure(call(&connections, "write").await);
    assert_eq!(told, "MCP server odd: no entry for *** (***) by ***");
}

/// BIND-11
#[tokio::test]
async fn what_a_tool_returns_has_no_credential_in_it_and_everything_else() {
    for is_error in [false, true] {
        let odd = Odd::start(move |message| {
            is(message, "tools/call").then(|| {
                let text = format!("agent-ann sent Authorization: Bearer {TOKEN} and {TOKEN}");
                let content = json!([{"type": "text", "text": text}]);
                result(message, &json!({"content": content, "isError": is_error}))
            })
        });
        let server = Server::http("odd", odd.url.clone())
            .authorization(format!("Bearer {TOKEN}").into())
            .header("x-everdict-agent-id".parse().unwrap(), "agent-ann".to_owned().into());
        let (connections, _) = odd.open_as(server).await;
        let returned = call(&connections, "write").await;
        let told = if is_error { failure(returned) } else { returned.unwrap() };
        assert_eq!(told, "agent-ann sent Authorization: *** and ***");
    }
}

/// What is logged while a test runs, all of it.
#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl<'a> MakeWriter<'a> for Log {
    type Writer = Self;

    fn make_writer(&'a self) -> Self {
        self.clone()
    }
}

impl Log {
    /// Listens on this thread, on which a test's runtime does all of its work.
    fn listen(&self) -> tracing::subscriber::DefaultGuard {
        let subscriber = tracing_subscriber::fmt()
            .with_max_level(tracing::Level::WARN)
            .with_ansi(false)
            .with_writer(self.clone())
            .finish();
        tracing::subscriber::set_default(subscriber)
    }

    fn text(&self) -> String {
        String::from_utf8(self.0.lock().unwrap().clone()).unwrap()
    }
}

/// BIND-11
#[tokio::test]
async fn a_refusal_that_quotes_secrets_is_logged_without_them() {
    let log = Log::default();
    let _listening = log.listen();
    let words = format!("HTTP refused {TOKEN}, pass-word-7 and ak_query_77");
    let odd = Odd::start(move |_| Some((StatusCode::BAD_REQUEST, words.clone()).into_response()));
    let server = Server::http("odd", url_with_secrets(&odd));
    let server = server.header("x-key".parse().unwrap(), TOKEN.to_owned().into());
    let (_connections, problems) = odd.open_as(server).await;
    assert_eq!(problems.len(), 1);
    logged_without_secrets(&log, "worker quit");
}

/// BIND-11
#[tokio::test]
async fn a_server_that_cannot_be_reached_is_logged_without_its_secrets() {
    let log = Log::default();
    let _listening = log.listen();
    let mut gone = HttpServer::start(&World::default());
    gone.kill();
    let odd = Odd::start(|_| None);
    let mut url = url_with_secrets(&odd);
    url.set_port(Some(gone.address.port())).unwrap();
    let (_connections, problems) = odd.open_as(Server::http("odd", url)).await;
    assert!(problems[0].contains("it cannot be reached"), "{problems:?}");
    logged_without_secrets(&log, "worker quit");
}

fn logged_without_secrets(log: &Log, what: &str) {
    let text = log.text();
    assert!(text.contains(what), "nothing was logged, so nothing is shown: {text:?}");
    for secret in ["ak_0123", "pass-word-7", "ak_query_77"] {
        assert!(!text.contains(secret), "{text}");
    }
}
