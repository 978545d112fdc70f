//! Who owns which field of an object, from its `managedFields`.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

/// The fields of the object itself, not of its status, by who owns them.
pub fn owned(object: &Value) -> BTreeMap<String, BTreeSet<String>> {
    let mut owned: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for entry in object["metadata"]["managedFields"].as_array().into_iter().flatten() {
        if entry["subresource"].is_string() {
            continue;
        }
        let manager = entry["manager"].as_str().unwrap_or_default();
        let fields = owned.entry(manager.to_owned()).or_default();
        leaves(&entry["fieldsV1"], "", fields);
    }
    owned
}

/// The fields that a manager of ours owns together with this one.
pub fn shared_with_us(object: &Value, manager: &str) -> Vec<String> {
    let owned = owned(object);
    let theirs = owned.get(manager).cloned().unwrap_or_default();
    assert!(!theirs.is_empty(), "{manager} owns nothing of {}", object["metadata"]["name"]);
    let ours = owned.iter().filter(|(manager, _)| manager.starts_with("foundry-"));
    ours.flat_map(|(ours, fields)| {
        fields.intersection(&theirs).map(move |field| format!("{field} by {ours}"))
    })
    .collect()
}

/// Whether an object is as Git says, whatever else it says beside.
pub fn holds(git: &Value, live: &Value) -> bool {
    match (git, live) {
        (Value::Object(git), Value::Object(live)) => {
            git.iter().all(|(key, value)| live.get(key).is_some_and(|now| holds(value, now)))
        }
        (Value::Array(git), Value::Array(live)) => {
            git.len() == live.len() && git.iter().zip(live).all(|(git, live)| holds(git, live))
        }
        (git, live) => git == live,
    }
}

fn leaves(fields: &Value, path: &str, found: &mut BTreeSet<String>) {
    let children: Vec<_> = fields.as_object().into_iter().flatten().collect();
    if children.iter().all(|(name, _)| *name == ".") {
        found.insert(path.to_owned());
        return;
    }
    for (name, child) in children {
        if name != "." {
            leaves(child, &format!("{path}.{}", name.trim_start_matches("f:")), found);
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn an_object_holds_what_git_says_beside_what_others_say() {
        let live = json!({"spec": {"owner": "ann", "starts": 2, "tools": [{"name": "a", "b": 1}]}});
        assert!(holds(&json!({"spec": {"owner": "ann", "tools": [{"name": "a"}]}}), &live));
        assert!(!holds(&json!({"spec": {"owner": "ben"}}), &live));
        assert!(!holds(&json!({"spec": {"tools": []}}), &live));
    }

    #[test]
    fn a_field_is_shared_when_both_own_its_leaf_and_status_counts_for_nothing() {
        let object = json!({"metadata": {"name": "a", "managedFields": [
            {"manager": "git", "fieldsV1": {"f:spec": {".": {}, "f:owner": {}, "f:model": {}}}},
            {"manager": "foundry-api/verbs", "fieldsV1": {"f:spec": {"f:starts": {}, "f:model": {}}}},
            {"manager": "foundry-operator/status", "subresource": "status",
                "fieldsV1": {"f:spec": {"f:owner": {}}}},
        ]}});
        assert_eq!(shared_with_us(&object, "git"), [".spec.model by foundry-api/verbs"]);
    }
}
