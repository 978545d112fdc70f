//! One installation in a namespace of its own, and a person who looks at it.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use foundry_client::{AgentState, AgentView, Client, LogLine, StaticToken};
use foundry_crds::{Agent, Harness, Model};
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use serde_json::Value;
use testenv::stack::{Runtime, Stack, StackOptions};
use testenv::{ControlPlane, TestNamespace, eventually};

/// How long the system may take for anything a test waits for.
pub const DEADLINE: Duration = Duration::from_mins(5);

/// The person whose agents these are.
pub const PERSON: &str = "ann";

/// An installation, its namespace and its person.
pub struct World {
    pub stack: Stack,
    pub namespace: TestNamespace,
    pub api: Client,
}

impl World {
    /// Everything of the quickstart but its Agent, in a new namespace; the model
    /// plays `script` of `tests/fakes/scripts`.
    pub async fn start(control_plane: &ControlPlane, script: &str) -> Self {
        let mut world = Self::lay(control_plane, script, None).await;
        world.stack.start_model().await.unwrap();
        world.start_platform().await;
        world
    }

    /// The same with a database that this URL names.
    pub async fn start_on(control_plane: &ControlPlane, script: &str, database: String) -> Self {
        let mut world = Self::lay(control_plane, script, Some(database)).await;
        world.stack.start_model().await.unwrap();
        world.start_platform().await;
        world
    }

    /// The same with a model server that does not run yet.
    pub async fn start_without_model(control_plane: &ControlPlane, script: &str) -> Self {
        let mut world = Self::lay(control_plane, script, None).await;
        world.start_platform().await;
        world
    }

    async fn start_platform(&mut self) {
        self.stack.start_issuer().await.unwrap();
        self.stack.start_api().await.unwrap();
        self.stack.start_operator().await.unwrap();
        let token = self.stack.token(PERSON, &["member"]).await.unwrap();
        self.api = Client::new(&self.stack.api_url(), Arc::new(StaticToken::new(token))).unwrap();
        let base_url = self.stack.model_url();
        self.apply_quickstart(&base_url).await;
    }

    async fn lay(control_plane: &ControlPlane, script: &str, database: Option<String>) -> Self {
        let namespace = testenv::namespace(control_plane, "e2e").await;
        let folder = testenv::scratch(&namespace.name).unwrap();
        let operator =
            control_plane.kubeconfig_for_service_account("default", "foundry-operator").await;
        let api = control_plane.kubeconfig_for_service_account("default", "foundry-api").await;
        let stack = Stack::new(StackOptions {
            folder,
            executables: testenv::bin_folder().unwrap(),
            namespaces: vec![namespace.name.clone()],
            operator_kubeconfig: operator,
            api_kubeconfig: api,
            scripts: vec![scripts().join(script)],
            database,
            evaluate_seconds: Some(1),
            runtime: Runtime::Local,
        })
        .await
        .unwrap();
        let api = Client::new(&stack.api_url(), Arc::new(StaticToken::new(String::new()))).unwrap();
        Self { stack, namespace, api }
    }

    async fn apply_quickstart(&self, base_url: &str) {
        let mut model: Model = quickstart("model.yaml");
        model.spec.base_url = Some(base_url.to_owned());
        self.create::<Secret>(quickstart("model-secret.yaml")).await;
        self.create(model).await;
        self.create::<Harness>(quickstart("harness.yaml")).await;
    }

    /// The quickstart's agent.
    pub fn quickstart_agent() -> Agent {
        quickstart("agent.yaml")
    }

    /// Applies the quickstart's agent.
    pub async fn apply_agent(&self) -> Agent {
        self.create(Self::quickstart_agent()).await
    }

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

    pub fn objects<K>(&self) -> Api<K>
    where
        K: Resource<Scope = k8s_openapi::NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.namespace.client.clone(), &self.namespace.name)
    }

    /// Changes an agent as `kubectl patch --type merge` does.
    #[expect(clippy::disallowed_methods, reason = "plays kubectl, which is not our code")]
    pub async fn patch(&self, agent: &str, patch: &Value) {
        let params =
            PatchParams { field_manager: Some("kubectl-patch".into()), ..Default::default() };
        self.objects::<Agent>().patch(agent, &params, &Patch::Merge(patch)).await.unwrap();
    }

    /// Waits until the agent is seen in this state.
    pub async fn until_state(&self, agent: &str, state: AgentState) -> AgentView {
        self.until(agent, &format!("{state:?}"), |view| view.state == state).await
    }

    /// Waits until the API shows the agent as wanted.
    pub async fn until(
        &self,
        agent: &str,
        what: &str,
        wanted: impl Fn(&AgentView) -> bool,
    ) -> AgentView {
        eventually(&format!("agent {agent} is {what}"), DEADLINE, || async {
            let view = self.api.get_agent(agent).await.map_err(|error| error.to_string())?;
            if wanted(&view) { Ok(view) } else { Err(format!("{view:?}")) }
        })
        .await
    }

    /// Waits until a log line is as wanted, and gives it.
    pub async fn until_logged(
        &self,
        agent: &str,
        what: &str,
        wanted: impl Fn(&LogLine) -> bool,
    ) -> LogLine {
        eventually(&format!("agent {agent} logs {what}"), DEADLINE, || async {
            let lines = self.log(agent).await?;
            let last: Vec<_> =
                lines.iter().rev().take(8).map(|l| l.event.message.clone()).collect();
            lines.into_iter().find(|line| wanted(line)).ok_or_else(|| format!("{last:#?}"))
        })
        .await
    }

    /// The agent's whole log.
    pub async fn log(&self, agent: &str) -> Result<Vec<LogLine>, String> {
        let mut lines = Vec::new();
        let mut after = 0;
        loop {
            let page = self.api.read_logs(agent, after, Some(500), None).await;
            let page = page.map_err(|error| error.to_string())?;
            if page.items.is_empty() {
                return Ok(lines);
            }
            after = page.next_after;
            lines.extend(page.items);
        }
    }

    /// Waits until the agent remembers something that contains these words.
    pub async fn until_remembered(&self, agent: &str, words: &str) {
        eventually(&format!("agent {agent} remembers {words:?}"), DEADLINE, || async {
            let found = self.api.recall(agent, words, None).await.map_err(|e| e.to_string())?;
            if found.items.is_empty() { Err("no such memory") } else { Ok(()) }
                .map_err(String::from)
        })
        .await;
    }

    /// The requests that the model got, oldest first.
    pub fn model_requests(&self) -> Vec<Value> {
        let captured = std::fs::read_to_string(self.stack.capture()).unwrap_or_default();
        let whole = captured.lines().filter_map(|line| serde_json::from_str(line).ok());
        whole.collect()
    }

    /// Process ids of the harnesses that live.
    pub fn pids(&self) -> Vec<u32> {
        self.stack.harnesses().unwrap().iter().map(|harness| harness.pid).collect()
    }

    /// Waits until exactly one harness lives whose process id is not `other`.
    pub async fn until_new_process(&self, other: Option<u32>) -> u32 {
        eventually("one new harness process lives", DEADLINE, || async {
            match self.pids()[..] {
                [pid] if Some(pid) != other => Ok(pid),
                ref pids => Err(format!("{pids:?}")),
            }
        })
        .await
    }

    /// Ends everything, and fails when a process stays.
    pub async fn end(self) {
        self.stack.stop().await.unwrap();
    }
}

fn quickstart<K: DeserializeOwned>(file: &str) -> K {
    let path = testenv::workspace_root().join("examples/quickstart").join(file);
    foundry_crds::yaml::from_yaml(&std::fs::read_to_string(path).unwrap()).unwrap()
}

fn scripts() -> PathBuf {
    testenv::workspace_root().join("tests/fakes/scripts")
}

/// Every sequence number once, without a gap.
pub fn assert_whole(lines: &[LogLine]) {
    let sequences: Vec<i64> = lines.iter().map(|line| line.sequence).collect();
    let expected: Vec<i64> = (1..=i64::try_from(lines.len()).unwrap()).collect();
    assert_eq!(sequences, expected, "the log has gaps or repeats");
    let mut ids: Vec<_> = lines.iter().map(|line| line.event.id).collect();
    ids.sort_unstable();
    ids.dedup();
    assert_eq!(ids.len(), lines.len(), "an event is stored twice");
}
