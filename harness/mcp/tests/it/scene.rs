//! What tests share: a server over HTTP that can be killed, a way to it that stays, and
//! words for calling a tool.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use foundry_kernel::{Tool, ToolError};
use foundry_mcp::{Connections, Options, Problem, Server, Servers};
use rmcp::transport::streamable_http_server::session::local::LocalSessionManager;
use rmcp::transport::{StreamableHttpServerConfig, StreamableHttpService};
use serde_json::{Map, Value, json};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::server::{TestServer, World};

/// Nothing here takes so long.
pub(super) const PATIENCE: Duration = Duration::from_secs(20);

/// A server over HTTP, on a runtime of its own so that it can be killed whole.
pub(super) struct HttpServer {
    runtime: Option<tokio::runtime::Runtime>,
    pub(super) address: SocketAddr,
    sessions: Arc<LocalSessionManager>,
}

impl HttpServer {
    /// Begins a life in this world, on any port.
    pub(super) fn start(world: &World) -> Self {
        Self::start_at(world, SocketAddr::from((Ipv4Addr::LOCALHOST, 0)))
    }

    /// Begins a life on this port.
    pub(super) fn start_at(world: &World, address: SocketAddr) -> Self {
        let world = world.clone();
        let serve = move |sessions: Arc<LocalSessionManager>| {
            let config = StreamableHttpServerConfig::default();
            let service = StreamableHttpService::new(
                move || Ok(TestServer::new(world.clone())),
                sessions,
                config,
            );
            axum::Router::new().nest_service("/mcp", service)
        };
        let sessions = Arc::new(LocalSessionManager::default());
        let (runtime, address) = host(serve(sessions.clone()), address);
        Self { runtime: Some(runtime), address, sessions }
    }

    /// Ends it as a kill does: connections break, nobody is told.
    pub(super) fn kill(&mut self) {
        if let Some(runtime) = self.runtime.take() {
            std::thread::spawn(move || runtime.shutdown_timeout(Duration::from_secs(5)))
                .join()
                .unwrap();
        }
    }

    /// Forgets every session, as a server does that was restarted behind its address.
    pub(super) async fn forget_sessions(&self) {
        self.sessions.sessions.write().await.clear();
    }

    pub(super) fn url(&self) -> url::Url {
        format!("http://{}/mcp", self.address).parse().unwrap()
    }
}

impl Drop for HttpServer {
    fn drop(&mut self) {
        self.kill();
    }
}

/// Serves a router on a runtime of its own.
pub(super) fn host(
    router: axum::Router,
    address: SocketAddr,
) -> (tokio::runtime::Runtime, SocketAddr) {
    let runtime =
        tokio::runtime::Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (tell, told) = std::sync::mpsc::channel();
    runtime.spawn(async move {
        let listener = TcpListener::bind(address).await.unwrap();
        tell.send(listener.local_addr().unwrap()).unwrap();
        axum::serve(listener, router).await.unwrap();
    });
    let address = told.recv_timeout(PATIENCE).unwrap();
    (runtime, address)
}

/// An address that stays while the server behind it changes.
pub(super) struct Way {
    pub(super) address: SocketAddr,
    behind: Arc<Mutex<SocketAddr>>,
    connections: Arc<Mutex<JoinSet<()>>>,
    _listening: JoinSet<()>,
}

impl Way {
    pub(super) async fn to(server: &HttpServer) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let address = listener.local_addr().unwrap();
        let behind = Arc::new(Mutex::new(server.address));
        let connections = Arc::new(Mutex::new(JoinSet::new()));
        let mut listening = JoinSet::new();
        listening.spawn({
            let (behind, connections) = (behind.clone(), connections.clone());
            async move {
                while let Ok((mut client, _)) = listener.accept().await {
                    let to = *behind.lock().unwrap();
                    connections.lock().unwrap().spawn(async move {
                        if let Ok(mut server) = TcpStream::connect(to).await {
                            drop(tokio::io::copy_bidirectional(&mut client, &mut server).await);
                        }
                    });
                }
            }
        });
        Self { address, behind, connections, _listening: listening }
    }

    /// Leads to another server from now on; what led to the last breaks.
    pub(super) fn lead_to(&self, server: &HttpServer) {
        *self.behind.lock().unwrap() = server.address;
        *self.connections.lock().unwrap() = JoinSet::new();
    }

    pub(super) fn url(&self) -> url::Url {
        format!("http://{}/mcp", self.address).parse().unwrap()
    }
}

/// Opens one server called `db`, believed in what it says of reading.
pub(super) async fn open_at(url: url::Url, options: Options) -> (Connections, Vec<Problem>) {
    let server = Server::http("db", url).trusting_read_only();
    Connections::open(Servers::default().with(server), options).await
}

/// The same, which must succeed.
pub(super) async fn opened(url: url::Url, options: Options) -> Connections {
    let (connections, problems) = open_at(url, options).await;
    assert_eq!(problems, []);
    connections
}

/// The tool that the server calls so.
pub(super) fn find(connections: &Connections, name: &str) -> Arc<Tool> {
    let tools = connections.tools();
    let names: Vec<&str> = tools.iter().map(|tool| tool.spec.name.as_str()).collect();
    let description = format!("does {name}");
    let found = tools.iter().find(|tool| tool.spec.description == description);
    found.unwrap_or_else(|| panic!("no {name} in {names:?}")).clone()
}

/// Calls a tool without arguments.
pub(super) async fn call(connections: &Connections, name: &str) -> Result<String, ToolError> {
    call_with(connections, name, json!({})).await
}

pub(super) async fn call_with(
    connections: &Connections,
    name: &str,
    arguments: Value,
) -> Result<String, ToolError> {
    let arguments: Map<String, Value> = serde_json::from_value(arguments).unwrap();
    let executor = find(connections, name).executor.clone();
    tokio::time::timeout(PATIENCE, executor.execute(arguments))
        .await
        .unwrap_or_else(|_| panic!("{name} was not answered"))
}

/// Waits until the world has seen something so often.
pub(super) async fn seen(world: &World, what: &str, times: usize) {
    testenv::eventually(&format!("{what} {times} times"), PATIENCE, || async {
        let count = world.count(what);
        if count >= times { Ok(()) } else { Err(format!("{count} times")) }
    })
    .await;
}

/// The words of a call that failed.
pub(super) fn failure(result: Result<String, ToolError>) -> String {
    match result {
        Err(ToolError::Failed(words)) => words,
        other => panic!("not a failure: {other:?}"),
    }
}

/// The words of a call whose outcome is unknown.
pub(super) fn unknown(result: Result<String, ToolError>) -> String {
    match result {
        Err(ToolError::Unknown(words)) => words,
        other => panic!("not unknown: {other:?}"),
    }
}
