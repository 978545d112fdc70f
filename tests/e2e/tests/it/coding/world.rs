//! An installation that codes: issuer, API and operator as processes, and in this
//! process what a test has its hand on: the model, the Git server and GitHub.

use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;

use fakes::git::openssh::Sshd;
use fakes::git::{GitServer, Options};
use fakes::github::GitHub;
use fakes::model::ModelServer;
use foundry_client::{Client, StaticToken};
use foundry_crds::harness::EnvVar;
use foundry_crds::{Harness, Model};
use k8s_openapi::api::core::v1::Secret;
use kube::api::PostParams;
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use testenv::eventually;
use testenv::stack::{Harness as Process, Runtime, Stack, StackOptions};
use tokio::sync::{Mutex, OnceCell, oneshot};

use super::go;
use crate::world::DEADLINE;

/// The person whose runs these are.
pub const PERSON: &str = "ann";

/// The token for pull requests; it must show nowhere.
pub const GITHUB_TOKEN: &str = "ghp_aTokenThatNobodyMaySee0123456789abcd";

/// The key of the model's provider; it must show nowhere.
pub const PROVIDER_KEY: &str = "sk-a-key-that-nobody-may-see-0123456789";

/// Folder of the Git hosts' own keys, in the installation's.
pub const HOSTS: &str = "hosts";

/// An installation in a namespace of its own. Clones are the same installation.
#[derive(Clone)]
pub struct World {
    /// Issuer, API and operator.
    pub stack: Arc<Mutex<Stack>>,
    /// The scripted model.
    pub model: Arc<ModelServer>,
    /// The Git host that is GitHub to this installation.
    pub git: Arc<GitServer>,
    /// Its pull requests.
    pub github: Arc<GitHub>,
    /// Git hosts that something is wrong with.
    pub others: Arc<Others>,
    /// The namespace.
    pub namespace: String,
    /// Data and logs of all parts.
    pub folder: PathBuf,
    /// The API, as [`PERSON`] calls it.
    pub api: Client,
    /// The cluster, with every right.
    pub cluster: kube::Client,
}

/// What an installation runs on.
#[derive(Default)]
pub struct Parts {
    /// Database of the API; SQLite when absent.
    pub database: Option<String>,
    /// Serves as the Git host; the server of the stand-ins when absent.
    pub sshd: Option<Sshd>,
}

/// Git hosts that are no use.
pub struct Others {
    /// Lets nobody in.
    pub closed: GitServer,
    /// Has another host key than the one that is known.
    pub changed: GitServer,
    /// Has a host key that nobody knows.
    pub unknown: GitServer,
}

impl World {
    /// A new installation.
    pub async fn start(parts: Parts) -> Self {
        let Parts { database, sshd } = parts;
        go::has_built_the_standard_library().await;
        let control_plane = testenv::control_plane().await;
        let namespace = testenv::namespace(control_plane, "coding").await.name;
        let folder = testenv::scratch(&namespace).unwrap();
        let repositories = folder.join("repositories");
        std::fs::create_dir_all(&repositories).unwrap();
        let host = async |name: &str, openssh| {
            let keys = Some(folder.join(HOSTS).join(name));
            let options = Options { keys, openssh, ..Options::new(&repositories) };
            GitServer::listen(options).await.unwrap()
        };
        let others = Others {
            closed: host("closed", None).await,
            changed: host("changed", None).await,
            unknown: host("unknown", None).await,
        };
        others.closed.refuse_auth(true);
        others.changed.change_host_key(true);
        let service_account = |name| control_plane.kubeconfig_for_service_account("default", name);
        let mut stack = Stack::new(StackOptions {
            folder: folder.clone(),
            executables: testenv::bin_folder().unwrap(),
            namespaces: vec![namespace.clone()],
            operator_kubeconfig: service_account("foundry-operator").await,
            api_kubeconfig: service_account("foundry-api").await,
            scripts: Vec::new(),
            database,
            evaluate_seconds: Some(1),
            runtime: Runtime::Local,
        })
        .await
        .unwrap();
        stack.start_issuer().await.unwrap();
        stack.start_api().await.unwrap();
        stack.start_operator().await.unwrap();
        let model = ModelServer::start().await;
        model.require_key(PROVIDER_KEY);
        let world = Self {
            model: Arc::new(model),
            git: Arc::new(host("github", sshd).await),
            github: Arc::new(GitHub::start(&repositories, GITHUB_TOKEN).await.unwrap()),
            others: Arc::new(others),
            namespace,
            folder,
            api: person(&stack, PERSON, &["member"]).await,
            cluster: control_plane.admin(),
            stack: Arc::new(Mutex::new(stack)),
        };
        world.furnish().await;
        world
    }

    /// The installation that tests share which hurt none of its parts. It lives as long
    /// as this process, on a thread of its own: a test's runtime ends with its test.
    pub async fn shared() -> Self {
        static SHARED: OnceCell<World> = OnceCell::const_new();
        let start = || async {
            let (done, started) = oneshot::channel();
            std::thread::spawn(move || {
                let runtime = tokio::runtime::Runtime::new().unwrap();
                runtime.block_on(async {
                    if done.send(Self::start(Parts::default()).await).is_ok() {
                        std::future::pending::<()>().await;
                    }
                });
            });
            started.await.expect("the shared installation started")
        };
        let shared = SHARED.get_or_init(start).await;
        // Connections belong to the runtime they were made in.
        let mut mine = shared.clone();
        mine.cluster = testenv::control_plane().await.admin();
        mine.api = mine.as_person(PERSON, &["member"]).await;
        mine
    }

    /// Model, keys and harness, as `examples/` has them.
    async fn furnish(&self) {
        let mut model: Model = example("quickstart/model.yaml");
        model.spec.base_url = Some(self.model.url());
        let mut harness: Harness = example("coding/harness.yaml");
        harness.spec.env = self.harness_env();
        let known = [&self.git, &self.others.closed, &self.others.changed]
            .map(|server| format!("{}\n", server.host_key_line().trim_end()));
        self.create(secret("openai", &json!({"apiKey": PROVIDER_KEY}))).await;
        self.create(secret(
            "foundry-harness-ssh",
            &json!({
                "github": self.git.client_key(),
                "ssh-privatekey": self.others.closed.client_key(),
                "known_hosts": known.concat(),
            }),
        ))
        .await;
        self.create(secret("foundry-harness-git", &json!({"GITHUB_TOKEN": GITHUB_TOKEN}))).await;
        self.create(model).await;
        self.create(harness).await;
    }

    /// The stand-in's addresses, and a Go that has built the standard library before.
    fn harness_env(&self) -> Vec<EnvVar> {
        let go = Command::new("go").args(["env", "GOCACHE"]).output().unwrap();
        let cache = String::from_utf8(go.stdout).unwrap().trim().to_owned();
        let named = |name: &str, value: String| EnvVar { name: name.to_owned(), value };
        vec![
            named("FOUNDRY_GITHUB_HOST", self.git.host()),
            named("FOUNDRY_GITHUB_API_URL", self.github.api_url()),
            named("GOCACHE", cache),
            named("GOPROXY", "off".to_owned()),
            named("GOTOOLCHAIN", "local".to_owned()),
        ]
    }

    /// The API, as this person calls it.
    pub async fn as_person(&self, subject: &str, roles: &[&str]) -> Client {
        person(&*self.stack.lock().await, subject, roles).await
    }

    /// The API, as whoever holds this token calls it.
    pub async fn as_holder(&self, token: String) -> Client {
        let url = self.stack.lock().await.api_url();
        Client::new(&url, Arc::new(StaticToken::new(token))).unwrap()
    }

    /// Creates an object in the namespace.
    pub async fn create<K>(&self, object: K) -> K
    where
        K: Resource<Scope = k8s_openapi::NamespaceResourceScope>
            + DeserializeOwned
            + serde::Serialize
            + Clone
            + std::fmt::Debug,
        K::DynamicType: Default,
    {
        self.objects().create(&PostParams::default(), &object).await.unwrap()
    }

    /// The namespace's objects of a kind.
    pub fn objects<K>(&self) -> Api<K>
    where
        K: Resource<Scope = k8s_openapi::NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.cluster.clone(), &self.namespace)
    }

    /// What a person sees who runs kubectl with these arguments in the namespace.
    pub async fn kubectl(&self, arguments: &[&str]) -> String {
        let control_plane = testenv::control_plane().await;
        let output = tokio::process::Command::new(control_plane.kubectl())
            .arg("--kubeconfig")
            .arg(control_plane.kubeconfig())
            .args(["--namespace", &self.namespace])
            .args(arguments)
            .output()
            .await
            .unwrap();
        let words = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "kubectl {arguments:?}: {words}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The process of this agent, once there is one.
    pub async fn harness_of(&self, agent: &str) -> Process {
        eventually(&format!("agent {agent} has a process"), DEADLINE, || async {
            let mut alive = self.stack.lock().await.harnesses().unwrap();
            alive.retain(|harness| harness.agent == agent);
            alive.pop().ok_or("none")
        })
        .await
    }

    /// Ends everything, and fails when a process stays.
    pub async fn end(self) {
        let stack = Arc::try_unwrap(self.stack).expect("nobody else uses the stack");
        stack.into_inner().stop().await.unwrap();
    }
}

async fn person(stack: &Stack, subject: &str, roles: &[&str]) -> Client {
    let token = stack.token(subject, roles).await.unwrap();
    Client::new(&stack.api_url(), Arc::new(StaticToken::new(token))).unwrap()
}

/// What this process proves itself with to the API.
pub fn token_of(harness: &Process) -> String {
    let mounts = harness.home.parent().unwrap();
    std::fs::read_to_string(mounts.join("var/run/secrets/foundry/token")).unwrap()
}

/// An object of `examples/`.
pub fn example<K: DeserializeOwned>(file: &str) -> K {
    let path = testenv::workspace_root().join("examples").join(file);
    foundry_crds::yaml::from_yaml(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn secret(name: &str, data: &Value) -> Secret {
    serde_json::from_value(json!({
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": name},
        "stringData": data,
    }))
    .unwrap()
}
