//! What the chart renders, without any cluster.

use foundry_crds::yaml;
use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::{Value, json};

use super::place::{Helm, chart, name_of};

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
    let service = values("service");
    for more in [&[][..], &["--set", "networkPolicy.enabled=false"], &["-f", &service]] {
        let notes = notes(more).await;
        let engine = "Network policies act only where the cluster runs a network policy engine";
        assert!(notes.contains(engine), "{notes}");
    }
}

#[tokio::test]
async fn the_notes_say_what_goes_with_the_pod_of_an_api_without_a_volume() {
    let lost = |what: &str| format!("{what} are gone whenever the API's pod is");
    let words = notes(&["--set", "api.persistence.enabled=false"]).await;
    assert!(words.contains(&lost("false: what agents remember and documents")), "{words}");
    let stored = "api.persistence.enabled=false,api.database.existingSecret=db";
    let words = notes(&["--set", stored]).await;
    assert!(words.contains(&lost("false: documents")), "{words}");
    assert!(!notes(&[]).await.contains(&lost("")));
}

/// The examples of models name a namespace, and kubectl applies none of another.
#[tokio::test]
async fn the_notes_apply_a_model_where_agents_are() {
    let there = notes(&["--set", "agentRuntime.namespaces={red}"]).await;
    let command = "sed '/^ namespace: /d' examples/models/openai.yaml | kubectl -n red apply -f -";
    assert!(there.contains(command), "{there}");
    let path = testenv::workspace_root().join("examples/models/openai.yaml");
    let example = std::fs::read_to_string(path).unwrap();
    assert!(example.lines().any(|line| line.starts_with("  namespace: ")), "{example}");
}

/// What Helm prints after an installation, in one line.
async fn notes(more: &[&str]) -> String {
    let chart = chart();
    let install = ["install", "foundry", chart.to_str().unwrap(), "--dry-run=client"];
    let words = Helm::alone().run(&[&install, more].concat()).await.unwrap();
    let (_, notes) = words.split_once("NOTES:").unwrap();
    notes.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Kubernetes takes digits for a name, YAML for a number.
#[tokio::test]
async fn a_name_of_digits_stays_a_name() {
    let chart = chart();
    let service = values("service");
    let template = ["template", "123", chart.to_str().unwrap(), "--namespace", "456"];
    let words = Helm::alone().run(&[&template[..], &["-f", &service]].concat()).await;
    // A Service's name begins with a letter.
    assert!(words.unwrap_err().contains("the release's name 123"));
    let names = "image.pullSecrets={1},api.priorityClassName=2,operator.priorityClassName=3,\
                 api.persistence.storageClass=4,api.serviceToken.existingSecret=5,\
                 api.serviceToken.key=6,api.database.existingSecret=7,api.database.key=8,\
                 agentRuntime.namespaces={9}";
    for claim in ["", "10"] {
        let claim = format!("api.persistence.existingClaim={claim}");
        let more = ["--set", "networkPolicy.enabled=false", "--set-string", names, "--set-string"];
        let words = Helm::alone().run(&[&template[..], &more, &[&claim]].concat()).await.unwrap();
        let mut numbers = Vec::new();
        let objects = yaml::documents(&words).unwrap();
        for object in objects.iter().filter(|it| it["kind"] != "CustomResourceDefinition") {
            collect_numbers(&name_of(object), object, &mut numbers);
        }
        assert_eq!(numbers, [""; 0]);
    }
}

/// Paths of what Kubernetes takes for text and YAML for something else.
fn collect_numbers(path: &str, value: &Value, found: &mut Vec<String>) {
    const TEXTS: [&str; 10] = [
        "name",
        "namespace",
        "value",
        "key",
        "path",
        "image",
        "secretName",
        "claimName",
        "storageClassName",
        "priorityClassName",
    ];
    const MAPS: [&str; 4] = ["labels", "matchLabels", "annotations", "nodeSelector"];
    match value {
        Value::Object(fields) => {
            for (name, field) in fields {
                let is_text = TEXTS.contains(&name.as_str())
                    || MAPS.iter().any(|map| path.ends_with(&format!(".{map}")));
                if is_text && (field.is_number() || field.is_boolean()) {
                    found.push(format!("{path}.{name}"));
                }
                collect_numbers(&format!("{path}.{name}"), field, found);
            }
        }
        Value::Array(items) => items.iter().for_each(|item| collect_numbers(path, item, found)),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
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
#[case::no_label("agentRuntime.nodeSelector.agentpool=", "/agentRuntime/nodeSelector/agentpool")]
#[case::no_taint("agentRuntime.toleration.workload=a b", "/agentRuntime/toleration/workload")]
#[case::same_secret_twice("image.pullSecrets={a,a}", "/image/pullSecrets")]
#[case::no_size("api.persistence.size=10K", "/api/persistence/size")]
#[case::no_server("networkPolicy.dnsAddresses={10.0.0.256}", "/networkPolicy/dnsAddresses/0")]
#[case::no_range("networkPolicy.codingExcept={100.64.0.0/33}", "/networkPolicy/codingExcept/0")]
#[case::password("api.broker.url=https://me:secret@broker", "/api/broker/url")]
#[case::two_addresses("api.publicUrl=https://a https://b", "/api/publicUrl")]
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
#[case::closed_port(
    "api.serviceToken.existingSecret=token,api.intelligenceUrl=http://intelligence:8080",
    "api.intelligenceUrl: the API's network policy closes port 8080"
)]
#[case::closed_issuer(
    "api.oidc.issuer=http://dex.dex",
    "api.oidc.issuer: the API's network policy closes port 80"
)]
#[case::set_twice(
    "api.extraEnv[0].name=FOUNDRY_LOG",
    "api.extraEnv: FOUNDRY_LOG has a value of the chart already"
)]
#[case::runtime(
    "operator.extraEnv[0].name=FOUNDRY_RUNTIME",
    "operator.extraEnv: FOUNDRY_RUNTIME has a value of the chart already"
)]
#[case::own_label("api.podLabels.app=other", "api.podLabels: app is the chart's own")]
#[case::no_token(
    "api.intelligenceUrl=http://intelligence",
    "set api.serviceToken.existingSecret too"
)]
#[tokio::test]
async fn a_wrong_value_is_refused_by_its_name(#[case] set: &str, #[case] words: &str) {
    let refused = rendered(&["--set", set]).await.unwrap_err();
    assert!(refused.contains(words), "{refused}");
}

/// A rule without ports opens all of them, a chart without namespaces has nowhere to run.
#[rstest]
#[case::every_port("networkPolicy.outPorts=[]", "/networkPolicy/outPorts': minItems")]
#[case::nowhere("agentRuntime.namespaces=[]", "/agentRuntime/namespaces': minItems")]
#[tokio::test]
async fn an_empty_list_is_refused_where_it_would_mean_something_else(
    #[case] set: &str,
    #[case] words: &str,
) {
    let refused = rendered(&["--set-json", set]).await.unwrap_err();
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

/// An address whose port is open, or may be by a rule of one's own, is taken.
#[rstest]
#[case::usual("api.oidc.issuer=https://login.example.com/realms/a:80")]
#[case::listed("api.oidc.issuer=http://dex.dex:5556,networkPolicy.outPorts={443,5556}")]
#[case::ruled("api.oidc.issuer=http://dex.dex:5556,networkPolicy.apiEgress[0].ports[0].port=5556")]
#[case::no_policy("api.oidc.issuer=http://dex.dex:5556,networkPolicy.enabled=false")]
#[tokio::test]
async fn an_address_that_the_policy_may_open_is_taken(#[case] set: &str) {
    let objects = objects(&["--set", set]).await;
    let text = one(&objects, "Deployment", "default", "foundry-api").to_string();
    assert!(text.contains("FOUNDRY_OIDC_ISSUER"), "{text}");
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
