//! Servers that do as no server should. Each answers by hand what a real one would not.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::body::Bytes;
use axum::http::{HeaderMap, Method, StatusCode};
use axum::response::{IntoResponse, Response};
use foundry_mcp::{Connections, Options, Problem, Server, Servers};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::scene::{call, failure, host, unknown};

/// Answers one method; none leaves it to the usual answer.
type Answer = Arc<dyn Fn(&Value) -> Option<Response> + Send + Sync>;

/// A server that answers as it is told and counts what it was asked.
pub(super) struct Odd {
    pub(super) url: url::Url,
    asked: Arc<Mutex<HashMap<String, usize>>>,
    hangs: Arc<AtomicBool>,
    pub(super) headers: Arc<Mutex<Vec<HeaderMap>>>,
    _runtime: Runtime,
}

struct Runtime(Option<tokio::runtime::Runtime>);

impl Drop for Runtime {
    fn drop(&mut self) {
        if let Some(runtime) = self.0.take() {
            runtime.shutdown_background();
        }
    }
}

impl Odd {
    pub(super) fn start(
        answer: impl Fn(&Value) -> Option<Response> + Send + Sync + 'static,
    ) -> Self {
        let answer: Answer = Arc::new(answer);
        let asked = Arc::new(Mutex::new(HashMap::new()));
        let headers = Arc::new(Mutex::new(Vec::new()));
        let hangs = Arc::new(AtomicBool::new(false));
        let (counts, kept, silent) = (asked.clone(), headers.clone(), hangs.clone());
        let handler = move |method: Method, headers: HeaderMap, body: Bytes| {
            let response = respond(&answer, &counts, &method, &body);
            kept.lock().unwrap().push(headers);
            let silent = silent.load(Ordering::SeqCst) && is_handshake(&body);
            async move { if silent { std::future::pending().await } else { response } }
        };
        let router = axum::Router::new().fallback(handler);
        let (runtime, address) = host(router, ([127, 0, 0, 1], 0).into());
        let url = format!("http://{address}/mcp").parse().unwrap();
        Self { url, asked, hangs, headers, _runtime: Runtime(Some(runtime)) }
    }

    /// Answers no handshake any more.
    pub(super) fn begin_nothing_more(&self) {
        self.hangs.store(true, Ordering::SeqCst);
    }

    pub(super) fn asked(&self, method: &str) -> usize {
        self.asked.lock().unwrap().get(method).copied().unwrap_or(0)
    }

    pub(super) async fn open(&self) -> (Connections, Vec<String>) {
        self.open_as(Server::http("odd", self.url.clone())).await
    }

    pub(super) async fn open_as(&self, server: Server) -> (Connections, Vec<String>) {
        let servers = Servers::default().with(server);
        let (connections, problems) = Connections::open(servers, Options::default()).await;
        (connections, problems.iter().map(Problem::to_string).collect())
    }
}

fn is_handshake(body: &[u8]) -> bool {
    serde_json::from_slice(body).is_ok_and(|message: Value| is(&message, "initialize"))
}

fn respond(
    answer: &Answer,
    counts: &Mutex<HashMap<String, usize>>,
    method: &Method,
    body: &[u8],
) -> Response {
    if method != Method::POST {
        return StatusCode::METHOD_NOT_ALLOWED.into_response();
    }
    let message: Value = serde_json::from_slice(body).unwrap();
    let name = message["method"].as_str().unwrap_or_default().to_owned();
    *counts.lock().unwrap().entry(name.clone()).or_default() += 1;
    if let Some(response) = answer(&message) {
        return response;
    }
    match name.as_str() {
        "initialize" => {
            let mut response = result(
                &message,
                &json!({
                    "protocolVersion": "2025-06-18",
                    "capabilities": {"tools": {}},
                    "serverInfo": {"name": "odd", "version": "1"},
                }),
            );
            response.headers_mut().insert("mcp-session-id", "s1".parse().unwrap());
            response
        }
        "tools/list" => result(&message, &json!({"tools": [plain("write")]})),
        "tools/call" => result(&message, &json!({"content": [{"type": "text", "text": "done"}]})),
        _ => StatusCode::ACCEPTED.into_response(),
    }
}

pub(super) fn plain(name: &str) -> Value {
    json!({"name": name, "description": format!("does {name}"), "inputSchema": {"type": "object"}})
}

pub(super) fn json_response(status: StatusCode, body: &Value) -> Response {
    (status, [("content-type", "application/json")], body.to_string()).into_response()
}

pub(super) fn result(message: &Value, result: &Value) -> Response {
    let body = json!({"jsonrpc": "2.0", "id": message["id"], "result": result});
    json_response(StatusCode::OK, &body)
}

pub(super) fn is(message: &Value, method: &str) -> bool {
    message["method"] == method
}

#[tokio::test]
async fn one_entry_that_is_no_tool_does_not_hide_the_page_it_stands_on() {
    let odd = Odd::start(|message| {
        is(message, "tools/list").then(|| match message["params"]["cursor"].as_str() {
            None => result(message, &json!({
                "tools": [plain("first"), {"name": "bare", "inputSchema": null}, {"description": "x"}],
                "nextCursor": "2",
            })),
            Some(_) => result(message, &json!({"tools": [plain("last")]})),
        })
    });
    let (connections, problems) = odd.open().await;
    let names: Vec<_> =
        connections.tools().iter().map(|tool| tool.spec.description.clone()).collect();
    assert_eq!(names, ["does first", "does last"]);
    assert_eq!(problems.len(), 2, "{problems:?}");
    assert!(
        problems[0]
            .starts_with("MCP server odd: tool bare is left out: its entry cannot be read: "),
        "{problems:?}"
    );
    assert!(
        problems[1].starts_with("MCP server odd: tool without a name is left out: "),
        "{problems:?}"
    );
}

#[tokio::test]
async fn a_list_that_leads_in_a_circle_ends() {
    let odd = Odd::start(|message| {
        is(message, "tools/list")
            .then(|| result(message, &json!({"tools": [], "nextCursor": "again"})))
    });
    let (_connections, problems) = odd.open().await;
    assert_eq!(problems, ["MCP server odd: its list of tools leads back to a page already read"]);
    assert_eq!(odd.asked("tools/list"), 2);
}

/// KERN-41
#[tokio::test]
async fn a_server_that_says_in_words_that_it_knows_no_session_is_opened_again() {
    let forgot = Arc::new(Mutex::new(true));
    let odd = Odd::start({
        let forgot = forgot.clone();
        move |message| {
            let forgets = is(message, "tools/call") && std::mem::take(&mut *forgot.lock().unwrap());
            forgets.then(|| {
                let error =
                    json!({"code": -32000, "message": "Bad Request: No valid session ID provided"});
                let body = json!({"jsonrpc": "2.0", "id": null, "error": error});
                json_response(StatusCode::BAD_REQUEST, &body)
            })
        }
    });
    let (connections, problems) = odd.open().await;
    assert_eq!(problems, [""; 0]);
    let words = unknown(call(&connections, "write").await);
    assert!(words.contains("it no longer knows this session"), "{words}");
    assert_eq!(call(&connections, "write").await, Ok("done".to_owned()));
    assert_eq!((odd.asked("initialize"), odd.asked("tools/call")), (2, 2));
}

#[tokio::test]
async fn an_error_without_an_id_fails_its_call_and_not_at_the_limit() {
    let odd = Odd::start(|message| {
        is(message, "tools/call").then(|| {
            let error = json!({"code": -32600, "message": "arguments are odd"});
            json_response(
                StatusCode::BAD_REQUEST,
                &json!({"jsonrpc": "2.0", "id": null, "error": error}),
            )
        })
    });
    let (connections, _) = odd.open().await;
    assert_eq!(failure(call(&connections, "write").await), "MCP server odd: arguments are odd");
}

#[tokio::test]
async fn a_status_says_whether_the_call_may_have_been_carried_out() {
    for (status, is_unknown, words) in [
        (502, true, "MCP server odd: it failed with HTTP 502 while write ran"),
        // What a proxy says too when its server broke off in the middle of a call.
        (503, true, "MCP server odd: it failed with HTTP 503 while write ran"),
        (429, false, "MCP server odd: it limits its callers now (HTTP 429): try again later"),
        (413, false, "MCP server odd: HTTP 413 Payload Too Large: too much"),
    ] {
        let status = StatusCode::from_u16(status).unwrap();
        let odd = Odd::start(move |message| {
            is(message, "tools/call").then(|| (status, "too much").into_response())
        });
        let (connections, _) = odd.open().await;
        let result = call(&connections, "write").await;
        let told = if is_unknown { unknown(result) } else { failure(result) };
        assert_eq!(told, words);
        assert_eq!((odd.asked("tools/call"), odd.asked("initialize")), (1, 1));
    }
}

/// BIND-11
#[tokio::test]
async fn a_refusal_that_quotes_the_secret_is_told_without_it() {
    let odd = Odd::start(|_| {
        let words = "unknown token ak_secret in Bearer ak_secret";
        Some((StatusCode::FORBIDDEN, words).into_response())
    });
    let server = Server::http("odd", odd.url.clone())
        .authorization("Bearer ak_secret".to_owned().into())
        .header("x-everdict-agent-id".parse().unwrap(), "agent-ann".to_owned().into());
    let (_connections, problems) = odd.open_as(server).await;
    assert_eq!(
        problems,
        [
            "MCP server odd: it refuses our credentials (HTTP 403): check the Authorization it is given"
        ]
    );
    // It did get both, word for word.
    let headers = odd.headers.lock().unwrap();
    assert_eq!(headers[0]["authorization"], "Bearer ak_secret");
    assert_eq!(headers[0]["x-everdict-agent-id"], "agent-ann");
}

/// BIND-11
#[tokio::test]
async fn a_failing_call_that_quotes_the_secret_is_told_without_it() {
    let odd = Odd::start(|message| {
        is(message, "tools/call").then(|| {
            let error = json!({"code": -32000, "message": "upstream refused ak_secret"});
            json_response(
                StatusCode::OK,
                &json!({"jsonrpc": "2.0", "id": message["id"], "error": error}),
            )
        })
    });
    let server =
        Server::http("odd", odd.url.clone()).authorization("Bearer ak_secret".to_owned().into());
    let (connections, _) = odd.open_as(server).await;
    assert_eq!(failure(call(&connections, "write").await), "MCP server odd: upstream refused ***");
}

#[tokio::test]
async fn no_redirect_carries_the_secret_elsewhere() {
    let elsewhere = Odd::start(|_| None);
    let target = elsewhere.url.to_string();
    let odd = Odd::start(move |_| {
        Some((StatusCode::TEMPORARY_REDIRECT, [("location", target.clone())]).into_response())
    });
    let server =
        Server::http("odd", odd.url.clone()).authorization("Bearer ak_secret".to_owned().into());
    let (_connections, problems) = odd.open_as(server).await;
    assert_eq!(
        problems,
        [
            "MCP server odd: it answered with a redirect (HTTP 307), which is not followed: give the final URL"
        ]
    );
    assert_eq!(elsewhere.headers.lock().unwrap().len(), 0);
}

#[tokio::test]
async fn a_page_where_a_server_was_meant_is_told_as_that() {
    let odd = Odd::start(|_| Some(axum::response::Html("<h1>Welcome</h1>").into_response()));
    let (_connections, problems) = odd.open().await;
    assert_eq!(
        problems,
        [
            "MCP server odd: it answered with text/html; charset=utf-8 where JSON or an event stream \
          was due: check that the URL is its MCP endpoint"
        ]
    );
}

#[tokio::test]
async fn a_server_that_accepts_and_says_nothing_is_given_up_in_time() {
    let listener = tokio::net::TcpListener::bind(("127.0.0.1", 0)).await.unwrap();
    let url = format!("http://{}/mcp", listener.local_addr().unwrap()).parse().unwrap();
    let options = Options { connect: Duration::from_millis(200), ..Options::default() };
    let servers = Servers::default().with(Server::http("mute", url));
    let (_connections, problems) = Connections::open(servers, options).await;
    assert_eq!(problems[0].to_string(), "MCP server mute: it did not answer within 200ms");
}
