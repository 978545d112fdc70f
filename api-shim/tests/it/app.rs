//! The application under test, as `foundry-api` assembles it, driven by `oneshot`.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
    time::Duration,
};

use axum::{Router, body::Body};
use fakes::issuer::{Issuer, TokenRequest};
use foundry_api::{App, Clock, Config};
use foundry_crds::{CodingRunSpec, coding_run::Reported};
use http::{HeaderMap, Method, Request, StatusCode, header};
use serde_json::Value;
use testenv::TestNamespace;
use tokio_util::sync::CancellationToken;
use tower::ServiceExt;

use super::cluster::Cluster;

/// The service token of every test.
pub const SERVICE_TOKEN: &str = "svc-9f27c1b6e4";

pub struct TestApp {
    pub app: App,
    pub router: Router,
    pub cluster: Cluster,
    pub issuer: Issuer,
    pub shutdown: CancellationToken,
    pub folder: tempfile::TempDir,
    pub namespace: TestNamespace,
    pub neighbour: Option<TestNamespace>,
    config: Config,
    skew: Arc<AtomicI64>,
}

impl TestApp {
    /// An application in a namespace of its own, acting as ServiceAccount foundry-api,
    /// so that its Roles are exercised; with one Harness and one Model laid in.
    pub async fn start() -> Self {
        Self::start_beside(None, |_| {}).await
    }

    /// The same, with settings of its own.
    pub async fn start_configured(configure: impl FnOnce(&mut Config)) -> Self {
        Self::start_beside(None, configure).await
    }

    /// The same application again, as after a restart of its process.
    pub async fn restart(&mut self) {
        self.shutdown.cancel();
        self.app.store.close().await;
        self.shutdown = CancellationToken::new();
        self.app = assemble(&self.config, &self.skew, &self.shutdown).await;
        self.router = foundry_api::router(self.app.clone());
    }

    /// Another replica: an application of its own with the same settings, cluster and
    /// PostgreSQL database, which this one moves to as well.
    pub async fn start_two_replicas() -> (Self, App) {
        let mut app = Self::start().await;
        let database = testenv::postgres().await.database().await;
        let config = Config { database_url: Some(database.into()), ..app.config.clone() };
        let one = assemble(&config, &app.skew, &app.shutdown).await;
        app.router = foundry_api::router(one.clone());
        app.app = one;
        let other = assemble(&config, &app.skew, &app.shutdown).await;
        (app, other)
    }

    /// The same, with a second workspace.
    pub async fn start_with_a_neighbour() -> Self {
        let control_plane = testenv::control_plane().await;
        let neighbour = testenv::namespace(control_plane, "neighbour").await;
        Self::start_beside(Some(neighbour), |_| {}).await
    }

    async fn start_beside(
        neighbour: Option<TestNamespace>,
        configure: impl FnOnce(&mut Config),
    ) -> Self {
        let control_plane = testenv::control_plane().await;
        let namespace = testenv::namespace(control_plane, "api").await;
        let issuer = Issuer::start().await.unwrap();
        let folder = tempfile::tempdir().unwrap();
        let token_file = folder.path().join("service token");
        std::fs::write(&token_file, format!("{SERVICE_TOKEN}\n")).unwrap();

        let cluster = Cluster::new(namespace.client.clone(), &namespace.name);
        cluster.create_harness("agent-v1").await;

        let workspaces = [Some(&namespace), neighbour.as_ref()];
        let workspaces = workspaces.into_iter().flatten().map(|n| n.name.clone()).collect();
        let mut config = config(workspaces, issuer.url(), folder.path().into(), token_file);
        configure(&mut config);
        let shutdown = CancellationToken::new();
        let skew = Arc::new(AtomicI64::new(0));
        let app = assemble(&config, &skew, &shutdown).await;
        let router = foundry_api::router(app.clone());
        Self { app, router, cluster, issuer, shutdown, folder, namespace, neighbour, config, skew }
    }

    /// Lays the harness into the neighbour workspace too.
    pub async fn neighbours_harness(&self) {
        let neighbour = self.neighbour.as_ref().unwrap();
        Cluster::new(neighbour.client.clone(), &neighbour.name).create_harness("agent-v1").await;
    }

    /// Moves the application's clock on.
    pub fn pass(&self, time: Duration) {
        self.skew.fetch_add(i64::try_from(time.as_secs()).unwrap(), Ordering::SeqCst);
    }

    /// A person of the test's workspace.
    pub fn person(&self, subject: &str, roles: &[&str]) -> As<'_> {
        let request = TokenRequest::person(subject, &[&self.namespace.name]).with_roles(roles);
        self.bearer(&self.issuer.token(&request).unwrap())
    }

    /// Ann, who owns what the tests create.
    pub fn ann(&self) -> As<'_> {
        self.person("ann", &["member"])
    }

    /// The harness pod of an agent, with a real token bound to a real Pod.
    pub async fn pod(&self, agent: &str) -> As<'_> {
        let pod = self.cluster.create_local_pod(agent).await;
        let token = self.cluster.token_of_pod(&pod).await;
        self.bearer(&token)
    }

    /// A service, acting for an agent when one is named.
    pub fn service(&self, agent: Option<&str>) -> As<'_> {
        let service = self.bearer(SERVICE_TOKEN).header("x-flow-workspace", &self.namespace.name);
        match agent {
            Some(agent) => service.header("x-flow-agent-id", agent),
            None => service,
        }
    }

    /// Whoever this token belongs to.
    pub fn bearer(&self, token: &str) -> As<'_> {
        self.nobody().header("authorization", &format!("Bearer {token}"))
    }

    /// Somebody without a credential.
    pub fn nobody(&self) -> As<'_> {
        As { app: self, headers: HeaderMap::new() }
    }

    /// Creates an agent of ann's and waits until lists show it.
    pub async fn create(&self, id: &str) {
        let body = serde_json::json!({"name": id, "id": id, "harness_id": "agent-v1"});
        self.ann().post("/v1/agents", &body).await.expect(StatusCode::CREATED);
        self.until_listed(id).await;
    }

    /// Creates a run of ann's with its one agent, as the operator makes it, at its first
    /// start; `change` may change the run before.
    pub async fn create_run(&self, id: &str, change: impl FnOnce(&mut CodingRunSpec)) {
        self.cluster.create_coding_harness().await;
        let run = self.cluster.create_coding_run(id, change).await;
        self.cluster.create_agent_of(&run).await;
        self.cluster.start_process(id, 1).await;
        self.until_started(id, 1).await;
    }

    /// Waits until the cache has the agent at this start.
    pub async fn until_started(&self, id: &str, number: i64) {
        testenv::eventually("the cache has the start", Duration::from_secs(10), || async {
            let agent = self.app.cluster.agents.get(&self.namespace.name, id);
            let status = agent.and_then(|agent| agent.status).unwrap_or_default();
            let last = status.last_start.map(|start| start.number);
            if last == Some(number) { Ok(()) } else { Err(format!("it has {last:?}")) }
        })
        .await;
    }

    /// Waits until what a run's harness reported fits.
    pub async fn until_reported(&self, id: &str, fits: impl Fn(&Reported) -> bool) -> Reported {
        testenv::eventually("the status follows the rows", Duration::from_secs(20), || async {
            let run = self.cluster.coding_run(id).await;
            let reported = run.status.and_then(|status| status.reported).unwrap_or_default();
            if fits(&reported) { Ok(reported) } else { Err(format!("{reported:?}")) }
        })
        .await
    }

    /// Waits until the cache has the agent.
    pub async fn until_listed(&self, id: &str) {
        testenv::eventually("the cache has the agent", Duration::from_secs(10), || async {
            self.app.cluster.agents.get(&self.namespace.name, id).ok_or("it has not")
        })
        .await;
    }
}

impl Drop for TestApp {
    fn drop(&mut self) {
        self.shutdown.cancel();
    }
}

/// One caller.
#[derive(Clone)]
pub struct As<'a> {
    app: &'a TestApp,
    headers: HeaderMap,
}

impl As<'_> {
    pub fn header(mut self, name: &'static str, value: &str) -> Self {
        self.headers.insert(name, value.parse().unwrap());
        self
    }

    pub async fn get(&self, path: &str) -> Answer {
        self.send(Method::GET, path, Body::empty()).await
    }

    pub async fn post(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::POST, path, Body::from(body.to_string())).await
    }

    pub async fn act(&self, path: &str) -> Answer {
        self.send(Method::POST, path, Body::empty()).await
    }

    pub async fn patch(&self, path: &str, body: &Value) -> Answer {
        self.send(Method::PATCH, path, Body::from(body.to_string())).await
    }

    pub async fn delete(&self, path: &str) -> Answer {
        self.send(Method::DELETE, path, Body::empty()).await
    }

    pub async fn send(&self, method: Method, path: &str, body: Body) -> Answer {
        let mut request = Request::builder().method(method.clone()).uri(path).body(body).unwrap();
        *request.headers_mut() = self.headers.clone();
        request.headers_mut().insert(header::CONTENT_TYPE, "application/json".parse().unwrap());
        let response = self.app.router.clone().oneshot(request).await.unwrap();
        let (parts, body) = response.into_parts();
        let bytes = axum::body::to_bytes(body, 64 * 1024 * 1024).await.unwrap();
        Answer {
            asked: format!("{method} {path}"),
            status: parts.status,
            headers: parts.headers,
            text: String::from_utf8_lossy(&bytes).into_owned(),
        }
    }
}

/// What came back.
#[derive(Debug)]
pub struct Answer {
    asked: String,
    pub status: StatusCode,
    pub headers: HeaderMap,
    pub text: String,
}

impl Answer {
    /// The body, when the status is the expected one.
    #[track_caller]
    pub fn expect(&self, status: StatusCode) -> Value {
        assert_eq!(self.status, status, "{}: {}", self.asked, self.text);
        if self.text.is_empty() { Value::Null } else { self.json() }
    }

    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.text)
            .unwrap_or_else(|error| panic!("{}: {error}: {}", self.asked, self.text))
    }

    /// The stable word of a problem with this status.
    #[track_caller]
    pub fn problem(&self, status: StatusCode) -> String {
        let problem = self.expect(status);
        assert_eq!(self.headers["content-type"], "application/problem+json");
        assert!(problem["request_id"].is_string(), "{problem}");
        problem["reason"].as_str().unwrap().to_owned()
    }
}

/// An application as ServiceAccount foundry-api, once it has read the cluster.
async fn assemble(config: &Config, skew: &Arc<AtomicI64>, shutdown: &CancellationToken) -> App {
    let control_plane = testenv::control_plane().await;
    let kubeconfig = control_plane.kubeconfig_for_service_account("default", "foundry-api").await;
    let client = foundry_api::kube_client(kube_config(kubeconfig).await).unwrap();
    let app = foundry_api::assemble(config, client, clock(skew), shutdown.clone()).await.unwrap();
    tokio::time::timeout(Duration::from_secs(30), app.cluster.ready())
        .await
        .expect("the lists of the cluster are whole within 30 s");
    app
}

async fn kube_config(path: PathBuf) -> kube::Config {
    let kubeconfig = kube::config::Kubeconfig::read_from(path).unwrap();
    kube::Config::from_custom_kubeconfig(kubeconfig, &kube::config::KubeConfigOptions::default())
        .await
        .unwrap()
}

fn config(
    watch_namespaces: Vec<String>,
    issuer: &str,
    data_dir: PathBuf,
    token_file: PathBuf,
) -> Config {
    Config {
        listen: "127.0.0.1:0".parse().unwrap(),
        database_url: None,
        data_dir,
        watch_namespaces,
        service_token_file: Some(token_file),
        oidc_issuer: Some(issuer.to_owned()),
        oidc_audience: "foundry".to_owned(),
        oidc_jwks_url: None,
        oidc_workspaces_claim: "workspaces".to_owned(),
        oidc_roles_claim: "roles".to_owned(),
        public_url: None,
        file_storage_account: None,
        file_storage_key_file: None,
        file_storage_endpoint: None,
        broker_url: None,
        broker_token_file: None,
        intelligence_url: None,
        log: "info".to_owned(),
        pdeathsig: false,
    }
}

#[expect(clippy::disallowed_methods, reason = "the tests' one clock, which they move on")]
fn clock(skew: &Arc<AtomicI64>) -> Clock {
    let skew = skew.clone();
    Clock::new(move || {
        jiff::Timestamp::now() + jiff::SignedDuration::from_secs(skew.load(Ordering::SeqCst))
    })
}
