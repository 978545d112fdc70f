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
        harness_coding_image: "foundry-harness-coding:dev".to_owned(),
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

fn coding() -> HarnessSpec {
    HarnessSpec {
        command: Some("/harness-coding".to_owned()),
        features: vec!["repo_scope".to_owned()],
        network_role: Some(NetworkRole::Coding),
        ..HarnessSpec::default()
    }
}

/// WORK-03, WORK-10, WORK-11, WORK-12: the whole template, so that any change of it is
/// seen by whoever reviews.
#[test]
fn the_template_of_a_coding_pod() {
    let template = template(&agent(), Lifetime::Ephemeral, &coding(), &settings(), 7);
    insta::assert_snapshot!(serde_json::to_string_pretty(&template).unwrap());
}

/// WORK-03
#[test]
fn a_coding_harness_has_an_image_of_its_own() {
    assert_eq!(image(&coding(), &settings()), "foundry-harness-coding:dev");
    let own = HarnessSpec { image: Some("own:1".to_owned()), ..coding() };
    assert_eq!(image(&own, &settings()), "own:1");
}

fn limited(limits: &[(&str, &str)]) -> HarnessSpec {
    let limits = limits.iter().map(|(name, amount)| {
        let amount = k8s_openapi::apimachinery::pkg::api::resource::Quantity((*amount).to_owned());
        ((*name).to_owned(), amount)
    });
    let resources =
        ResourceRequirements { limits: Some(limits.collect()), ..ResourceRequirements::default() };
    HarnessSpec { resources: Some(resources), ..coding() }
}

/// WORK-11
#[test]
fn tools_are_kept_within_the_limits_in_force() {
    let tuned = |harness: &HarnessSpec| {
        let pod = spec(harness, &settings());
        ["GOMAXPROCS", "GOMEMLIMIT", "NODE_OPTIONS"].map(|name| env(&pod, name).map(str::to_owned))
    };
    let some = |values: [&str; 3]| values.map(|value| Some(value.to_owned()));
    let eight = some(["4", "7372MiB", "--max-old-space-size=6144"]);
    assert_eq!(tuned(&coding()), eight, "the default limits");
    let small = limited(&[("cpu", "500m"), ("memory", "1Gi")]);
    assert_eq!(tuned(&small), some(["1", "921MiB", "--max-old-space-size=768"]));
    let half = limited(&[("cpu", "2500m")]);
    assert_eq!(tuned(&half), [Some("2".to_owned()), None, None], "no limit, no bound");
    assert_eq!(tuned(&limited(&[])), [None, None, None]);
    assert_eq!(tuned(&HarnessSpec::default()), [None, None, None], "nobody else");

    let mut own = coding();
    own.env.push(foundry_crds::harness::EnvVar {
        name: "GOMAXPROCS".to_owned(),
        value: "2".to_owned(),
    });
    assert_eq!(tuned(&own)[0].as_deref(), Some("2"), "the Harness knows better");
}

/// WORK-12: a token is referred to, never copied, and its absence keeps nobody waiting.
#[test]
fn tokens_are_optional_references_that_no_harness_replaces() {
    let mut harness = coding();
    harness.env.push(foundry_crds::harness::EnvVar {
        name: "GITHUB_TOKEN".to_owned(),
        value: "planted".to_owned(),
    });
    let pod = spec(&harness, &settings());
    let variables = pod.containers[0].env.as_ref().unwrap();
    for name in ["GITHUB_TOKEN", "AZURE_DEVOPS_TOKEN"] {
        let found: Vec<_> = variables.iter().filter(|it| it.name == name).collect();
        assert_eq!(found.len(), 1, "{name}");
        assert_eq!(found[0].value, None);
        let source = found[0].value_from.as_ref().unwrap().secret_key_ref.as_ref().unwrap();
        assert_eq!((source.name.as_str(), source.key.as_str()), ("foundry-harness-git", name));
        assert_eq!(source.optional, Some(true));
    }
}
