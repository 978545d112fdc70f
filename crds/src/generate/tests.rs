use std::path::Path;

use pretty_assertions::assert_eq;
use serde_json::Value;

use super::{definitions, files, policies};
use crate::{rbac, yaml};

#[test]
fn the_checked_in_files_are_what_the_code_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
    for (name, text) in files() {
        let found = std::fs::read_to_string(root.join(name)).unwrap_or_default();
        assert_eq!(found, text, "{name} is out of date: run cargo xtask generate");
    }
}

/// An object that an older release let in keeps the shape this one reads, so that its
/// status can still be written: the API server writes none over a field of another type.
/// So the record of types grows, and no line of it ever changes.
#[test]
fn no_field_ever_changes_its_type() {
    const RECORD: &str = "src/generate/types.txt";
    let mut types = Vec::new();
    every_node(|path, node| {
        let kind = node["type"].as_str().unwrap_or("int-or-string");
        types.push(format!("{path} {kind}"));
    });
    types.sort();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(RECORD);
    let record = std::fs::read_to_string(path).unwrap_or_default();
    for line in record.lines() {
        assert!(
            types.iter().any(|field| field == line),
            "{line}: a field that was served stays and keeps its type; add another one beside it"
        );
    }
    let new: Vec<&str> = types
        .iter()
        .map(String::as_str)
        .filter(|field| record.lines().all(|line| line != *field))
        .collect();
    assert!(new.is_empty(), "new fields: add these lines to crds/{RECORD}\n{}", new.join("\n"));
}

#[test]
fn a_definition_is_small_enough_for_an_annotation() {
    for definition in definitions() {
        let size = yaml::to_yaml(&definition).unwrap().len();
        assert!(size < 256 * 1024, "{} has {size} bytes", definition["metadata"]["name"]);
    }
}

#[test]
fn every_field_is_explained() {
    every_node(|path, node| {
        let text = node["description"].as_str().unwrap_or_default();
        assert!(text.ends_with('.'), "{path}: {text:?}");
        // A person at a terminal has no list of requirements at hand.
        let names_a_requirement =
            text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-').any(|word| {
                word.split_once('-').is_some_and(|(area, number)| {
                    area.len() > 1
                        && area.chars().all(|c| c.is_ascii_uppercase())
                        && number.len() == 2
                        && number.chars().all(|c| c.is_ascii_digit())
                })
            });
        assert!(!names_a_requirement, "{path}: {text:?}");
    });
}

#[test]
fn every_text_list_and_map_is_bounded() {
    every_node(|path, node| {
        let bounded = match node["type"].as_str() {
            Some("string") => node["maxLength"].is_u64() || node["enum"].is_array(),
            Some("array") => node["maxItems"].is_u64(),
            Some("object") if node["properties"].is_null() => node["maxProperties"].is_u64(),
            None => node["maxLength"].is_u64(),
            Some(_) => true,
        };
        assert!(bounded, "{path}: {node}");
    });
}

#[test]
fn no_field_may_be_null() {
    every_node(|path, node| assert!(node["nullable"].is_null(), "{path}"));
}

#[test]
fn conditions_merge_by_type_and_a_new_status_is_unseen() {
    for definition in definitions() {
        let status = &schema(&definition)["properties"]["status"];
        assert_eq!(status["default"], serde_json::json!({ "observedGeneration": -1 }));
        let conditions = &status["properties"]["conditions"];
        assert_eq!(conditions["x-kubernetes-list-type"], "map");
        assert_eq!(conditions["x-kubernetes-list-map-keys"][0], "type");
    }
}

/// Half of one scope and half of another would be nobody's.
#[test]
fn a_repository_is_replaced_as_a_whole() {
    for definition in definitions() {
        let repository = &schema(&definition)["properties"]["spec"]["properties"]["repository"];
        if !repository.is_null() {
            assert_eq!(repository["x-kubernetes-map-type"], "atomic");
            assert!(repository["properties"]["remote"].is_object());
        }
    }
}

#[test]
fn what_runtime_verbs_write_has_no_default() {
    let agent = definitions().remove(0);
    let spec = &schema(&agent)["properties"]["spec"]["properties"];
    for field in ["lifecycle", "desiredState", "starts", "ttlAt"] {
        assert!(spec[field]["default"].is_null(), "{field}");
    }
}

#[test]
fn every_policy_denies_and_fails_closed() {
    for object in policies() {
        match object["kind"].as_str().unwrap() {
            "ValidatingAdmissionPolicy" => assert_eq!(object["spec"]["failurePolicy"], "Fail"),
            kind => {
                assert_eq!(kind, "ValidatingAdmissionPolicyBinding");
                assert_eq!(object["spec"]["validationActions"][0], "Deny");
            }
        }
    }
}

#[test]
fn no_role_grants_everything_or_lists_secrets() {
    for object in rbac::all(&["foundry-agents"]) {
        for rule in object["rules"].as_array().into_iter().flatten() {
            assert!(!rule.to_string().contains('*'), "{rule}");
            let has = |field: &str, word: &str| {
                rule[field].as_array().unwrap().iter().any(|found| found == word)
            };
            assert!(!has("resources", "secrets") || rule["verbs"].as_array().unwrap().len() == 1);
        }
    }
}

/// WORK-05
#[test]
fn each_watched_namespace_has_roles_of_its_own() {
    let objects = rbac::all(&["one", "two"]);
    let of = |kind: &str, namespace: &str| -> Vec<String> {
        objects
            .iter()
            .filter(|object| object["kind"] == kind && object["metadata"]["namespace"] == namespace)
            .map(|object| object["metadata"]["name"].as_str().unwrap().to_owned())
            .collect()
    };
    for namespace in ["one", "two"] {
        assert_eq!(of("Role", namespace), ["foundry-operator", "foundry-api"]);
        assert_eq!(of("RoleBinding", namespace), ["foundry-operator", "foundry-api"]);
        assert_eq!(of("ServiceAccount", namespace), ["foundry-harness"]);
    }
    assert_eq!(of("ServiceAccount", "default"), ["foundry-operator", "foundry-api"]);
}

fn schema(definition: &Value) -> &Value {
    &definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
}

/// Every node beneath spec and status, with its path.
fn every_node(mut check: impl FnMut(&str, &Value)) {
    for definition in definitions() {
        let kind = definition["spec"]["names"]["kind"].as_str().unwrap();
        for part in ["spec", "status"] {
            let node = &schema(&definition)["properties"][part];
            walk(&format!("{kind}.{part}"), node, &mut check);
        }
    }
}

fn walk(path: &str, node: &Value, check: &mut impl FnMut(&str, &Value)) {
    check(path, node);
    for (name, property) in node["properties"].as_object().into_iter().flatten() {
        walk(&format!("{path}.{name}"), property, check);
    }
    for inner in ["items", "additionalProperties"] {
        if node[inner].is_object() {
            walk(&format!("{path}[]"), &node[inner], check);
        }
    }
}
