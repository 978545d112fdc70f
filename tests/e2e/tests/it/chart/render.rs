//! What the chart renders, without any cluster.

use foundry_crds::yaml;
use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::{Value, json};

use super::place::{Helm, chart};

/// What Helm renders of the chart with these further arguments.
async fn rendered(arguments: &[&str]) -> Result<String, String> {
    let chart = chart();
    let template = ["template", "foundry", chart.to_str().unwrap(), "--namespace", "default"];
    Helm::alone().run(&[&template, arguments].concat()).await
}

/// What it renders, object by object.
pub async fn objects(arguments: &[&str]) -> Vec<Value> {
    yaml::documents(&rendered(arguments).await.unwrap()).unwrap()
}

fn values(name: &str) -> String {
    chart().join(format!("ci/{name}-values.yaml")).to_str().unwrap().to_owned()
}

/// The object of this kind and name.
pub fn one<'a>(objects: &'a [Value], kind: &str, namespace: &str, name: &str) -> &'a Value {
    let found = objects.iter().find(|object| {
        object["kind"] == kind
            && object["metadata"]["name"] == name
            && object["metadata"]["namespace"].as_str().unwrap_or_default() == namespace
    });
    found.unwrap_or_else(|| panic!("there is no {kind} {namespace}/{name}"))
}

/// The value of a variable of the operator.
fn setting(objects: &[Value], name: &str) -> Value {
    let deployment = one(objects, "Deployment", "default", "foundry-operator");
    let variables = &deployment["spec"]["template"]["spec"]["containers"][0]["env"];
    let found = variables.as_array().unwrap().iter().find(|variable| variable["name"] == name);
    found.map_or(Value::Null, |variable| variable["value"].clone())
}

/// The types are compared where they are made; here they would hide all else.
fn without_types(rendered: &str) -> String {
    let documents = rendered.split("---\n");
    documents
        .filter(|text| !text.contains("/templates/crds.yaml"))
        .collect::<Vec<_>>()
        .join("---\n")
}

/// WORK-02, WORK-04, WORK-05
#[tokio::test]
async fn with_its_defaults_the_chart_renders_as_it_did() {
    insta::assert_snapshot!("default", without_types(&rendered(&[]).await.unwrap()));
}

#[tokio::test]
async fn with_every_value_set_the_chart_renders_as_it_did() {
    let given = values("full");
    insta::assert_snapshot!("full", without_types(&rendered(&["-f", &given]).await.unwrap()));
}

/// WORK-06
#[tokio::test]
async fn without_an_agent_runtime_the_chart_renders_as_it_did() {
    let given = values("service");
    insta::assert_snapshot!("service", rendered(&["-f", &given]).await.unwrap());
}

#[rstest]
#[case::defaults(&[])]
#[case::all(&["full"])]
#[tokio::test]
async fn helm_finds_nothing_to_complain_of(#[case] given: &[&str]) {
    let files: Vec<String> =
        given.iter().flat_map(|name| ["-f".to_owned(), values(name)]).collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let chart = chart();
    let lint = ["lint", "--strict", chart.to_str().unwrap()];
    let words = Helm::alone().run(&[&lint, files.as_slice()].concat()).await.unwrap();
    assert!(words.contains("1 chart(s) linted, 0 chart(s) failed"), "{words}");
    assert!(!words.contains("[WARNING]") && !words.contains("[ERROR]"), "{words}");
}

/// WORK-06
#[tokio::test]
async fn a_release_without_an_agent_runtime_is_one_ordinary_deployment() {
    let given = values("service");
    let objects = objects(&["-f", &given]).await;
    let mut kinds: Vec<_> = objects.iter().map(|object| object["kind"].as_str().unwrap()).collect();
    kinds.sort_unstable();
    assert_eq!(kinds, ["Deployment", "NetworkPolicy", "PodDisruptionBudget", "Service"]);
    let deployment = one(&objects, "Deployment", "default", "foundry");
    let pod = &deployment["spec"]["template"]["spec"];
    assert_eq!(pod["serviceAccountName"], Value::Null);
    assert_eq!(pod["automountServiceAccountToken"], false);
    let text = json!(objects).to_string();
    for word in ["FOUNDRY_", "foundry-harness", "foundry-operator", "foundry-agents"] {
        assert!(!text.contains(word), "{word}");
    }
}

/// WORK-05
#[tokio::test]
async fn the_controller_has_its_account_in_default_and_its_role_where_agents_are() {
    let objects = objects(&[]).await;
    for name in ["foundry-operator", "foundry-api"] {
        let deployment = one(&objects, "Deployment", "default", name);
        assert_eq!(deployment["spec"]["template"]["spec"]["serviceAccountName"], name);
        one(&objects, "ServiceAccount", "default", name);
        let binding = one(&objects, "RoleBinding", "foundry-agents", name);
        let subject = json!([{"kind": "ServiceAccount", "name": name, "namespace": "default"}]);
        assert_eq!(binding["subjects"], subject);
    }
    let granted = |name| one(&objects, "Role", "foundry-agents", name)["rules"].to_string();
    let (operator, api) = (granted("foundry-operator"), granted("foundry-api"));
    assert!(operator.contains("deployments") && operator.contains("jobs"), "{operator}");
    assert!(api.contains("replicasets"), "{api}");
    assert!(!objects.iter().any(|it| {
        it["kind"] == "Role"
            && it["metadata"]["namespace"] == "default"
            && it.to_string().contains("jobs")
    }));
}

/// WORK-02, WORK-03
#[tokio::test]
async fn harness_images_are_the_values_or_those_of_this_version() {
    let version = env!("CARGO_PKG_VERSION");
    let plain = objects(&[]).await;
    assert_eq!(setting(&plain, "FOUNDRY_HARNESS_IMAGE"), format!("foundry-harness:{version}"));
    let coding = format!("foundry-harness-coding:{version}");
    assert_eq!(setting(&plain, "FOUNDRY_HARNESS_CODING_IMAGE"), coding);
    let named = objects(&["--set", "harnessImage=acr/foundry-harness:9"]).await;
    assert_eq!(setting(&named, "FOUNDRY_HARNESS_IMAGE"), "acr/foundry-harness:9");
    let mirrored = objects(&["--set", "image.registry=acr/flow"]).await;
    let there = format!("acr/flow/foundry-harness:{version}");
    assert_eq!(setting(&mirrored, "FOUNDRY_HARNESS_IMAGE"), there);
}

/// WORK-09
#[tokio::test]
async fn the_node_pool_of_agents_is_a_value() {
    let plain = objects(&[]).await;
    assert_eq!(setting(&plain, "FOUNDRY_AGENT_NODE_SELECTOR"), Value::Null);
    assert_eq!(setting(&plain, "FOUNDRY_AGENT_TOLERATION"), Value::Null);
    let pool =
        "agentRuntime.nodeSelector.agentpool=agents1,agentRuntime.toleration.workload=agents1";
    let placed = objects(&["--set", pool]).await;
    assert_eq!(setting(&placed, "FOUNDRY_AGENT_NODE_SELECTOR"), "agentpool=agents1");
    assert_eq!(setting(&placed, "FOUNDRY_AGENT_TOLERATION"), "workload=agents1");
}

#[tokio::test]
async fn a_release_in_another_namespace_speaks_of_that_one() {
    let elsewhere = ["--namespace", "flow"];
    let refused = rendered(&elsewhere).await.unwrap_err();
    assert!(refused.contains("networkPolicy.enabled: harness pods may reach the API"), "{refused}");
    let open = ["--set", "networkPolicy.enabled=false"];
    let objects = objects(&[elsewhere, open].concat()).await;
    let text = json!(objects).to_string();
    assert!(!text.contains("\"namespace\":\"default\""));
    let deployment = one(&objects, "Deployment", "flow", "foundry-operator");
    let text = deployment.to_string();
    assert!(text.contains("http://foundry-api.flow:8080"), "{text}");
    let role = one(&objects, "RoleBinding", "foundry-agents", "foundry-operator");
    assert_eq!(role["subjects"][0]["namespace"], "flow");
}

#[tokio::test]
async fn an_umbrella_chart_may_hand_down_what_is_global() {
    rendered(&["--set", "global.region=eu"]).await.unwrap();
}

/// NET-06
#[tokio::test]
async fn the_notes_say_that_policies_act_only_with_a_network_policy_engine() {
    let chart = chart();
    let install = ["install", "foundry", chart.to_str().unwrap(), "--dry-run=client"];
    for more in [&[][..], &["--set", "networkPolicy.enabled=false"]] {
        let words = Helm::alone().run(&[&install, more].concat()).await.unwrap();
        let (_, notes) = words.split_once("NOTES:").unwrap();
        let notes = notes.split_whitespace().collect::<Vec<_>>().join(" ");
        let engine = "Network policies act only where the cluster runs a network policy engine";
        assert!(notes.contains(engine), "{notes}");
    }
}

/// A value that nobody reads, or that makes no sense, is refused with words that name it.
#[rstest]
#[case::unknown("replicas=2", "additional properties 'replicas' not allowed")]
#[case::misspelt("api.replica=2", "additional properties 'replica' not allowed")]
#[case::no_namespace("agentRuntime.namespaces=", "/agentRuntime/namespaces")]
#[case::no_name("agentRuntime.namespaces={Agents}", "/agentRuntime/namespaces/0")]
#[case::two_taints(
    "agentRuntime.toleration.a=x,agentRuntime.toleration.b=y",
    "/agentRuntime/toleration"
)]
#[case::no_rhythm("agentRuntime.evaluateSeconds=0", "/agentRuntime/evaluateSeconds")]
#[case::no_digest("api.image.digest=latest", "/api/image/digest")]
#[case::no_address("api.publicUrl=foundry.example.com", "/api/publicUrl")]
#[case::no_number("operator.replicas=two", "/operator/replicas")]
#[case::own_namespace(
    "agentRuntime.namespaces={default}",
    "agentRuntime.namespaces: default is the release's own"
)]
#[case::two_on_sqlite(
    "api.replicas=2",
    "api.replicas: more than one needs api.database.existingSecret"
)]
#[case::two_on_one_volume(
    "api.replicas=2,api.database.existingSecret=db",
    "api.replicas: more than one"
)]
#[case::no_key(
    "api.documents.account=flow",
    "api.documents: account and existingSecret go together"
)]
#[case::no_account(
    "api.documents.endpoint=http://azurite",
    "api.documents.endpoint: means nothing"
)]
#[case::no_broker(
    "api.broker.existingSecret=token",
    "api.broker: url and existingSecret go together"
)]
#[case::no_token(
    "api.intelligenceUrl=http://intelligence",
    "set api.serviceToken.existingSecret too"
)]
#[tokio::test]
async fn a_wrong_value_is_refused_by_its_name(#[case] set: &str, #[case] words: &str) {
    let refused = rendered(&["--set", set]).await.unwrap_err();
    assert!(refused.contains(words), "{refused}");
}

/// Several APIs share what they keep.
#[tokio::test]
async fn more_than_one_api_runs_on_what_they_share() {
    for shared in [
        "api.persistence.accessModes={ReadWriteMany}",
        "api.persistence.enabled=false,api.documents.account=flow,api.documents.existingSecret=key",
    ] {
        let set = format!("api.replicas=2,api.database.existingSecret=db,{shared}");
        let objects = objects(&["--set", &set]).await;
        let deployment = one(&objects, "Deployment", "default", "foundry-api");
        assert_eq!(deployment["spec"]["strategy"]["type"], "RollingUpdate", "{shared}");
    }
    let alone = objects(&[]).await;
    let deployment = one(&alone, "Deployment", "default", "foundry-api");
    assert_eq!(deployment["spec"]["strategy"]["type"], "Recreate");
}

/// No Secret is made by the chart, and no value holds one.
#[tokio::test]
async fn secrets_are_named_and_never_rendered() {
    let given = values("full");
    let objects = objects(&["-f", &given]).await;
    assert!(!objects.iter().any(|object| object["kind"] == "Secret"));
    let role = one(&objects, "Role", "red", "foundry-api");
    let rules = role["rules"].as_array().unwrap().iter();
    for rule in rules.filter(|rule| rule["resources"] == json!(["secrets"])) {
        assert_eq!(rule["verbs"], json!(["get"]));
    }
}
