//! What every harness pod looks like.

use k8s_openapi::api::core::v1::ResourceRequirements;
use pretty_assertions::assert_eq;

use super::*;
use crate::config::Pair;

fn agent() -> AgentId {
    AgentId { namespace: "team".to_owned(), name: "ann".to_owned(), uid: "uid-ann".to_owned() }
}

fn settings() -> TemplateConfig {
    TemplateConfig {
        harness_image: "foundry-harness:dev".to_owned(),
        api_url: "http://foundry-api.default:8080".to_owned(),
        evaluate_seconds: None,
        heartbeat_seconds: None,
        node_selector: None,
        toleration: None,
    }
}

fn spec(harness: &HarnessSpec, settings: &TemplateConfig) -> PodSpec {
    template(&agent(), Lifetime::Persistent, harness, settings, 1).spec.unwrap()
}

fn env<'a>(pod: &'a PodSpec, name: &str) -> Option<&'a str> {
    let variables = pod.containers[0].env.as_ref().unwrap();
    let mut found = variables.iter().filter(|variable| variable.name == name);
    let value = found.next().and_then(|variable| variable.value.as_deref());
    assert!(found.next().is_none(), "{name} is there once at most");
    value
}

/// WORK-04, WORK-07, WORK-08, WORK-10: the whole template, so that any change of it
/// is seen by whoever reviews.
#[test]
fn the_template_of_a_harness_pod() {
    let template =
        template(&agent(), Lifetime::Persistent, &HarnessSpec::default(), &settings(), 7);
    insta::assert_snapshot!(serde_json::to_string_pretty(&template).unwrap());
}

/// WORK-09
#[test]
fn node_selector_and_toleration_of_the_installation_are_the_pods() {
    let pair = |key: &str, value: &str| Some(Pair { key: key.to_owned(), value: value.to_owned() });
    let settings = TemplateConfig {
        node_selector: pair("agentpool", "agents1"),
        toleration: pair("workload", "agents1"),
        ..settings()
    };
    let pod = spec(&HarnessSpec::default(), &settings);
    assert_eq!(pod.node_selector.unwrap()["agentpool"], "agents1");
    let toleration = pod.tolerations.unwrap().remove(0);
    assert_eq!(toleration.key.as_deref(), Some("workload"));
    assert_eq!(toleration.value.as_deref(), Some("agents1"));
}

/// WORK-02: a Harness' image wins over the installation's.
#[test]
fn image_command_and_resources_are_the_harness_own_when_it_names_them() {
    let harness = HarnessSpec {
        image: Some("own:1".to_owned()),
        command: Some("/own".to_owned()),
        resources: Some(ResourceRequirements::default()),
        ..HarnessSpec::default()
    };
    let container = spec(&harness, &settings()).containers.remove(0);
    assert_eq!(container.image.as_deref(), Some("own:1"));
    assert_eq!(container.command.unwrap(), ["/own"]);
    assert!(container.resources.is_some());
    let plain = spec(&HarnessSpec::default(), &settings()).containers.remove(0);
    assert_eq!(plain.image.as_deref(), Some("foundry-harness:dev"));
    assert_eq!(plain.command.unwrap(), ["/harness"]);
}

#[test]
fn a_harness_may_add_to_the_environment_and_never_change_ours() {
    let variable = |name: &str| foundry_crds::harness::EnvVar {
        name: name.to_owned(),
        value: "theirs".to_owned(),
    };
    let harness = HarnessSpec {
        env: vec![variable("FOUNDRY_API_URL"), variable("LANG")],
        ..HarnessSpec::default()
    };
    let pod = spec(&harness, &settings());
    assert_eq!(env(&pod, "FOUNDRY_API_URL"), Some("http://foundry-api.default:8080"));
    assert_eq!(env(&pod, "FOUNDRY_AGENT_ID"), Some("ann"));
    assert_eq!(env(&pod, "LANG"), Some("theirs"));
    assert_eq!(env(&pod, "FOUNDRY_EVALUATE_SECONDS"), None);
}

#[test]
fn the_installations_rhythm_reaches_the_harness() {
    let settings =
        TemplateConfig { evaluate_seconds: Some(1), heartbeat_seconds: Some(2), ..settings() };
    let pod = spec(&HarnessSpec::default(), &settings);
    assert_eq!(env(&pod, "FOUNDRY_EVALUATE_SECONDS"), Some("1"));
    assert_eq!(env(&pod, "FOUNDRY_HEARTBEAT_SECONDS"), Some("2"));
}
