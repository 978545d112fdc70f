//! Every rule of every kind: one accepted and one refused object, and the words.

use std::collections::BTreeSet;

use kube::core::cel::Validator;
use serde_json::{Value, json};

use super::cases::{Case, Change, Kind, failed_changes, failures};

mod agent;
mod coding_run;
mod harness;
mod model;
mod skill;
mod swarm;
mod tool_server;

fn cases(kind: Kind) -> Vec<Case> {
    match kind {
        Kind::Agent => agent::cases(),
        Kind::CodingRun => coding_run::cases(),
        Kind::Harness => harness::cases(),
        Kind::Model => model::cases(),
        Kind::Skill => skill::cases(),
        Kind::Swarm => swarm::cases(),
        Kind::ToolServer => tool_server::cases(),
    }
}

fn changes(kind: Kind) -> Vec<Change> {
    match kind {
        Kind::Agent => agent::changes(),
        Kind::CodingRun => coding_run::changes(),
        Kind::Harness => Vec::new(),
        Kind::Model => model::changes(),
        Kind::Skill => skill::changes(),
        Kind::Swarm => swarm::changes(),
        Kind::ToolServer => tool_server::changes(),
    }
}

async fn show(kind: Kind) {
    let namespace = testenv::namespace(testenv::control_plane().await, "rules").await;
    let mut found = failures(kind, &cases(kind), &namespace).await;
    found.extend(failed_changes(kind, &changes(kind), &namespace).await);
    assert!(found.is_empty(), "{}", found.join("\n"));
}

/// LIFE-01, LIFE-06, LIFE-22, BIND-01
#[tokio::test]
async fn a_wrong_agent_is_refused_with_the_field_and_the_rule() {
    show(Kind::Agent).await;
}

/// CODE-01, CODE-24
#[tokio::test]
async fn a_wrong_coding_run_is_refused_with_the_field_and_the_rule() {
    show(Kind::CodingRun).await;
}

#[tokio::test]
async fn a_wrong_harness_is_refused_with_the_field_and_the_rule() {
    show(Kind::Harness).await;
}

/// BIND-07
#[tokio::test]
async fn a_wrong_model_is_refused_with_the_field_and_the_rule() {
    show(Kind::Model).await;
}

/// SKILL-01, SKILL-02, SKILL-05, SKILL-06, SKILL-08
#[tokio::test]
async fn a_wrong_skill_is_refused_with_the_field_and_the_rule() {
    show(Kind::Skill).await;
}

/// SWARM-01, SWARM-02, SWARM-04
#[tokio::test]
async fn a_wrong_swarm_is_refused_with_the_field_and_the_rule() {
    show(Kind::Swarm).await;
}

/// SPEC-05
#[tokio::test]
async fn a_wrong_tool_server_is_refused_with_the_field_and_the_rule() {
    show(Kind::ToolServer).await;
}

/// The id of every kind: the operator appends to it, and a workload's name has 63.
#[tokio::test]
async fn a_name_has_40_characters_and_no_dot() {
    let namespace = testenv::namespace(testenv::control_plane().await, "rules").await;
    for kind in Kind::ALL {
        // Together with a member's name, a swarm's has 40.
        let longest = if kind == Kind::Swarm { 40 - "-search".len() } else { 40 };
        let called = |name: &str| json!({ "metadata": { "name": name } });
        let field = |field, says, bad: &str| Case {
            field,
            says,
            good: called(&"a".repeat(longest)),
            bad: called(bad),
        };
        let cases = [
            field("metadata.name", "may not be more than 40", &"a".repeat(41)),
            field("metadata.name", "must be a DNS label of at most 40 characters", "a.b"),
        ];
        assert_eq!(failures(kind, &cases, &namespace).await, [""; 0], "{kind:?}");
    }
}

#[test]
fn every_rule_in_the_definitions_has_a_refused_object() {
    let definitions = foundry_crds::generate::definitions();
    let mut missing = BTreeSet::new();
    for (kind, definition) in Kind::ALL.into_iter().zip(&definitions) {
        assert_eq!(definition["spec"]["names"]["kind"], format!("{kind:?}"));
        let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        let mut rules = Vec::new();
        collect(schema, "", &mut rules);
        let tried: Vec<(&str, &str)> = cases(kind)
            .iter()
            .map(|case| (case.field, case.says))
            .chain(changes(kind).iter().map(|change| (change.field, change.says)))
            .collect();
        for (field, message) in rules {
            let shown =
                |&(at, says): &(&str, &str)| without_indices(at) == field && message.contains(says);
            if !tried.iter().any(shown) {
                missing.insert(format!("{kind:?} {field}: {message}"));
            }
        }
    }
    assert!(missing.is_empty(), "no case for {missing:#?}");
}

/// A client that tries the rules before it writes sees what the server would say.
#[test]
fn the_rules_hold_without_a_server_too() {
    let mut wrong = Vec::new();
    for (kind, definition) in Kind::ALL.into_iter().zip(foundry_crds::generate::definitions()) {
        let schema = &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"];
        let validator = Validator::new();
        let complaints = |object: &Value| match validator.validate(schema, object, None) {
            Ok(()) => String::new(),
            Err(errors) => format!("{errors:?}"),
        };
        let mut rules = Vec::new();
        collect(schema, "", &mut rules);
        for Case { field, says, good, bad } in cases(kind) {
            if !rules.iter().any(|(_, message)| message.contains(says)) {
                continue; // a bound of the schema, not a rule
            }
            let good = complaints(&serde_json::to_value(kind.object(&good)).unwrap());
            let bad = complaints(&serde_json::to_value(kind.object(&bad)).unwrap());
            if !good.is_empty() || !bad.contains(says) {
                wrong.push(format!("{kind:?} {field} {says}\n  good: {good}\n  bad: {bad}"));
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Path and message of every rule beneath a schema.
fn collect(schema: &Value, path: &str, rules: &mut Vec<(String, String)>) {
    for rule in schema["x-kubernetes-validations"].as_array().into_iter().flatten() {
        let field = format!("{path}{}", rule["fieldPath"].as_str().unwrap_or_default());
        rules.push((
            field.trim_start_matches('.').to_owned(),
            rule["message"].as_str().unwrap().to_owned(),
        ));
    }
    for (name, property) in schema["properties"].as_object().into_iter().flatten() {
        collect(property, &format!("{path}.{name}"), rules);
    }
    for inner in ["items", "additionalProperties"] {
        if schema[inner].is_object() {
            collect(&schema[inner], path, rules);
        }
    }
}

/// `spec.tools[0]` as the schema knows it: `spec.tools`.
fn without_indices(field: &str) -> String {
    let mut kept = String::new();
    for (number, part) in field.split('[').enumerate() {
        kept += if number == 0 { part } else { part.split_once(']').unwrap().1 };
    }
    kept
}
