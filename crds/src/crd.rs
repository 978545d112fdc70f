//! The `CustomResourceDefinitions`, as they are installed.
//!
//! The derive gives types, bounds and rules. What it cannot say is added here, the
//! same for every kind.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt as _;
use serde_json::{Value, json};

use crate::names::MAX_AGENT_NAME;
use crate::{Agent, CodingRun, Harness, Model, Skill, Swarm, ToolServer, form};

/// Every definition, in the order of the alphabet.
pub fn all() -> Vec<Value> {
    let definitions = [
        Agent::crd(),
        CodingRun::crd(),
        Harness::crd(),
        Model::crd(),
        Skill::crd(),
        Swarm::crd(),
        ToolServer::crd(),
    ];
    definitions.iter().map(finished).collect()
}

fn finished(definition: &CustomResourceDefinition) -> Value {
    let mut definition = json!(definition);
    for version in definition["spec"]["versions"].as_array_mut().into_iter().flatten() {
        let schema = &mut version["schema"]["openAPIV3Schema"];
        never_nullable(schema);
        whole_numbers(schema);
        flowing_text(schema);
        bounded_name(schema);
        unseen_status(schema);
    }
    definition
}

/// Without `nullable`, the API server drops a null before it applies defaults and
/// rules, so that `has(self.x)` means what it says.
fn never_nullable(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            fields.remove("nullable");
            fields.values_mut().for_each(never_nullable);
        }
        Value::Array(items) => items.iter_mut().for_each(never_nullable),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The typed schema holds bounds as floats; `10.0` would stand in the YAML.
fn whole_numbers(schema: &mut Value) {
    match schema {
        Value::Object(fields) => fields.values_mut().for_each(whole_numbers),
        Value::Array(items) => items.iter_mut().for_each(whole_numbers),
        Value::Number(number) => {
            let whole = number.as_f64().and_then(|float| float.to_string().parse::<i64>().ok());
            if let Some(whole) = whole {
                *number = whole.into();
            }
        }
        Value::Null | Value::Bool(_) | Value::String(_) => {}
    }
}

/// Doc comments are wrapped for the source; `kubectl explain` wraps for the terminal.
fn flowing_text(schema: &mut Value) {
    match schema {
        Value::Object(fields) => {
            if let Some(Value::String(text)) = fields.get_mut("description") {
                *text = text.replace("\n\n", "\0").replace('\n', " ").replace('\0', "\n\n");
            }
            fields.values_mut().for_each(flowing_text);
        }
        Value::Array(items) => items.iter_mut().for_each(flowing_text),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// The id in every REST route and workload name is `metadata.name`.
fn bounded_name(schema: &mut Value) {
    schema["properties"]["metadata"] = json!({
        "type": "object",
        "properties": {
            "name": {
                "description": "A DNS label of at most 40 characters: the id in REST routes and workload names.",
                "type": "string",
                "maxLength": MAX_AGENT_NAME,
            },
        },
    });
    match &mut schema["x-kubernetes-validations"] {
        Value::Array(rules) => rules.insert(0, form::name_rule()),
        none => *none = json!([form::name_rule()]),
    }
}

/// kstatus, and with it Flux, calls an object Current that carries no
/// `observedGeneration`; -1 says that nobody has looked yet.
fn unseen_status(schema: &mut Value) {
    schema["properties"]["status"]["default"] = json!({ "observedGeneration": -1 });
}
