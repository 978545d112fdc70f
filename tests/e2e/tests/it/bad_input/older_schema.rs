//! Objects that an older schema let in and today's would refuse.

use foundry_client::AgentState;
use foundry_crds::Agent;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionSpec, JSONSchemaProps,
};
use kube::api::{DynamicObject, ListParams, PostParams};
use kube::core::ApiResource;
use kube::{Api, Client};
use pretty_assertions::assert_eq;
use rustix::process::Signal;
use serde_json::{Value, json};
use testenv::{ControlPlane, Durability, eventually};

use crate::world::{DEADLINE, World};

const AGENTS: &str = "agents.foundry.flow.life";

/// Each with what makes it unreadable.
fn odd_ones() -> [(&'static str, Value); 4] {
    let spec = json!({"owner": "ann", "harness": "agent-v1"});
    let with = |field: &str, value: Value| {
        let mut spec = spec.clone();
        spec[field] = value;
        json!({ "spec": spec })
    };
    // Admission reads the tools of an agent whose Harness is there, and lets in none that it
    // cannot read.
    let mut wrong_type = with("tools", json!("all of them"));
    wrong_type["spec"]["harness"] = json!("of-another-time");
    [
        ("wrong-word", with("desiredState", json!("dancing"))),
        ("wrong-type", wrong_type),
        ("nobodys", json!({"spec": {"harness": "agent-v1"}})),
        ("wrong-status", json!({"spec": spec, "status": {"startNumber": "many"}})),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn an_object_that_an_older_schema_let_in_is_told_so_and_holds_up_no_other() {
    let folder = tempfile::tempdir().unwrap();
    let control_plane = ControlPlane::start(folder.path(), Durability::Throwaway).await.unwrap();
    control_plane.install().await.unwrap();
    let mut world = World::start(&control_plane, "quickstart.yaml").await;
    let operator = world.stack.operator.take().unwrap();
    let api = world.stack.api.take().unwrap();
    for mut process in [operator, api] {
        process.signal(Signal::TERM);
        process.finish(DEADLINE).await.unwrap();
    }
    let objects = let_in(&control_plane.admin(), &world.namespace.name).await;

    world.stack.start_api().await.unwrap();
    world.stack.start_operator().await.unwrap();
    world.apply_agent().await;
    world.until_state("scout", AgentState::Running).await;
    let listed = world.api.list_agents(None, None, None).await.unwrap();
    assert!(listed.items.iter().any(|agent| agent.id == "scout"), "{listed:?}");

    for name in ["wrong-word", "nobodys", "wrong-status"] {
        until_told(&objects, name).await;
    }
    // No schema of ours ever gave a field another type (the CRDs' own tests see to that),
    // so this one came past every schema. The API server checks no rule of a list that is
    // none, and so writes no status.
    until_told_by_an_event(&world, "wrong-type").await;
    // Nothing runs for what nobody can read.
    assert_eq!(world.pids().len(), 1);
    // What is corrected is an agent like any other.
    correct(&objects, "wrong-word").await;
    world.until_state("wrong-word", AgentState::Running).await;
    world.end().await;
    control_plane.stop().await.unwrap();
}

/// Creates the odd ones under a schema without rules, then puts ours back.
async fn let_in(client: &Client, namespace: &str) -> Api<DynamicObject> {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let strict = definitions.get(AGENTS).await.unwrap().spec;
    let mut loose = strict.clone();
    for version in &mut loose.versions {
        let anything = JSONSchemaProps {
            type_: Some("object".to_owned()),
            x_kubernetes_preserve_unknown_fields: Some(true),
            ..JSONSchemaProps::default()
        };
        version.schema.as_mut().unwrap().open_api_v3_schema = Some(anything);
        // A status is then written with the rest.
        version.subresources = None;
    }
    define(&definitions, &loose).await;

    let kind = ApiResource::erase::<Agent>(&());
    let objects: Api<DynamicObject> = Api::namespaced_with(client.clone(), namespace, &kind);
    for (name, data) in odd_ones() {
        let mut object = DynamicObject::new(name, &kind);
        object.data = data;
        // The server takes a new schema up a moment after it is stored.
        eventually(&format!("{name} is let in"), DEADLINE, || async {
            objects.create(&PostParams::default(), &object).await.map(drop)
        })
        .await;
    }

    define(&definitions, &strict).await;
    eventually("today's schema counts again", DEADLINE, || async {
        let mut object = DynamicObject::new("refused", &kind);
        object.data = odd_ones()[0].1.clone();
        let dry = PostParams { dry_run: true, ..PostParams::default() };
        match objects.create(&dry, &object).await {
            Ok(_) => Err("it is let in".to_owned()),
            Err(kube::Error::Api(refused)) if refused.is_invalid() => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    })
    .await;
    objects
}

async fn define(definitions: &Api<CustomResourceDefinition>, spec: &CustomResourceDefinitionSpec) {
    eventually("the schema is stored", DEADLINE, || async {
        let mut definition = definitions.get(AGENTS).await?;
        definition.spec = spec.clone();
        definitions.replace(AGENTS, &PostParams::default(), &definition).await.map(drop)
    })
    .await;
}

/// Waits until the object's own conditions say that it cannot be read, and why.
async fn until_told(objects: &Api<DynamicObject>, name: &str) {
    eventually(&format!("{name} is told"), DEADLINE, || async {
        let object = objects.get(name).await.map_err(|error| error.to_string())?;
        let conditions = object.data["status"]["conditions"].as_array().cloned();
        let stalled = conditions.into_iter().flatten().find(|it| it["type"] == "Stalled");
        let stalled = stalled.ok_or_else(|| object.data["status"].to_string())?;
        let words = stalled["message"].as_str().unwrap_or_default();
        if stalled["reason"] == "Invalid" && words.contains("correct it or upgrade") {
            Ok(())
        } else {
            Err(stalled.to_string())
        }
    })
    .await;
}

/// Waits until an event about the object says that it cannot be read, and why.
async fn until_told_by_an_event(world: &World, name: &str) {
    eventually(&format!("an event tells of {name}"), DEADLINE, || async {
        let events = world.objects::<Event>().list(&ListParams::default()).await;
        let events = events.map_err(|error| error.to_string())?.items;
        let about = events.iter().filter(|it| {
            it.regarding.as_ref().is_some_and(|about| about.name.as_deref() == Some(name))
        });
        let notes: Vec<_> = about.map(|it| (it.reason.clone(), it.note.clone())).collect();
        let told = notes.iter().any(|(reason, note)| {
            let words = note.as_deref().unwrap_or_default();
            reason.as_deref() == Some("Invalid") && words.contains("correct it or upgrade")
        });
        if told { Ok(()) } else { Err(format!("{notes:?}")) }
    })
    .await;
}

async fn correct(objects: &Api<DynamicObject>, name: &str) {
    eventually(&format!("{name} is corrected"), DEADLINE, || async {
        let mut object = objects.get(name).await?;
        object.data["spec"]["desiredState"] = json!("running");
        objects.replace(name, &PostParams::default(), &object).await.map(drop)
    })
    .await;
}
