//! Rules of `Harness` objects.

use serde_json::{Value, json};

use crate::it::cases::{Case, case};

fn spec(more: &Value) -> Value {
    json!({ "spec": more })
}

fn variable(name: &str) -> Value {
    spec(&json!({ "env": [{ "name": name, "value": "x" }] }))
}

pub fn cases() -> Vec<Case> {
    [programs(), chat(), lists(), environment(), amounts()].into_iter().flatten().collect()
}

fn programs() -> Vec<Case> {
    vec![
        case(
            "metadata.name",
            "must be a DNS label",
            json!({ "metadata": { "name": "agent-v1" } }),
            json!({ "metadata": { "name": "agent.v1" } }),
        ),
        case(
            "spec.image",
            "must be an image reference",
            spec(&json!({ "image": "registry.example:5000/foundry-harness@sha256:0a1b" })),
            spec(&json!({ "image": "foundry-harness --privileged" })),
        ),
        case(
            "spec.command",
            "must be the absolute path of a program",
            spec(&json!({ "command": "/opt/harness-coding" })),
            spec(&json!({ "command": "/opt/../bin/sh" })),
        ),
        case(
            "spec.networkRole",
            "supported values: \"think\", \"coding\"",
            spec(&json!({ "networkRole": "coding" })),
            spec(&json!({ "networkRole": "host" })),
        ),
    ]
}

fn chat() -> Vec<Case> {
    let of_a_pod = |field: &'static str, name: &str, value: &Value| {
        let on = |host: &str| {
            let mut object = spec(&json!({ "host": host }));
            object["spec"][name] = value.clone();
            object
        };
        case(field, "is of a pod, and host: chat has none", on("pod"), on("chat"))
    };
    vec![
        of_a_pod("spec.image", "image", &json!("foundry-harness:1")),
        of_a_pod("spec.command", "command", &json!("/harness")),
        of_a_pod("spec.resources", "resources", &json!({ "limits": { "cpu": 1 } })),
        of_a_pod("spec.env", "env", &json!([{ "name": "LANG", "value": "C.UTF-8" }])),
        of_a_pod("spec.networkRole", "networkRole", &json!("think")),
    ]
}

fn lists() -> Vec<Case> {
    let names = |field: &str, names: Value| {
        let mut object = json!({ "spec": {} });
        object["spec"][field] = names;
        object
    };
    vec![
        case(
            "spec.features[0]",
            "must be the name of a feature",
            names("features", json!(["repo_scope"])),
            names("features", json!(["Repo scope"])),
        ),
        case(
            "spec.features",
            "names a feature twice",
            names("features", json!(["repo_scope", "a"])),
            names("features", json!(["a", "a"])),
        ),
        case(
            "spec.tools[0]",
            "must be the name of a tool",
            names("tools", json!(["recall"])),
            names("tools", json!(["_recall"])),
        ),
        case(
            "spec.tools",
            "names a tool twice",
            names("tools", json!(["a", "b"])),
            names("tools", json!(["a", "a"])),
        ),
        case(
            "spec.alwaysGranted[0]",
            "must be the name of a tool",
            names("alwaysGranted", json!(["remember"])),
            names("alwaysGranted", json!(["re.member"])),
        ),
        case(
            "spec.alwaysGranted",
            "names a tool twice",
            names("alwaysGranted", json!(["a", "b"])),
            names("alwaysGranted", json!(["a", "a"])),
        ),
    ]
}

fn environment() -> Vec<Case> {
    vec![
        case(
            "spec.env[0].name",
            "must be a variable name",
            variable("FLOW_REASONING_EFFORT"),
            variable("FLOW-EFFORT"),
        ),
        case(
            "spec.env[0].name",
            "FOUNDRY_ variables are set by the operator",
            variable("MY_FOUNDRY_VARIABLE"),
            variable("FOUNDRY_API_URL"),
        ),
        case(
            "spec.env[0].name",
            "all but FOUNDRY_GITHUB_HOST and FOUNDRY_GITHUB_API_URL",
            variable("FOUNDRY_GITHUB_HOST"),
            variable("FOUNDRY_GITHUB_HOSTS"),
        ),
        case(
            "spec.env[0].name",
            "looks like a secret",
            variable("FLOW_CONTEXT_TOKENS"),
            variable("github_token"),
        ),
        case(
            "spec.env",
            "sets a variable twice",
            spec(&json!({ "env": [{ "name": "A", "value": "1" }, { "name": "B", "value": "1" }] })),
            spec(&json!({ "env": [{ "name": "A", "value": "1" }, { "name": "A", "value": "2" }] })),
        ),
    ]
}

fn amounts() -> Vec<Case> {
    let limits = |limits: Value, requests: Value| {
        spec(&json!({ "resources": { "limits": limits, "requests": requests } }))
    };
    vec![
        case(
            "spec.resources.requests",
            "asks for more than the limit allows",
            limits(
                json!({ "cpu": 1, "memory": "1Gi" }),
                json!({ "cpu": "1000m", "memory": "1Gi" }),
            ),
            limits(json!({ "cpu": 1 }), json!({ "cpu": "1001m" })),
        ),
        case(
            "spec.resources.limits[memory]",
            "must be an amount that is not negative",
            limits(json!({ "memory": "64Mi" }), json!({})),
            limits(json!({ "memory": "64 MB" }), json!({ "memory": "32Mi" })),
        ),
        case(
            "spec.resources.requests[cpu]",
            "must be an amount that is not negative",
            limits(json!({}), json!({ "cpu": 0 })),
            limits(json!({ "cpu": 1 }), json!({ "cpu": "-1" })),
        ),
    ]
}
