//! Git over HTTP, as Flux reads it: `git http-backend` behind a small server.

use std::path::{Path, PathBuf};
use std::process::Stdio;

use axum::Router;
use axum::body::{Body, Bytes, to_bytes};
use axum::extract::{Request, State};
use axum::http::{StatusCode, header};
use axum::response::Response;
use tokio::io::AsyncWriteExt as _;
use tokio::net::TcpListener;
use tokio::process::Command;
use tokio_util::task::{AbortOnDropHandle, TaskTracker};

/// The largest request that a fetch of a small repository makes.
const MAX_REQUEST: usize = 1024 * 1024;

/// Serves the bare repositories of a folder for reading.
pub struct GitServer {
    address: String,
    _serving: AbortOnDropHandle<()>,
}

impl GitServer {
    pub async fn start(repositories: &Path) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap().to_string();
        let router = Router::new().fallback(answer).with_state(repositories.to_path_buf());
        let serving = TaskTracker::new().spawn(async move {
            axum::serve(listener, router).await.unwrap();
        });
        Self { address, _serving: AbortOnDropHandle::new(serving) }
    }

    /// The remote of a repository.
    pub fn remote(&self, name: &str) -> String {
        format!("http://{}/{name}.git", self.address)
    }
}

/// One request, by the program that git itself brings for this (CGI).
async fn answer(State(repositories): State<PathBuf>, request: Request) -> Response {
    let (parts, body) = request.into_parts();
    let text = |name| parts.headers.get(name).and_then(|it| it.to_str().ok()).unwrap_or_default();
    let body = to_bytes(body, MAX_REQUEST).await.unwrap();
    let mut backend = Command::new("git");
    backend
        .arg("http-backend")
        .env("GIT_PROJECT_ROOT", repositories)
        .env("GIT_HTTP_EXPORT_ALL", "1")
        .env("REQUEST_METHOD", parts.method.as_str())
        .env("PATH_INFO", parts.uri.path())
        .env("QUERY_STRING", parts.uri.query().unwrap_or_default())
        .env("CONTENT_TYPE", text("content-type"))
        .env("CONTENT_LENGTH", body.len().to_string())
        .env("HTTP_CONTENT_ENCODING", text("content-encoding"))
        .env("GIT_PROTOCOL", text("git-protocol"))
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .kill_on_drop(true);
    let mut backend = backend.spawn().unwrap();
    let mut input = backend.stdin.take().unwrap();
    let writing = async move { input.write_all(&body).await };
    // A request that is refused is not read to its end.
    let (_, output) = tokio::join!(writing, backend.wait_with_output());
    response(&output.unwrap().stdout)
}

/// Head and body of a CGI answer.
fn response(output: &[u8]) -> Response {
    let end = output.windows(4).position(|it| it == b"\r\n\r\n").unwrap();
    let head = std::str::from_utf8(&output[..end]).unwrap();
    let mut response = Response::new(Body::from(Bytes::copy_from_slice(&output[end + 4..])));
    for line in head.lines() {
        let (name, value) = line.split_once(": ").unwrap();
        if name == "Status" {
            let code = value.split(' ').next().unwrap().parse().unwrap();
            *response.status_mut() = StatusCode::from_u16(code).unwrap();
        } else {
            let name: header::HeaderName = name.parse().unwrap();
            response.headers_mut().insert(name, value.parse().unwrap());
        }
    }
    response
}
