use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use foundry_crds::{generate, rbac, yaml};
use pretty_assertions::assert_eq;
use serde_json::Value;

use super::*;
use crate::repository;

/// Settings of a program that no installation in a cluster has: what finds the cluster and
/// the processes of one machine.
const NOT_THE_CHARTS: [&str; 6] = [
    "KUBECONFIG",
    "FOUNDRY_LEASE_NAME",
    "FOUNDRY_LOCAL_DIR",
    "FOUNDRY_LOCAL_BIN_DIR",
    "FOUNDRY_LIFELINE",
    "FOUNDRY_PDEATHSIG",
];

/// Values without a default.
const WITHOUT_DEFAULT: [&str; 2] =
    ["agentRuntime.evaluateSeconds", "agentRuntime.heartbeatSeconds"];

fn read(name: &str) -> String {
    fs::read_to_string(repository::root().join(FOLDER).join(name)).unwrap()
}

#[test]
fn the_checked_in_files_of_the_chart_are_what_the_code_says() {
    for (name, text) in files().unwrap() {
        let found = fs::read_to_string(repository::root().join(&name)).unwrap_or_default();
        assert_eq!(found, text, "{name} is out of date: run cargo xtask generate");
    }
}

#[test]
fn helm_finds_nothing_of_its_own_in_what_the_types_say() {
    let objects = [generate::definitions(), generate::policies(), rbac::all(&["agents"])];
    for object in objects.into_iter().flatten() {
        let text = yaml::to_yaml(&object).unwrap();
        let marks = ["{{", LABELS, KEEP, PULL_SECRETS];
        let found: Vec<_> = marks.into_iter().filter(|mark| text.contains(mark)).collect();
        assert_eq!(found, [""; 0], "{}", object["metadata"]["name"]);
    }
}

#[test]
fn the_rights_move_to_the_release_and_nothing_else_does() {
    let objects = rbac::control().into_iter().chain(rbac::watched("agents"));
    for object in objects {
        let before = object.to_string();
        let after = of_the_release(object).to_string();
        assert_eq!(after.replace(RELEASE, rbac::CONTROL_NAMESPACE), before);
        assert!(!after.contains("\"namespace\":\"default\""), "{after}");
    }
}

/// Each setting of operator and API is a value of the chart, and the chart sets no other.
#[test]
fn the_chart_sets_every_setting_of_a_cluster() {
    let settings = fs::read_to_string(repository::root().join("docs/settings.md")).unwrap();
    for (program, part) in [("foundry-operator", "operator"), ("foundry-api", "api")] {
        let documented = variables_of(&settings, program);
        let templates =
            read(&format!("templates/{part}/_variables.tpl")) + &read("templates/_helpers.tpl");
        let set = words(&templates);
        let missing: Vec<_> = documented
            .iter()
            .filter(|name| !NOT_THE_CHARTS.contains(&name.as_str()) && !set.contains(*name))
            .collect();
        assert_eq!(missing, [""; 0], "{program}");
        let own = words(&read(&format!("templates/{part}/_variables.tpl")));
        let unknown: Vec<_> = own.difference(&documented).collect();
        assert_eq!(unknown, [""; 0], "{program}");
    }
}

#[test]
fn every_value_of_the_schema_has_its_default_and_its_place_among_all_values() {
    let schema: Value = serde_json::from_str(&values::schema().unwrap()).unwrap();
    let mut paths = Vec::new();
    leaves("", &schema, &mut paths);
    assert!(paths.len() > 80, "{}", paths.len());
    let text = read("values.yaml");
    let defaults: Value = yaml::from_yaml(&text).unwrap();
    let all: Value = yaml::from_yaml(&read("ci/full-values.yaml")).unwrap();
    for path in paths.iter().filter(|path| *path != "global") {
        let pointer = format!("/{}", path.replace('.', "/"));
        if WITHOUT_DEFAULT.contains(&path.as_str()) {
            let name = path.rsplit('.').next().unwrap();
            assert!(text.contains(&format!("# {name}: ")), "values.yaml does not mention {path}");
        } else {
            assert!(defaults.pointer(&pointer).is_some(), "values.yaml has no {path}");
        }
        assert!(all.pointer(&pointer).is_some(), "ci/full-values.yaml has no {path}");
    }
}

#[test]
fn every_default_is_explained_or_explains_itself_by_its_schema() {
    let schema: Value = serde_json::from_str(&values::schema().unwrap()).unwrap();
    for (name, value) in schema["properties"].as_object().unwrap() {
        let about = value["description"].as_str().unwrap_or_default();
        assert!(about.ends_with('.'), "{name}: {about:?}");
        if value["properties"].is_object() {
            assert_eq!(value["additionalProperties"], false, "{name} takes what no template reads");
        }
    }
    assert_eq!(schema["additionalProperties"], false);
}

#[test]
fn the_chart_has_the_version_of_the_workspace() {
    let manifest = fs::read_to_string(repository::root().join("Cargo.toml")).unwrap();
    let version = manifest.lines().find_map(|line| line.strip_prefix("version = ")).unwrap();
    let chart: Value = yaml::from_yaml(&read("Chart.yaml")).unwrap();
    for field in ["version", "appVersion"] {
        assert_eq!(chart[field], version.trim_matches('"'), "{field}");
    }
    assert!(Path::new(FOLDER).ends_with(chart["name"].as_str().unwrap()));
}

/// The variables in the table beneath a program's heading.
fn variables_of(settings: &str, program: &str) -> BTreeSet<String> {
    let section =
        settings.split("\n## ").find(|section| section.starts_with(&format!("{program}\n")));
    let rows = section.unwrap().lines().filter_map(|line| line.strip_prefix("| `"));
    rows.filter_map(|row| row.split_once('`')).map(|(name, _)| name.to_owned()).collect()
}

/// Our variables that a template names.
fn words(template: &str) -> BTreeSet<String> {
    template
        .split(|c: char| !c.is_ascii_uppercase() && c != '_')
        .filter(|word| word.starts_with("FOUNDRY_"))
        .map(str::to_owned)
        .collect()
}

/// Paths of what a person can set, down to the last that the schema names.
fn leaves(path: &str, schema: &Value, found: &mut Vec<String>) {
    match schema["properties"].as_object() {
        Some(properties) => {
            for (name, inner) in properties {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                leaves(&path, inner, found);
            }
        }
        None => found.push(path.to_owned()),
    }
}
