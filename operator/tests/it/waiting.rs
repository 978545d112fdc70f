//! What waits for our kinds: `kubectl wait`, and kstatus, which Flux and others judge by.

use foundry_crds::agent::Activation;
use foundry_crds::model::{Provider, SecretKeyRef};
use foundry_crds::swarm::{SwarmMember, SwarmSpec};
use foundry_crds::{Model, ModelSpec, Swarm};
use kube::Api;
use kube::api::{DynamicObject, ListParams};
use kube::discovery::ApiResource;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use testenv::eventually;

use super::coding::{kubectl, process_lives};
use super::named::{reported, skill, tool_server};
use super::world::{DEADLINE, World};

/// The seven kinds, and the plural of each.
const KINDS: [(&str, &str); 7] = [
    ("Agent", "agents"),
    ("CodingRun", "codingruns"),
    ("Harness", "harnesses"),
    ("Model", "models"),
    ("Skill", "skills"),
    ("Swarm", "swarms"),
    ("ToolServer", "toolservers"),
];

fn model(name: &str, secret: Option<&str>) -> Model {
    let key = |name: &str| SecretKeyRef { name: name.to_owned(), key: "apiKey".to_owned() };
    Model::new(
        name,
        ModelSpec {
            wire_id: name.to_owned(),
            provider: Provider::OpenAi,
            upstream_model: None,
            base_url: secret.is_none().then(|| "http://model.example/v1".to_owned()),
            api_key: secret.map(key),
            max_context_tokens: None,
            reasoning_efforts: Vec::new(),
            prices: None,
        },
    )
}

fn swarm(name: &str) -> Swarm {
    let member = SwarmMember {
        name: "one".to_owned(),
        harness: "agent-v1".to_owned(),
        instructions: "Look.".to_owned(),
        ..SwarmMember::default()
    };
    let spec = SwarmSpec {
        owner: "eve".to_owned(),
        parent: "ann".to_owned(),
        goal: "Look around.".to_owned(),
        members: vec![member],
        ..SwarmSpec::default()
    };
    Swarm::new(name, spec)
}

async fn on_demand(world: &World, name: &str) {
    world.agent(name, |spec| spec.activation = Some(Activation::OnDemand)).await;
}

/// `kubectl wait` ends by itself for each kind, by condition and by field.
#[tokio::test]
async fn kubectl_waits_for_every_kind() {
    let world = World::new("op-wait").await;
    world.harness("agent-v1").await;
    world.can_code().await;
    world.create(&model("mini", None)).await;
    world.create(&skill("style", &[1, 3])).await;
    world.create(&tool_server("crm")).await;
    reported(&world, "crm", json!({ "generation": 1, "reachable": true, "toolCount": 2 })).await;
    on_demand(&world, "ann").await;
    world.run("fix", |_| {}).await;
    world.create(&swarm("team")).await;
    let waits = async |what: &str, whom: &[&str]| {
        let wait = ["wait", "--timeout=90s", what];
        kubectl(&world, &[&wait, whom].concat()).await
    };
    let operator = world.cluster_operator();
    let ready = [
        "agent/ann",
        "codingrun/fix",
        "harness/agent-v1",
        "model/mini",
        "skill/style",
        "swarm/team",
        "toolserver/crm",
    ];
    let said = waits("--for=condition=Ready", &ready).await;
    assert_eq!(said.lines().count(), ready.len(), "{said}");
    waits("--for=condition=ToolsDegraded=False", &["toolserver/crm"]).await;
    waits("--for=jsonpath={.status.reported.toolCount}=2", &["toolserver/crm"]).await;
    waits("--for=jsonpath={.status.latestVersion}=3", &["skill/style"]).await;
    waits("--for=jsonpath={.status.state}=OnDemand", &["agent/ann"]).await;

    waits("--for=jsonpath={.status.phase}=Pending", &["codingrun/fix"]).await;
    process_lives(&world, "fix").await;
    waits("--for=jsonpath={.status.phase}=Planning", &["codingrun/fix"]).await;
    waits("--for=condition=Running", &["agent/fix"]).await;
    let result = json!({ "outcome": "completed", "summary": "The greeting is whole." });
    world.report("fix", json!({ "startNumber": 1, "result": result })).await;
    waits("--for=condition=Complete", &["codingrun/fix"]).await;
    waits("--for=jsonpath={.status.phase}=Succeeded", &["codingrun/fix"]).await;
    operator.stop().await;
}

/// What kstatus makes of an object: the rules of `sigs.k8s.io/cli-utils/pkg/kstatus` for a
/// custom resource, in its order.
fn kstatus(object: &Value) -> &'static str {
    if !object["metadata"]["deletionTimestamp"].is_null() {
        return "Terminating";
    }
    let status = &object["status"];
    let observed = &status["observedGeneration"];
    if !observed.is_null() && *observed != object["metadata"]["generation"] {
        return "InProgress";
    }
    let says = |kind| condition(object, kind).unwrap_or("Absent");
    if says("Reconciling") == "True" {
        return "InProgress";
    }
    if says("Stalled") == "True" {
        return "Failed";
    }
    match says("Ready") {
        "True" | "Absent" => "Current",
        _ => "InProgress",
    }
}

fn condition<'a>(object: &'a Value, kind: &str) -> Option<&'a str> {
    let conditions = object["status"]["conditions"].as_array()?;
    conditions.iter().find(|it| it["type"] == kind)?["status"].as_str()
}

/// All objects of the seven kinds: `Kind/name` and the object.
async fn everything(world: &World) -> anyhow::Result<Vec<(String, Value)>> {
    let mut all = Vec::new();
    for (kind, plural) in KINDS {
        let resource = ApiResource {
            group: "foundry.flow.life".to_owned(),
            version: "v1alpha1".to_owned(),
            api_version: "foundry.flow.life/v1alpha1".to_owned(),
            kind: kind.to_owned(),
            plural: plural.to_owned(),
        };
        let api: Api<DynamicObject> =
            Api::namespaced_with(world.client(), &world.namespace.name, &resource);
        for object in api.list(&ListParams::default()).await?.items {
            let name = object.metadata.name.clone().unwrap_or_default();
            all.push((format!("{kind}/{name}"), serde_json::to_value(object)?));
        }
    }
    Ok(all)
}

/// An object that nobody has looked at is in progress, one that waits is too, and only one
/// that somebody must change has failed.
#[tokio::test]
async fn kstatus_reads_every_kind_as_it_is() {
    let world = World::new("op-kstatus").await;
    world.harness("agent-v1").await;
    world.can_code().await;
    world.create(&model("mini", None)).await;
    world.create(&model("locked", Some("nowhere"))).await;
    world.create(&skill("style", &[1])).await;
    world.create(&tool_server("crm")).await;
    let mut shut = tool_server("shut");
    shut.spec.auth_secret = Some(SecretKeyRef { name: "no".to_owned(), key: "key".to_owned() });
    world.create(&shut).await;
    on_demand(&world, "ann").await;
    world.agent("lost", |spec| spec.harness = "nowhere".to_owned()).await;
    let slug = format!("desk-{}", &world.namespace.name[world.namespace.name.len() - 6..]);
    for name in ["first", "second"] {
        let slug = Some(slug.clone());
        world
            .agent(name, |spec| {
                spec.slug = slug;
                spec.desired_state =
                    (name == "first").then_some(foundry_crds::agent::DesiredState::Stopped);
            })
            .await;
    }
    world.run("fix", |_| {}).await;
    world.run("stuck", |spec| spec.harness = Some("nowhere".to_owned())).await;
    world.create(&swarm("team")).await;

    let unseen = everything(&world).await.unwrap();
    for (kind, _) in KINDS {
        let of_kind = unseen.iter().filter(|(name, _)| name.starts_with(&format!("{kind}/")));
        let read: Vec<_> = of_kind.map(|(_, object)| kstatus(object)).collect();
        assert!(!read.is_empty() && read.iter().all(|it| *it == "InProgress"), "{kind}: {read:?}");
    }

    let operator = world.cluster_operator();
    let wanted = [
        ("Agent/ann", "Current"),
        ("Agent/first", "Current"),
        ("Agent/lost", "InProgress"),
        ("Agent/second", "Failed"),
        ("CodingRun/fix", "Current"),
        ("CodingRun/stuck", "InProgress"),
        ("Harness/agent-v1", "Current"),
        ("Model/locked", "InProgress"),
        ("Model/mini", "Current"),
        ("Skill/style", "Current"),
        ("ToolServer/crm", "Current"),
        ("ToolServer/shut", "InProgress"),
    ];
    let all = eventually("kstatus reads everything as it is", DEADLINE, || async {
        let all = everything(&world).await?;
        for (name, wanted) in wanted {
            let object = all.iter().find(|(it, _)| it == name).map(|(_, object)| object);
            let read = object.map(kstatus);
            anyhow::ensure!(read == Some(wanted), "{name} is {read:?}: {object:?}");
        }
        Ok(all)
    })
    .await;
    for (name, object) in all.iter().filter(|(_, it)| condition(it, "Ready").is_some()) {
        let says = |kind: &str| condition(object, kind) == Some("True");
        let how_many = ["Ready", "Stalled", "Reconciling"].iter().filter(|it| says(it)).count();
        assert_eq!(how_many, 1, "{name} says one thing of the three: {object}");
        let observed = &object["status"]["observedGeneration"];
        for condition in object["status"]["conditions"].as_array().unwrap() {
            assert_eq!(condition["observedGeneration"], *observed, "{name}: {condition}");
            assert_ne!(condition["message"], "", "{name}: {condition}");
        }
    }
    operator.stop().await;
}
