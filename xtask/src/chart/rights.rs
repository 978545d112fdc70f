//! The rights of the chart: those of `crds`, without what only the local runtime uses, which
//! plays kubelet and makes bare Pods. What the chart installs runs harnesses in pods that the
//! cluster's own controllers make.

use foundry_crds::rbac::OPERATOR;
use serde_json::{Value, json};

/// Role, group, resource and the verbs it does without.
const UNUSED: &[(&str, &str, &str, &[&str])] = &[
    (OPERATOR, "", "pods", &["create", "patch", "delete"]),
    (OPERATOR, "", "pods/status", &["patch"]),
    (OPERATOR, "", "serviceaccounts/token", &["create"]),
];

/// A Role without the verbs that its account does without; anything else as it is.
pub fn of_the_cluster_runtime(mut object: Value) -> Value {
    if object["kind"] == "Role" {
        let account = text(&object["metadata"]["name"]).to_owned();
        let rules = object["rules"].as_array().cloned().unwrap_or_default();
        object["rules"] = rules.iter().flat_map(|rule| narrowed(&account, rule)).collect();
    }
    object
}

/// The rule as one or several: resources that keep the same verbs stay together.
fn narrowed(account: &str, rule: &Value) -> Vec<Value> {
    let group = text(&rule["apiGroups"][0]);
    let mut kept: Vec<(Vec<&Value>, Vec<&Value>)> = Vec::new();
    for resource in rule["resources"].as_array().into_iter().flatten() {
        let unused = unused(account, group, text(resource));
        let verbs = rule["verbs"].as_array().into_iter().flatten();
        let verbs: Vec<&Value> = verbs.filter(|verb| !unused.contains(&text(verb))).collect();
        match kept.iter_mut().find(|(_, same)| *same == verbs) {
            Some((resources, _)) => resources.push(resource),
            None => kept.push((vec![resource], verbs)),
        }
    }
    let kept = kept.into_iter().filter(|(_, verbs)| !verbs.is_empty());
    kept.map(|(resources, verbs)| {
        let mut part = rule.clone();
        part["resources"] = json!(resources);
        part["verbs"] = json!(verbs);
        part
    })
    .collect()
}

fn unused(account: &str, group: &str, resource: &str) -> &'static [&'static str] {
    let found = UNUSED.iter().find(|(of, in_group, named, _)| {
        *of == account && *in_group == group && *named == resource
    });
    found.map_or(&[], |(_, _, _, verbs)| verbs)
}

fn text(value: &Value) -> &str {
    value.as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use foundry_crds::rbac;
    use pretty_assertions::assert_eq;

    use super::*;

    /// `role: verb group/resource`, for every Role of a watched namespace.
    fn rights(narrow: bool) -> Vec<String> {
        let mut found = Vec::new();
        for mut object in rbac::watched("agents").into_iter().filter(|it| it["kind"] == "Role") {
            if narrow {
                object = of_the_cluster_runtime(object);
            }
            let words = |value: &Value| -> Vec<String> {
                value.as_array().unwrap().iter().map(|word| text(word).to_owned()).collect()
            };
            for rule in object["rules"].as_array().unwrap() {
                for resource in words(&rule["resources"]) {
                    for verb in words(&rule["verbs"]) {
                        let (role, group) = (&object["metadata"]["name"], &rule["apiGroups"][0]);
                        found.push(right(text(role), text(group), &resource, &verb));
                    }
                }
            }
        }
        found
    }

    fn right(role: &str, group: &str, resource: &str, verb: &str) -> String {
        format!("{role}: {verb} {group}/{resource}")
    }

    /// WORK-05
    #[test]
    fn the_chart_grants_what_the_roles_say_but_what_nobody_uses_in_a_cluster() {
        let listed: Vec<String> = UNUSED
            .iter()
            .flat_map(|(role, group, resource, verbs)| {
                verbs.iter().map(|verb| right(role, group, resource, verb))
            })
            .collect();
        let before = rights(false);
        for unused in &listed {
            assert!(before.contains(unused), "{unused} is not there to be taken out");
        }
        let left: Vec<_> = before.into_iter().filter(|right| !listed.contains(right)).collect();
        let mut after = rights(true);
        after.sort();
        let mut expected = left;
        expected.sort();
        assert_eq!(after, expected);
    }

    #[test]
    fn a_right_on_named_objects_stays_one_on_these() {
        let rule = json!({
            "apiGroups": [""], "resources": ["pods", "secrets"], "verbs": ["create", "list"],
            "resourceNames": ["one"],
        });
        assert_eq!(
            narrowed(OPERATOR, &rule),
            [
                json!({"apiGroups": [""], "resources": ["pods"], "verbs": ["list"], "resourceNames": ["one"]}),
                json!({"apiGroups": [""], "resources": ["secrets"], "verbs": ["create", "list"], "resourceNames": ["one"]}),
            ]
        );
    }
}
