//! A namespace with an operator in it.

use std::fmt::Debug;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context as _, Result, bail, ensure};
use clap::Parser as _;
use foundry_crds::coding_run::Repository;
use foundry_crds::harness::NetworkRole;
use foundry_crds::{
    Agent, AgentSpec, AgentStatus, CodingRun, CodingRunSpec, CodingRunStatus, Harness, HarnessSpec,
    meta,
};
use foundry_operator::clock::Clock;
use foundry_operator::config::{Arguments, Config};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ListParams, ObjectMeta, Patch, PatchParams, PostParams};
use kube::{Api, Client, Resource};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use testenv::{ApiProxy, ControlPlane, TestNamespace, eventually};
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// How long anything may take on a busy machine.
pub const DEADLINE: Duration = Duration::from_secs(90);

/// Who an installed operator is.
const USER: &str = "system:serviceaccount:default:foundry-operator";
const GROUPS: [&str; 2] = ["system:serviceaccounts", "system:authenticated"];

/// A namespace of the shared control plane.
pub struct World {
    pub control_plane: &'static ControlPlane,
    pub namespace: TestNamespace,
}

/// An operator in this process, stopped when dropped.
pub struct Operator {
    shutdown: CancellationToken,
    task: JoinSet<Result<(), foundry_operator::error::Error>>,
}

impl Operator {
    fn start(clock: Clock, client: Client, config: Config) -> Self {
        let shutdown = CancellationToken::new();
        let mut task = JoinSet::new();
        task.spawn(foundry_operator::run_by(clock, client, config, shutdown.clone()));
        Self { shutdown, task }
    }

    /// Stops it as SIGTERM would.
    pub async fn stop(mut self) {
        self.shutdown.cancel();
        self.task.join_next().await.unwrap().unwrap().unwrap();
    }

    /// Ends it as kill -9 would: nothing is finished, nothing handed over.
    pub async fn kill(mut self) {
        self.task.shutdown().await;
    }
}

impl World {
    pub async fn new(prefix: &str) -> Self {
        Self::on(testenv::control_plane().await, prefix).await
    }

    /// A namespace of this control plane.
    pub async fn on(control_plane: &'static ControlPlane, prefix: &str) -> Self {
        tell_what_is_logged();
        let namespace = testenv::namespace(control_plane, prefix).await;
        Self { control_plane, namespace }
    }

    /// Settings of an operator of this namespace alone.
    pub fn config(&self, words: &[&str]) -> Config {
        let name = &self.namespace.name;
        let lease = format!("foundry-operator-{name}");
        let given = ["foundry-operator", "--listen", "127.0.0.1:0", "--watch-namespaces", name];
        // No result is ever on its way here: the tests write status themselves.
        let given =
            given.into_iter().chain(["--lease-name", &lease, "--result-grace-seconds", "2"]);
        let given = given.chain(words.iter().copied());
        Config::new(Arguments::try_parse_from(given).unwrap()).unwrap()
    }

    /// Starts an operator with the rights of an installation, and no more.
    pub fn operator(&self, config: Config) -> Operator {
        Operator::start(Clock::system(), self.control_plane.client_as(USER, &GROUPS), config)
    }

    /// A proxy before the API server whose calls have the rights of an installation.
    pub async fn proxy(&self) -> ApiProxy {
        self.control_plane.proxy_as(USER, &GROUPS).await
    }

    /// Starts an operator that reaches the control plane through a proxy, by a client as
    /// the executable makes it.
    pub async fn operator_through(&self, proxy: &ApiProxy) -> Operator {
        let folder = testenv::scratch("proxy").unwrap();
        let client = foundry_operator::connect(&[proxy.kubeconfig(&folder)]).await.unwrap();
        Operator::start(Clock::system(), client, self.config(&["--runtime", "cluster"]))
    }

    /// Starts an operator that knows the time by this clock.
    pub fn operator_with_clock(&self, clock: Clock) -> Operator {
        let client = self.control_plane.client_as(USER, &GROUPS);
        Operator::start(clock, client, self.config(&["--runtime", "cluster"]))
    }

    pub fn cluster_operator(&self) -> Operator {
        self.operator(self.config(&["--runtime", "cluster"]))
    }

    /// What the operator applied and patched in this namespace so far: resource and name,
    /// oldest first.
    ///
    /// Known by its field managers: its client is an administrator's that acts in its name,
    /// and the log names whoever it truly was.
    pub fn operator_writes(&self) -> Vec<(String, String)> {
        let writes = self.control_plane.writes().into_iter();
        writes
            .filter(|write| write.namespace == self.namespace.name)
            .filter(|write| {
                write.manager.as_deref().is_some_and(|it| it.starts_with("foundry-operator/"))
            })
            .map(|write| (write.resource, write.name))
            .collect()
    }

    pub fn api<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
    {
        Api::namespaced(self.client(), &self.namespace.name)
    }

    pub fn client(&self) -> Client {
        self.namespace.client.clone()
    }

    pub async fn create<K>(&self, object: &K) -> K
    where
        K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
            + serde::Serialize
            + DeserializeOwned
            + Clone
            + Debug,
    {
        self.api::<K>().create(&PostParams::default(), object).await.unwrap()
    }

    pub async fn harness(&self, name: &str) {
        self.create(&Harness::new(name, HarnessSpec::default())).await;
    }

    /// The Harness of coding runs.
    pub async fn coding_harness(&self) {
        self.create(&Harness::new("coding-v1", coding())).await;
    }

    /// A Secret.
    pub async fn secret(&self, name: &str, data: &[(&str, &str)]) {
        let data = data
            .iter()
            .map(|(key, text)| ((*key).to_owned(), ByteString(text.as_bytes().to_vec())))
            .collect();
        let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        self.create(&Secret { metadata, data: Some(data), ..Secret::default() }).await;
    }

    /// All that coding runs need.
    pub async fn can_code(&self) {
        self.coding_harness().await;
        self.secret(meta::SSH_SECRET, &[("known_hosts", "a host key")]).await;
    }

    /// A run whose plan ann approves.
    pub async fn run(&self, name: &str, change: impl FnOnce(&mut CodingRunSpec)) -> CodingRun {
        let mut run = CodingRun::new(
            name,
            CodingRunSpec {
                owner: "ann".to_owned(),
                task: "Mend the greeting.".to_owned(),
                repository: Repository {
                    remote: "git@git.example:acme/greeting.git".to_owned(),
                    ..Repository::default()
                },
                ..CodingRunSpec::default()
            },
        );
        change(&mut run.spec);
        self.create(&run).await
    }

    /// Waits until the status of a run is as it should be.
    pub async fn run_status(
        &self,
        what: &str,
        name: &str,
        is_it: impl Fn(&CodingRunStatus) -> bool,
    ) -> CodingRunStatus {
        let api = self.api::<CodingRun>();
        eventually(what, DEADLINE, || async {
            let run = api.get(name).await?;
            let status = run.status.unwrap_or_default();
            let seen = run.metadata.generation == status.observed_generation;
            ensure!(seen && is_it(&status), "{}", serde_json::to_string(&status)?);
            anyhow::Ok(status)
        })
        .await
    }

    /// Waits until a run stands where it should, for this reason.
    pub async fn stands(&self, name: &str, phase: &str, reason: &str) -> CodingRunStatus {
        self.run_status(&format!("run {name} is {phase}, {reason}"), name, |status| {
            status.phase.is_some_and(|it| it.as_str() == phase) && complete(status).0 == reason
        })
        .await
    }

    /// Reports as the API does what a harness said.
    #[expect(clippy::disallowed_methods, reason = "the test is another writer")]
    pub async fn report(&self, run: &str, reported: Value) {
        let body = json!({
            "apiVersion": "foundry.flow.life/v1alpha1",
            "kind": "CodingRun",
            "status": { "reported": reported },
        });
        let manager = PatchParams::apply(meta::manager::API_REPORTED).force();
        self.api::<CodingRun>().patch_status(run, &manager, &Patch::Apply(&body)).await.unwrap();
    }

    /// An agent that should run on Harness `agent-v1`.
    pub async fn agent(&self, name: &str, change: impl FnOnce(&mut AgentSpec)) -> Agent {
        let mut agent = Agent::new(
            name,
            AgentSpec {
                owner: "eve".to_owned(),
                harness: "agent-v1".to_owned(),
                ..AgentSpec::default()
            },
        );
        change(&mut agent.spec);
        self.create(&agent).await
    }

    /// Changes a spec as the API's verbs do.
    #[expect(clippy::disallowed_methods, reason = "the test is another writer")]
    pub async fn edit(&self, name: &str, spec: Value) {
        let patch = Patch::Merge(json!({ "spec": spec }));
        let manager = PatchParams {
            field_manager: Some(meta::manager::API_VERBS.to_owned()),
            ..PatchParams::default()
        };
        self.api::<Agent>().patch(name, &manager, &patch).await.unwrap();
    }

    /// Waits until the status of an agent is as it should be.
    pub async fn status(
        &self,
        what: &str,
        name: &str,
        is_it: impl Fn(&AgentStatus) -> bool,
    ) -> AgentStatus {
        let api = self.api::<Agent>();
        eventually(what, DEADLINE, || async {
            let agent = api.get(name).await?;
            let status = agent.status.unwrap_or_default();
            let seen = agent.metadata.generation == status.observed_generation;
            ensure!(seen && is_it(&status), "{}", serde_json::to_string(&status)?);
            anyhow::Ok(status)
        })
        .await
    }

    /// Waits until a persistent agent is as settled as it can be without a node: its
    /// pod is seen, and nothing more will come of it.
    pub async fn settles_without_a_node(&self, name: &str) -> AgentStatus {
        self.status("the agent waits for a node", name, |status| {
            let ready = status.conditions.iter().find(|condition| condition.type_ == "Ready");
            ready.is_some_and(|ready| ready.message.contains("no node yet"))
        })
        .await
    }

    /// Waits until there are exactly these objects of a kind.
    pub async fn exactly<K>(&self, names: &[&str]) -> Vec<K>
    where
        K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
            + DeserializeOwned
            + Clone
            + Debug,
    {
        let api = self.api::<K>();
        let what = format!("{} are {names:?}", K::plural(&()));
        eventually(&what, DEADLINE, || async {
            let list = api.list(&ListParams::default()).await?;
            let found: Vec<_> =
                list.items.iter().filter_map(|it| it.meta().name.as_deref()).collect();
            if found != names {
                bail!("{found:?}");
            }
            anyhow::Ok(list.items)
        })
        .await
    }

    /// Waits until exactly one pod of an agent lives, and gives it.
    pub async fn one_pod(&self, agent: &str) -> k8s_openapi::api::core::v1::Pod {
        let api = self.api::<k8s_openapi::api::core::v1::Pod>();
        let mine = ListParams::default().labels(&format!("{}={agent}", meta::label::AGENT));
        eventually("one pod lives", DEADLINE, || async {
            let mut pods = api.list(&mine).await?.items;
            pods.retain(|pod| pod.metadata.deletion_timestamp.is_none());
            ensure!(pods.len() == 1, "{} pods", pods.len());
            pods.pop().context("no pod")
        })
        .await
    }

    /// Waits until no pod of an agent is left.
    pub async fn no_pod(&self, agent: &str) {
        let api = self.api::<k8s_openapi::api::core::v1::Pod>();
        let mine = ListParams::default().labels(&format!("{}={agent}", meta::label::AGENT));
        eventually("no pod is left", DEADLINE, || async {
            let pods = api.list(&mine).await?.items;
            ensure!(pods.is_empty(), "{} pods", pods.len());
            anyhow::Ok(())
        })
        .await;
    }
}

/// What a Harness of coding runs says.
pub fn coding() -> HarnessSpec {
    HarnessSpec {
        command: Some("/harness-coding".to_owned()),
        features: vec!["repo_scope".to_owned()],
        network_role: Some(NetworkRole::Coding),
        ..HarnessSpec::default()
    }
}

/// Reason and message of a run's condition `Complete`.
pub fn complete(status: &CodingRunStatus) -> (&str, &str) {
    let found = status.conditions.iter().find(|condition| condition.type_ == "Complete");
    found.map_or(("", ""), |condition| (&condition.reason, &condition.message))
}

/// Shows the log of the operator with a failing test. Whoever comes second finds it
/// set up.
fn tell_what_is_logged() {
    let filter = "foundry_operator=debug,kube=warn";
    drop(tracing_subscriber::fmt().with_env_filter(filter).with_test_writer().try_init());
}

/// The reason of a condition, when its status is as given.
pub fn reason<'a>(status: &'a AgentStatus, kind: &str, is: bool) -> Option<&'a str> {
    let is = if is { "True" } else { "False" };
    status
        .conditions
        .iter()
        .find(|condition| condition.type_ == kind && condition.status == is)
        .map(|condition| condition.reason.as_str())
}

/// Writes an executable script.
pub fn script(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}
