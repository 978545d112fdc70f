//! Objects that the API server accepts or refuses, and what it says.

use kube::api::{ApiResource, DynamicObject, PostParams};
use kube::{Api, Client, Error, ResourceExt as _};
use serde_json::{Value, json};
use testenv::TestNamespace;

use foundry_crds::meta::{GROUP, VERSION};

/// A kind with the smallest object of it that is accepted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Agent,
    CodingRun,
    Harness,
    Model,
    Skill,
    Swarm,
    ToolServer,
}

/// A mistake in a new object: with `good` merged into the smallest object it is
/// accepted, with `bad` it is refused at `field` with a message that holds `says`.
pub struct Case {
    pub field: &'static str,
    pub says: &'static str,
    pub good: Value,
    pub bad: Value,
}

/// A mistake in an edit: `before` exists, `good` and `bad` are merged into it.
pub struct Change {
    pub field: &'static str,
    pub says: &'static str,
    pub before: Value,
    pub good: Value,
    pub bad: Value,
}

pub fn case(field: &'static str, says: &'static str, good: Value, bad: Value) -> Case {
    Case { field, says, good, bad }
}

pub fn change(
    field: &'static str,
    says: &'static str,
    before: Value,
    good: Value,
    bad: Value,
) -> Change {
    Change { field, says, before, good, bad }
}

impl Kind {
    /// Every kind, in the order of the definitions.
    pub const ALL: [Self; 7] = [
        Self::Agent,
        Self::CodingRun,
        Self::Harness,
        Self::Model,
        Self::Skill,
        Self::Swarm,
        Self::ToolServer,
    ];

    pub fn resource(self) -> ApiResource {
        let plural = match self {
            Self::Agent => "agents",
            Self::CodingRun => "codingruns",
            Self::Harness => "harnesses",
            Self::Model => "models",
            Self::Skill => "skills",
            Self::Swarm => "swarms",
            Self::ToolServer => "toolservers",
        };
        ApiResource {
            group: GROUP.into(),
            version: VERSION.into(),
            api_version: format!("{GROUP}/{VERSION}"),
            kind: format!("{self:?}"),
            plural: plural.into(),
        }
    }

    pub fn api(self, client: Client, namespace: &str) -> Api<DynamicObject> {
        Api::namespaced_with(client, namespace, &self.resource())
    }

    /// The smallest object, with `more` merged into it.
    pub fn object(self, more: &Value) -> DynamicObject {
        let spec = match self {
            Self::Agent => json!({ "owner": "ann", "harness": "agent-v1" }),
            Self::CodingRun => json!({
                "owner": "ann",
                "task": "Fix the build.",
                "repository": { "remote": "git@git.example:team/app.git" },
            }),
            Self::Harness => json!({}),
            Self::Model => json!({
                "wireId": "gpt-5-mini",
                "provider": "openai",
                "apiKey": { "name": "openai", "key": "apiKey" },
            }),
            Self::Skill => json!({
                "description": "How we review a change.",
                "createdBy": "ann",
                "instructions": "Read all of it.",
            }),
            Self::Swarm => json!({
                "owner": "ann",
                "parent": "lead",
                "goal": "One review of the change.",
                "members": [
                    { "name": "search", "harness": "agent-v1", "instructions": "Search." },
                ],
            }),
            Self::ToolServer => json!({ "url": "http://library.example/mcp" }),
        };
        let mut object = json!({
            "apiVersion": format!("{GROUP}/{VERSION}"),
            "kind": format!("{self:?}"),
            "metadata": { "name": "scout" },
            "spec": spec,
        });
        merge(&mut object, more);
        serde_json::from_value(object).unwrap()
    }
}

/// Merges as a JSON merge patch does: null takes a field away.
pub fn merge(into: &mut Value, more: &Value) {
    let Value::Object(more) = more else {
        more.clone_into(into);
        return;
    };
    if !into.is_object() {
        *into = json!({});
    }
    for (key, value) in more {
        if value.is_null() {
            into.as_object_mut().unwrap().remove(key);
        } else {
            merge(&mut into[key], value);
        }
    }
}

/// Tries every case; answers with what went otherwise than it says.
pub async fn failures(kind: Kind, cases: &[Case], namespace: &TestNamespace) -> Vec<String> {
    let api = kind.api(namespace.client.clone(), &namespace.name);
    let mut failures = Vec::new();
    for Case { field, says, good, bad } in cases {
        if let Err(error) = api.create(&dry_run(), &kind.object(good)).await {
            failures.push(format!("{field}: refused {good}: {error}"));
        }
        let answer = api.create(&dry_run(), &kind.object(bad)).await;
        failures.extend(unlike(answer, field, says).map(|what| format!("{bad}: {what}")));
    }
    failures
}

/// Tries every change; answers with what went otherwise than it says.
pub async fn failed_changes(
    kind: Kind,
    changes: &[Change],
    namespace: &TestNamespace,
) -> Vec<String> {
    let api = kind.api(namespace.client.clone(), &namespace.name);
    let mut failures = Vec::new();
    for (number, Change { field, says, before, good, bad }) in changes.iter().enumerate() {
        let mut object = kind.object(before);
        if before["metadata"]["name"].is_null() {
            object.metadata.name = Some(format!("edited-{number}"));
        }
        let object = api.create(&PostParams::default(), &object).await.unwrap();
        let name = object.name_any();
        if let Err(error) = api.replace(&name, &dry_run(), &edited(&object, good)).await {
            failures.push(format!("{field}: refused {good}: {error}"));
        }
        let answer = api.replace(&name, &dry_run(), &edited(&object, bad)).await;
        failures.extend(unlike(answer, field, says).map(|what| format!("{bad}: {what}")));
    }
    failures
}

pub fn edited(object: &DynamicObject, more: &Value) -> DynamicObject {
    let mut object = serde_json::to_value(object).unwrap();
    merge(&mut object, more);
    serde_json::from_value(object).unwrap()
}

pub fn dry_run() -> PostParams {
    PostParams { dry_run: true, ..PostParams::default() }
}

/// What an answer lacks of being refused at `field`, for one reason, in these words.
fn unlike(answer: kube::Result<DynamicObject>, field: &str, says: &str) -> Option<String> {
    let status = match answer {
        Ok(_) => return Some(format!("accepted, not refused at {field}")),
        Err(Error::Api(status)) => status,
        Err(error) => return Some(format!("no answer: {error}")),
    };
    let causes = status.details.as_ref().map(|details| &*details.causes).unwrap_or_default();
    // A schema error keeps the server from trying rules, and it adds a cause to say so.
    let causes: Vec<_> = causes.iter().filter(|cause| cause.field != "<nil>").collect();
    match &*causes {
        [cause] if cause.field == field && cause.message.contains(says) => None,
        _ => Some(format!("wanted only {field}: {says}\n     got {}", status.message)),
    }
}
