//! A day of operator and API, in which each does everything that it does in a cluster.

use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use foundry_client::{Client, StaticToken};
use foundry_crds::{Agent, CodingRun, Harness, Model, Skill, Swarm, ToolServer, meta, yaml};
use k8s_openapi::api::apps::v1::{ControllerRevision, Deployment};
use k8s_openapi::api::authentication::v1::{BoundObjectReference, TokenRequest, TokenRequestSpec};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::coordination::v1::Lease;
use k8s_openapi::api::core::v1::{Pod, Secret, ServiceAccount};
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::api::{DeleteParams, DynamicObject, ListParams, Patch, PatchParams, PostParams};
use kube::core::discovery::ApiResource;
use kube::{Api, Resource};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use testenv::stack::{Runtime, Stack, StackOptions};
use testenv::{Process, eventually};

use crate::chart::place::Place;

/// Where the chart's agents are.
const NAMESPACE: &str = "foundry-agents";
/// Whose agents these are.
const PERSON: &str = "ann";
/// The agent that is there to stay.
const LEAD: &str = "lead";
/// The swarm that is started for it.
const SWARM: &str = "survey";
/// A text, and a server of tools, that agents can be given.
const SKILL: &str = "greeting";
const TOOLS: &str = "library";
/// How long the system may take for anything.
const DEADLINE: Duration = Duration::from_mins(2);
/// How long operator and API may take to leave.
const GRACE: Duration = Duration::from_secs(20);

/// The chart's installation, whose programs run beside its cluster: no node is there to run
/// their pods.
pub struct Scene<'a> {
    place: &'a Place,
    stack: Stack,
    operator: Option<Process>,
    person: Client,
}

impl<'a> Scene<'a> {
    /// API and operator run; a model and two harnesses are there.
    pub async fn set(place: &'a Place) -> Self {
        let kubeconfig =
            |account| place.control_plane.kubeconfig_for_service_account("default", account);
        let scripts = testenv::workspace_root().join("tests/fakes/scripts");
        let mut stack = Stack::new(StackOptions {
            folder: place.folder.join("stack"),
            executables: testenv::bin_folder().unwrap(),
            namespaces: vec![NAMESPACE.to_owned()],
            operator_kubeconfig: kubeconfig("foundry-operator").await,
            api_kubeconfig: kubeconfig("foundry-api").await,
            scripts: vec![scripts.join("quickstart.yaml")],
            database: None,
            evaluate_seconds: None,
            runtime: Runtime::Cluster,
        })
        .await
        .unwrap();
        stack.start_model().await.unwrap();
        stack.start_issuer().await.unwrap();
        stack.start_api().await.unwrap();
        let token = stack.token(PERSON, &["member"]).await.unwrap();
        let person = Client::new(&stack.api_url(), Arc::new(StaticToken::new(token))).unwrap();
        let mut scene = Self { place, stack, operator: None, person };
        scene.start_operator(&[]).await;
        scene.furnish().await;
        scene
    }

    /// Everything once, and then operator and API leave, so that their watches end.
    pub async fn play(mut self) {
        self.an_agent_lives().await;
        let run = self.a_run_goes_its_way().await;
        self.a_swarm_goes_its_way().await;
        self.agents_can_be_given_texts_and_tools().await;
        self.versions_are_kept_as_many_as_wanted().await;
        self.somebody_scales_the_agent_away().await;
        self.objects_of_another_release_are_met(&run).await;
        self.the_agent_rests_and_begins_again().await;
        self.policies_are_given_up().await;
        self.operator.take().unwrap().stop(GRACE).await.unwrap();
        self.stack.stop().await.unwrap();
    }

    /// ROUTE-01, ROUTE-04: over REST; its pod is known, beats, and calls a model.
    async fn an_agent_lives(&self) {
        let agent = from(json!({
            "name": "Lead", "id": LEAD, "harness_id": "agent-v1", "tools": ["spawn_coding_agent"],
        }));
        self.person.get_harness("agent-v1").await.unwrap();
        self.person.create_agent(&agent).await.unwrap();
        self.person.start_agent(LEAD).await.unwrap();
        let (pod, token) = self.pod_of(LEAD).await;
        pod.me().await.unwrap();
        let beat = from(json!({
            "at": "2026-01-01T00:00:00Z", "process_id": uuid::Uuid::now_v7(), "generation": 1,
        }));
        pod.heartbeat(LEAD, &beat).await.unwrap();
        self.until::<Agent>(LEAD, "the beat shows", |agent| {
            agent["status"]["lastHeartbeat"].is_string()
        })
        .await;
        let ask =
            json!({"model": "auto", "messages": [{"role": "user", "content": "Anything new?"}]});
        let url = format!("{}/v1/relay/chat/completions", self.stack.api_url());
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let call = http.post(url).bearer_auth(token).json(&ask);
        let answer = call.send().await.unwrap();
        assert!(answer.status().is_success(), "{}", answer.text().await.unwrap());
    }

    /// ROUTE-14: an agent spawns a run; its pod reports; its bounds change; it is stopped.
    async fn a_run_goes_its_way(&self) -> String {
        let (lead, _) = self.pod_of(LEAD).await;
        let task = from(json!({
            "task": "Mend the greeting.", "remote": "git@git.example:acme/greeting.git",
            "harness_id": "coding-v1",
        }));
        let run = lead.spawn_coding_agent(LEAD, &task).await.unwrap().id;
        let (pod, _) = self.pod_of(&run).await;
        let report = from(json!({"generation": 1, "branch": "foundry/greeting"}));
        pod.report_coding(&run, &report).await.unwrap();
        self.until::<CodingRun>(&run, "the report shows", |run| {
            run["status"]["reported"]["branch"] == "foundry/greeting"
        })
        .await;
        self.change::<CodingRun>(&run, json!({"spec": {"limits": {"wallClock": "45m"}}})).await;
        self.until::<Agent>(&run, "its agent has the new bound", |agent| {
            agent["spec"]["limits"]["wallClock"] == "45m"
        })
        .await;
        let job = format!("foundry-agent-{run}-1");
        self.until::<Job>(&job, "its Job is there", |_| true).await;
        self.person.stop_agent(&run).await.unwrap();
        self.until_gone::<Job>(&job).await;
        run
    }

    /// SWARM-01, SWARM-04: a person starts a swarm for an agent, looks at it, and dismisses it.
    async fn a_swarm_goes_its_way(&self) {
        let token = self.stack.token(PERSON, &["member"]).await.unwrap();
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let url = |path: &str| format!("{}/v1/{path}", self.stack.api_url());
        let swarm = json!({
            "id": SWARM, "goal": "One page on who lives here.",
            "members": [
                {"name": "list", "instructions": "List them.", "harness_id": "agent-v1"},
            ],
        });
        let of_lead = url(&format!("agents/{LEAD}/swarms"));
        let calls = [
            http.post(of_lead).json(&swarm),
            http.get(url(&format!("swarms/{SWARM}"))),
            http.post(url(&format!("swarms/{SWARM}/dismiss"))),
        ];
        let member = format!("{SWARM}-list");
        for (number, call) in calls.into_iter().enumerate() {
            let answer = call.bearer_auth(&token).send().await.unwrap();
            assert!(answer.status().is_success(), "{number}: {}", answer.text().await.unwrap());
            self.until::<Agent>(&member, "the member has its agent", |_| true).await;
        }
        self.until::<Agent>(&member, "it is expired", |agent| {
            agent["spec"]["lifecycle"] == "expired"
        })
        .await;
        self.until::<Swarm>(SWARM, "it is dismissed", |swarm| {
            swarm["status"]["phase"] == "Dismissed"
        })
        .await;
    }

    /// SPEC-05: what a tool server says, the API asks; whether it is there, the operator.
    async fn agents_can_be_given_texts_and_tools(&self) {
        let spec = from(json!({
            "description": "How we greet.", "createdBy": PERSON, "instructions": "Be brief.",
        }));
        self.create(Skill::new(SKILL, spec)).await;
        self.until::<Skill>(SKILL, "it is looked at", is_ready).await;
        let url = format!("{}/mcp", self.stack.model_url());
        self.create(ToolServer::new(TOOLS, from(json!({ "url": url })))).await;
        self.until::<ToolServer>(TOOLS, "it is looked at", is_ready).await;
        self.until::<ToolServer>(TOOLS, "the API has asked it", |server| {
            server["status"]["reported"]["reachable"].is_boolean()
        })
        .await;
    }

    /// SPEC-01: each edit is a version, and those beyond the limit go.
    async fn versions_are_kept_as_many_as_wanted(&self) {
        let revisions: Api<ControllerRevision> = self.objects();
        let of_lead = ListParams::default().labels(&format!("{}={LEAD}", meta::label::AGENT));
        let kept = || async {
            let found = revisions.list(&of_lead).await.map_err(|error| error.to_string())?;
            Ok::<Vec<i64>, String>(found.items.into_iter().map(|it| it.revision).collect())
        };
        let first = eventually("the first version is stored", DEADLINE, || async {
            kept().await?.into_iter().min().ok_or_else(|| "none".to_owned())
        })
        .await;
        for number in 1..=3 {
            let words = format!("Watch, as version {number} says.");
            let edit = json!({"spec": {"instructions": words, "revisionHistoryLimit": 1}});
            self.change::<Agent>(LEAD, edit).await;
            eventually("the edit is a version", DEADLINE, || async {
                let kept = kept().await?;
                let newest = kept.iter().max().copied().unwrap_or_default();
                if newest >= first + number { Ok(()) } else { Err(format!("{kept:?}")) }
            })
            .await;
        }
        eventually("the first version is dropped", DEADLINE, || async {
            let kept = kept().await?;
            if kept.contains(&first) { Err(format!("{kept:?}")) } else { Ok(()) }
        })
        .await;
    }

    /// What somebody else changes on a workload is put back.
    async fn somebody_scales_the_agent_away(&self) {
        let deployment = format!("foundry-agent-{LEAD}");
        self.change::<Deployment>(&deployment, json!({"spec": {"replicas": 0}})).await;
        self.until::<Deployment>(&deployment, "it is scaled back", |it| {
            it["spec"]["replicas"] == 1
        })
        .await;
    }

    /// What does not decode is read as it is, and told so.
    async fn objects_of_another_release_are_met(&self, run: &str) {
        self.odd::<Agent>(LEAD).await;
        self.odd::<CodingRun>(run).await;
        self.odd::<Harness>("agent-v1").await;
        self.odd::<Model>("gpt-5-mini").await;
        self.odd::<Skill>(SKILL).await;
        self.odd::<Swarm>(SWARM).await;
        self.odd::<ToolServer>(TOOLS).await;
    }

    /// Told twice, what happens is one event that counts.
    async fn the_agent_rests_and_begins_again(&self) {
        let deployment = format!("foundry-agent-{LEAD}");
        for _ in 0..2 {
            self.person.stop_agent(LEAD).await.unwrap();
            self.until_gone::<Deployment>(&deployment).await;
            self.person.start_agent(LEAD).await.unwrap();
            self.until::<Deployment>(&deployment, "it is back", |_| true).await;
        }
    }

    /// NET-01: where an installation wants none, the policies go. A lease that somebody has
    /// taken away in the meantime is made again.
    async fn policies_are_given_up(&mut self) {
        self.until::<NetworkPolicy>("foundry-harness", "it is there", |_| true).await;
        self.operator.take().unwrap().stop(GRACE).await.unwrap();
        let leases: Api<Lease> = Api::namespaced(self.place.client.clone(), "default");
        leases.delete("foundry-operator", &DeleteParams::default()).await.unwrap();
        self.start_operator(&[("FOUNDRY_NETWORK_POLICIES", "false")]).await;
        self.until_gone::<NetworkPolicy>("foundry-harness").await;
    }

    /// The operator with the settings of the chart's Deployment, but for what is elsewhere.
    async fn start_operator(&mut self, more: &[(&str, &str)]) {
        let deployments: Api<Deployment> = Api::namespaced(self.place.client.clone(), "default");
        let spec = deployments.get("foundry-operator").await.unwrap().spec.unwrap();
        let container = spec.template.spec.unwrap().containers.remove(0);
        let kubeconfig = self
            .place
            .control_plane
            .kubeconfig_for_service_account("default", "foundry-operator")
            .await;
        let port = testenv::free_port().unwrap();
        let mut command = Command::new(testenv::bin("foundry-operator"));
        for variable in container.env.unwrap() {
            command.env(variable.name, variable.value.unwrap());
        }
        command
            .envs(more.iter().copied())
            .env("KUBECONFIG", kubeconfig)
            .env("FOUNDRY_OPERATOR_LISTEN", format!("127.0.0.1:{port}"))
            .env("FOUNDRY_API_URL", self.stack.api_url())
            .env("FOUNDRY_LOG", "info,foundry_operator=debug")
            .env("FOUNDRY_PDEATHSIG", "1");
        let log = self.place.folder.join("operator.log");
        let mut operator = Process::spawn("foundry-operator", &command, &log).unwrap();
        let ready = format!("http://127.0.0.1:{port}/readyz");
        let probe = || async { reqwest::get(&ready).await?.error_for_status().map(drop) };
        operator.wait_for("it was ready", DEADLINE, probe).await.unwrap();
        self.operator = Some(operator);
    }

    async fn furnish(&self) {
        let mut model: Model = example("quickstart/model.yaml");
        model.spec.base_url = Some(self.stack.model_url());
        self.create::<Secret>(example("quickstart/model-secret.yaml")).await;
        self.create(model).await;
        let mut harness: Harness = example("quickstart/harness.yaml");
        harness.spec.tools.push("spawn_coding_agent".into());
        self.create(harness).await;
        self.create::<Harness>(example("coding/harness.yaml")).await;
        for harness in ["agent-v1", "coding-v1"] {
            self.until::<Harness>(harness, "it is looked at", is_ready).await;
        }
        self.until::<Model>("gpt-5-mini", "its Secret is found", is_ready).await;
    }

    /// The API as the pod of an agent calls it, with a token bound to that pod.
    async fn pod_of(&self, agent: &str) -> (Client, String) {
        let pods: Api<Pod> = self.objects();
        let mine = ListParams::default().labels(&format!("{}={agent}", meta::label::AGENT));
        let pod = eventually(&format!("agent {agent} has a pod"), DEADLINE, || async {
            let pods = pods.list(&mine).await.map_err(|error| error.to_string())?;
            pods.items.into_iter().next().ok_or_else(|| "none".to_owned())
        })
        .await;
        let bound = BoundObjectReference {
            api_version: Some("v1".into()),
            kind: Some("Pod".into()),
            name: pod.metadata.name.clone(),
            uid: pod.metadata.uid.clone(),
        };
        let request = TokenRequest {
            spec: TokenRequestSpec {
                audiences: vec![meta::TOKEN_AUDIENCE.to_owned()],
                bound_object_ref: Some(bound),
                expiration_seconds: Some(3600),
            },
            ..TokenRequest::default()
        };
        let accounts: Api<ServiceAccount> = self.objects();
        let answer = accounts
            .create_token_request(meta::HARNESS_SERVICE_ACCOUNT, &PostParams::default(), &request)
            .await;
        let token = answer.unwrap().status.unwrap().token;
        let client = Client::new(&self.stack.api_url(), Arc::new(StaticToken::new(token.clone())));
        (client.unwrap(), token)
    }

    /// Gives the object a date that the API server takes and our clock cannot say, and waits
    /// until the operator has put what it has to say in its place.
    #[expect(clippy::disallowed_methods, reason = "the test is another writer")]
    async fn odd<K>(&self, name: &str)
    where
        K: Resource<DynamicType = ()>,
    {
        const NEVER: &str = "9999-12-31T23:59:59Z";
        let resource = ApiResource::erase::<K>(&());
        let api: Api<DynamicObject> =
            Api::namespaced_with(self.place.client.clone(), NAMESPACE, &resource);
        let odd = json!({
            "type": "Odd", "status": "True", "reason": "Odd", "message": "",
            "lastTransitionTime": NEVER,
        });
        let patch = Patch::Merge(json!({"status": {"conditions": [odd]}}));
        api.patch_status(name, &PatchParams::default(), &patch).await.unwrap();
        eventually(&format!("{} {name} is told", resource.kind), DEADLINE, || async {
            let object = api.get(name).await.map_err(|error| error.to_string())?;
            let status = object.data["status"].to_string();
            if status.contains(NEVER) { Err(status) } else { Ok(()) }
        })
        .await;
    }

    fn objects<K>(&self) -> Api<K>
    where
        K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>,
    {
        Api::namespaced(self.place.client.clone(), NAMESPACE)
    }

    async fn create<K>(&self, object: K)
    where
        K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
            + serde::Serialize
            + DeserializeOwned
            + Clone
            + std::fmt::Debug,
    {
        self.objects::<K>().create(&PostParams::default(), &object).await.unwrap();
    }

    #[expect(clippy::disallowed_methods, reason = "plays kubectl, which is not our code")]
    async fn change<K>(&self, name: &str, patch: Value)
    where
        K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
            + DeserializeOwned
            + Clone
            + std::fmt::Debug,
    {
        let params =
            PatchParams { field_manager: Some("kubectl".into()), ..PatchParams::default() };
        self.objects::<K>().patch(name, &params, &Patch::Merge(patch)).await.unwrap();
    }

    /// Waits until the object is there and as wanted.
    async fn until<K>(&self, name: &str, what: &str, wanted: impl Fn(&Value) -> bool)
    where
        K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
            + serde::Serialize
            + DeserializeOwned
            + Clone
            + std::fmt::Debug,
    {
        eventually(&format!("{name}: {what}"), DEADLINE, || async {
            let object = self.objects::<K>().get(name).await.map_err(|error| error.to_string())?;
            let object = json!(object);
            if wanted(&object) { Ok(()) } else { Err(object.to_string()) }
        })
        .await;
    }

    async fn until_gone<K>(&self, name: &str)
    where
        K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
            + DeserializeOwned
            + Clone
            + std::fmt::Debug,
    {
        eventually(&format!("{name} is gone"), DEADLINE, || async {
            match self.objects::<K>().get_opt(name).await {
                Ok(None) => Ok(()),
                Ok(Some(object)) => Err(format!("{:?}", object.meta().deletion_timestamp)),
                Err(error) => Err(error.to_string()),
            }
        })
        .await;
    }
}

fn is_ready(object: &Value) -> bool {
    let conditions = object["status"]["conditions"].as_array();
    conditions.into_iter().flatten().any(|it| it["type"] == "Ready" && it["status"] == "True")
}

fn example<K: DeserializeOwned>(file: &str) -> K {
    let path = testenv::workspace_root().join("examples").join(file);
    yaml::from_yaml(&std::fs::read_to_string(path).unwrap()).unwrap()
}

/// A request body, as JSON says it.
fn from<T: DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).unwrap()
}
