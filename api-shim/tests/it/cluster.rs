//! The cluster as its administrator, its operator and other writers change it.

use std::{collections::BTreeMap, time::Duration};

use foundry_crds::{
    Agent, AgentSpec, CodingRun, CodingRunSpec, Harness, HarnessSpec, Model, ModelSpec, Swarm,
    ToolServer, ToolServerSpec,
    agent::{AgentState, LastStart, Lifetime},
    coding_run::Repository,
    meta,
    model::{Provider, SecretKeyRef},
};
use futures::StreamExt;
use k8s_openapi::api::{
    apps::v1::Deployment,
    authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec},
    core::v1::{Pod, Secret, ServiceAccount},
};
use kube::{
    Api, Client, Resource, ResourceExt,
    api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams, PostParams},
    runtime::watcher,
};
use serde_json::{Value, json};
use tokio_util::task::AbortOnDropHandle;

const PATIENCE: Duration = Duration::from_mins(1);

pub struct Cluster {
    client: Client,
    namespace: String,
}

impl Cluster {
    pub fn new(client: Client, namespace: &str) -> Self {
        Self { client, namespace: namespace.to_owned() }
    }

    pub fn agents(&self) -> Api<Agent> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub async fn agent(&self, id: &str) -> Agent {
        self.agents().get(id).await.unwrap()
    }

    pub async fn create_harness(&self, name: &str) {
        let spec = HarnessSpec {
            tools: ["remember", "recall", "search", "spawn_coding_agent", "spawn_swarm"]
                .map(String::from)
                .into(),
            always_granted: vec!["remember".into(), "recall".into()],
            ..HarnessSpec::default()
        };
        self.create(&Harness::new(name, spec)).await;
    }

    /// The harness that codes, unless it is there already.
    pub async fn create_coding_harness(&self) {
        let api: Api<Harness> = Api::namespaced(self.client.clone(), &self.namespace);
        if api.get_opt("coding-v1").await.unwrap().is_some() {
            return;
        }
        let spec = HarnessSpec {
            features: vec!["repo_scope".into()],
            tools: vec!["read_file".into()],
            always_granted: vec!["list_queue_errors".into()],
            ..HarnessSpec::default()
        };
        self.create(&Harness::new("coding-v1", spec)).await;
    }

    pub fn coding_runs(&self) -> Api<CodingRun> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub fn tool_servers(&self) -> Api<ToolServer> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub async fn create_tool_server(&self, name: &str, spec: ToolServerSpec) {
        self.create(&ToolServer::new(name, spec)).await;
    }

    pub fn swarms(&self) -> Api<Swarm> {
        Api::namespaced(self.client.clone(), &self.namespace)
    }

    pub async fn coding_run(&self, id: &str) -> CodingRun {
        self.coding_runs().get(id).await.unwrap()
    }

    /// A run of ann's, as a person applies it.
    pub async fn create_coding_run(
        &self,
        id: &str,
        change: impl FnOnce(&mut CodingRunSpec),
    ) -> CodingRun {
        let mut spec = CodingRunSpec {
            owner: "ann".into(),
            task: "Mend the greeting.".into(),
            repository: Repository {
                remote: "ssh://git@git.example/acme/greeting.git".into(),
                ..Repository::default()
            },
            ..CodingRunSpec::default()
        };
        change(&mut spec);
        self.create(&CodingRun::new(id, spec)).await
    }

    /// The one agent of a run, as the operator makes it.
    pub async fn create_agent_of(&self, run: &CodingRun) -> Agent {
        let ttl = "2100-01-01T00:00:00Z".parse().unwrap();
        let spec = AgentSpec {
            owner: run.spec.owner.clone(),
            parent: run.spec.agent.clone(),
            harness: run.spec.harness().to_owned(),
            lifetime: Some(Lifetime::Ephemeral),
            instructions: Some(run.spec.task.clone()),
            ttl_at: Some(k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(ttl)),
            repository: Some(run.spec.repository.clone()),
            approval: Some(run.spec.approval()),
            limits: Some(run.spec.limits()),
            ..AgentSpec::default()
        };
        let mut agent = Agent::new(&run.name_any(), spec);
        agent.metadata.owner_references = Some(run.controller_owner_ref(&()).into_iter().collect());
        let params = PostParams {
            field_manager: Some(meta::manager::OPERATOR_INTENT.to_owned()),
            ..PostParams::default()
        };
        self.agents().create(&params, &agent).await.unwrap()
    }

    /// What the operator writes when a process starts.
    pub async fn start_process(&self, id: &str, number: i64) {
        let status = json!({
            "startNumber": number, "lastStart": {"number": number},
            "mailbox": format!("{id}@dev-ai.flow.life"),
        });
        let patch = Patch::Merge(json!({"status": status}));
        #[expect(clippy::disallowed_methods, reason = "the test plays the operator")]
        self.agents().patch_status(id, &PatchParams::default(), &patch).await.unwrap();
    }

    /// What the operator writes when a process has ended by itself.
    pub async fn end_process(&self, id: &str, number: i64) {
        let patch = Patch::Merge(json!({"status": {"finishedStart": number}}));
        #[expect(clippy::disallowed_methods, reason = "the test plays the operator")]
        self.agents().patch_status(id, &PatchParams::default(), &patch).await.unwrap();
    }

    pub async fn create_model(&self, name: &str, provider: Provider, base_url: &str) {
        let key = SecretKeyRef { name: "provider".into(), key: "apiKey".into() };
        self.create_model_with(name, provider, base_url, Some(key)).await;
    }

    /// A Model that brings no key of its own.
    pub async fn create_keyless_model(&self, name: &str, provider: Provider, base_url: &str) {
        self.create_model_with(name, provider, base_url, None).await;
    }

    async fn create_model_with(
        &self,
        name: &str,
        provider: Provider,
        base_url: &str,
        api_key: Option<SecretKeyRef>,
    ) {
        let spec = ModelSpec {
            wire_id: name.to_owned(),
            provider,
            upstream_model: None,
            base_url: Some(base_url.to_owned()),
            api_key,
            max_context_tokens: Some(128_000),
            reasoning_efforts: vec!["low".into()],
            prices: None,
        };
        self.create(&Model::new(name, spec)).await;
    }

    pub async fn create_secret(&self, name: &str, key: &str, value: &str) {
        let secret = Secret {
            metadata: ObjectMeta { name: Some(name.into()), ..ObjectMeta::default() },
            string_data: Some(BTreeMap::from([(key.to_owned(), value.to_owned())])),
            ..Secret::default()
        };
        self.create(&secret).await;
    }

    /// Creates an agent as the operator does, under its manager.
    pub async fn create_agent(&self, id: &str, spec: AgentSpec) -> Agent {
        let params = PostParams {
            field_manager: Some(meta::manager::OPERATOR_INTENT.to_owned()),
            ..PostParams::default()
        };
        self.agents().create(&params, &Agent::new(id, spec)).await.unwrap()
    }

    async fn create<K>(&self, object: &K) -> K
    where
        K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
            + Clone
            + std::fmt::Debug
            + serde::Serialize
            + serde::de::DeserializeOwned,
    {
        Api::<K>::namespaced(self.client.clone(), &self.namespace)
            .create(&PostParams::default(), object)
            .await
            .unwrap()
    }

    /// Writes spec fields of an agent under another manager, as Git would.
    pub async fn apply_as(&self, manager: &str, id: &str, spec: Value) {
        let body = json!({
            "apiVersion": Agent::api_version(&()), "kind": "Agent",
            "metadata": {"name": id}, "spec": spec,
        });
        self.patch(id, &PatchParams::apply(manager).force(), &Patch::Apply(body)).await;
    }

    /// Writes status fields of a run under another manager.
    pub async fn apply_run_status(&self, manager: &str, id: &str, status: Value) {
        let body = json!({
            "apiVersion": CodingRun::api_version(&()), "kind": "CodingRun",
            "metadata": {"name": id}, "status": status,
        });
        let params = PatchParams::apply(manager).force();
        #[expect(clippy::disallowed_methods, reason = "the test plays another writer")]
        self.coding_runs().patch_status(id, &params, &Patch::Apply(body)).await.unwrap();
    }

    /// Changes spec fields by a merge patch.
    pub async fn merge_spec(&self, id: &str, spec: Value) -> Agent {
        let patch = Patch::Merge(json!({"spec": spec}));
        self.patch(id, &PatchParams::default(), &patch).await
    }

    #[expect(clippy::disallowed_methods, reason = "the test plays another writer")]
    async fn patch(&self, id: &str, params: &PatchParams, patch: &Patch<Value>) -> Agent {
        self.agents().patch(id, params, patch).await.unwrap()
    }

    /// Plays the operator: answers every change of every agent's intent with a status.
    /// `refusal` is what the cluster says to every start.
    pub fn play_operator(&self, refusal: Option<&'static str>) -> AbortOnDropHandle<()> {
        let agents = self.agents();
        let play = async move {
            let mut events = watcher::watcher(agents.clone(), watcher::Config::default()).boxed();
            while let Some(event) = events.next().await {
                let (watcher::Event::Apply(agent) | watcher::Event::InitApply(agent)) =
                    event.unwrap()
                else {
                    continue;
                };
                let observed = agent.status.as_ref().and_then(|s| s.observed_generation);
                if observed != agent.metadata.generation {
                    answer(&agents, &agent, refusal).await;
                }
            }
        };
        #[expect(clippy::disallowed_methods, reason = "ends with the test by its handle")]
        AbortOnDropHandle::new(tokio::spawn(play))
    }

    /// A Pod as the local runtime makes it: owned by the agent itself.
    pub async fn create_local_pod(&self, agent: &str) -> Pod {
        let owner = self.agent(agent).await;
        let pod: Pod = serde_json::from_value(json!({
            "metadata": {
                "generateName": format!("foundry-agent-{agent}-"),
                "ownerReferences": [owner.controller_owner_ref(&())],
                // A label claims to be another agent's; nobody may believe it.
                "labels": {meta::label::AGENT: "somebody-else"},
            },
            "spec": harness_pod(),
        }))
        .unwrap();
        self.create(&pod).await
    }

    /// A pod as the cluster runtime gets it: Agent, Deployment, ReplicaSet, Pod, the
    /// last two made by the real controllers.
    pub async fn create_deployed_pod(&self, agent: &str) -> Pod {
        let owner = self.agent(agent).await;
        let labels = json!({"app": format!("deployed-{agent}")});
        let deployment: Deployment = serde_json::from_value(json!({
            "metadata": {
                "name": format!("foundry-agent-{agent}"),
                "ownerReferences": [owner.controller_owner_ref(&())],
            },
            "spec": {
                "replicas": 1,
                "selector": {"matchLabels": labels},
                "template": {
                    "metadata": {"labels": labels},
                    "spec": harness_pod(),
                },
            },
        }))
        .unwrap();
        self.create(&deployment).await;
        let selector = ListParams::default().labels(&format!("app=deployed-{agent}"));
        testenv::eventually("the deployment's pod appears", PATIENCE, || async {
            let pods: Api<Pod> = Api::namespaced(self.client.clone(), &self.namespace);
            let list = pods.list(&selector).await.map_err(|error| error.to_string())?;
            list.items.into_iter().next().ok_or_else(|| "no pod".to_owned())
        })
        .await
    }

    pub async fn delete_pod(&self, pod: &Pod) {
        let pods: Api<Pod> = Api::namespaced(self.client.clone(), &self.namespace);
        pods.delete(&pod.name_any(), &DeleteParams::default().grace_period(0)).await.unwrap();
    }

    /// A token of the harness ServiceAccount for our audience, bound to the pod.
    pub async fn token_of_pod(&self, pod: &Pod) -> String {
        let bound = BoundObjectReference {
            api_version: Some("v1".into()),
            kind: Some("Pod".into()),
            name: pod.metadata.name.clone(),
            uid: pod.metadata.uid.clone(),
        };
        self.token(meta::HARNESS_SERVICE_ACCOUNT, meta::TOKEN_AUDIENCE, Some(bound)).await
    }

    /// A token of a ServiceAccount.
    pub async fn token(
        &self,
        account: &str,
        audience: &str,
        bound_object_ref: Option<BoundObjectReference>,
    ) -> String {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client.clone(), &self.namespace);
        let request = TokenRequest {
            spec: TokenRequestSpec {
                audiences: vec![audience.to_owned()],
                bound_object_ref,
                expiration_seconds: Some(3600),
            },
            ..TokenRequest::default()
        };
        let answer = accounts.create_token_request(account, &PostParams::default(), &request).await;
        answer.unwrap().status.unwrap().token
    }
}

/// A pod that Pod Security `restricted` lets in and no node runs.
fn harness_pod() -> Value {
    json!({
        "schedulerName": meta::LOCAL_SCHEDULER,
        "serviceAccountName": meta::HARNESS_SERVICE_ACCOUNT,
        "securityContext": {
            "runAsNonRoot": true, "runAsUser": 65532,
            "seccompProfile": {"type": "RuntimeDefault"},
        },
        "containers": [{
            "name": "harness", "image": "harness",
            "securityContext": {
                "allowPrivilegeEscalation": false,
                "capabilities": {"drop": ["ALL"]},
            },
        }],
    })
}

/// What the operator would write after it acted.
async fn answer(agents: &Api<Agent>, agent: &Agent, refusal: Option<&str>) {
    let spec = &agent.spec;
    let mut status = agent.status.clone().unwrap_or_default();
    let starts = spec.starts.unwrap_or(0);
    if starts > status.observed_starts.unwrap_or(0) {
        let number = status.start_number.unwrap_or(0) + 1;
        status.start_number = Some(number);
        status.last_start = Some(LastStart {
            number,
            at: None,
            refused: refusal.map(str::to_owned),
            starts: Some(starts),
        });
    }
    status.observed_starts = Some(starts);
    status.observed_generation = agent.metadata.generation;
    let runs = spec.desired_state() == foundry_crds::agent::DesiredState::Running;
    status.state = Some(if runs { AgentState::Running } else { AgentState::Stopped });
    let patch = Patch::Merge(json!({"status": status}));
    #[expect(clippy::disallowed_methods, reason = "the test plays the operator")]
    agents.patch_status(&agent.name_any(), &PatchParams::default(), &patch).await.unwrap();
}
