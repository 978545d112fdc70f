//! Versions of persistent agents, each kept as a ControllerRevision.

use foundry_crds::agent::Activation;
use foundry_crds::{Agent, AgentState};
use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::api::events::v1::Event;
use k8s_openapi::apimachinery::pkg::runtime::RawExtension;
use kube::ResourceExt as _;
use kube::api::{DeleteParams, ListParams, ObjectMeta, Patch, PatchParams};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use testenv::eventually;

use super::resources::touch_harness;
use super::world::{DEADLINE, World};

/// An agent without a workload, told this.
async fn told(world: &World, name: &str, instructions: &str, limit: Option<i64>) {
    world
        .agent(name, |spec| {
            spec.activation = Some(Activation::OnDemand);
            spec.instructions = Some(instructions.to_owned());
            spec.revision_history_limit = limit;
        })
        .await;
}

/// The start number is reported; a version that the edit began is stored by then.
async fn starts(world: &World, name: &str, number: i64) {
    let what = format!("agent {name} is at start number {number}");
    world.status(&what, name, |status| status.start_number == Some(number)).await;
}

/// A version as the API server answers, byte for byte.
async fn bytes(world: &World, name: &str) -> String {
    let namespace = &world.namespace.name;
    let path = format!("/apis/apps/v1/namespaces/{namespace}/controllerrevisions/{name}");
    world.client().request_text(http::Request::get(path).body(Vec::new()).unwrap()).await.unwrap()
}

async fn data(world: &World, name: &str) -> Value {
    world.api::<ControllerRevision>().get(name).await.unwrap().data.unwrap().0
}

/// SPEC-01, SPEC-03
#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the test is another writer")]
async fn an_edit_stores_a_version_and_earlier_ones_read_back_byte_for_byte() {
    let world = World::new("op-version").await;
    let operator = world.cluster_operator();
    world.harness("agent-v1").await;
    told(&world, "ann", "one", None).await;
    let odd = "a < b && c > \"d\" \u{8}\u{1f}\u{7f}\u{2028}\u{2029} \u{1f980}\r\n";
    told(&world, "odd", odd, None).await;
    starts(&world, "odd", 1).await;
    world.exactly::<ControllerRevision>(&["foundry-agent-ann-1", "foundry-agent-odd-1"]).await;
    // The API server writes the data anew when anything is patched, and must find it equal:
    // else nobody could orphan a version, and no agent would go that is deleted so.
    let api = world.api::<ControllerRevision>();
    assert_eq!(data(&world, "foundry-agent-odd-1").await["spec"]["instructions"], odd);
    for patch in [Patch::Merge, Patch::Strategic] {
        let label = patch(json!({ "metadata": { "labels": { "looked": "at" } } }));
        api.patch("foundry-agent-odd-1", &PatchParams::default(), &label).await.unwrap();
    }
    world.api::<Agent>().delete("odd", &DeleteParams::default()).await.unwrap();
    starts(&world, "ann", 1).await;
    world.exactly::<ControllerRevision>(&["foundry-agent-ann-1"]).await;
    let first = bytes(&world, "foundry-agent-ann-1").await;
    assert!(first.contains("\"instructions\":\"one\""), "{first}");

    world.edit("ann", json!({ "instructions": "two" })).await;
    starts(&world, "ann", 2).await;
    let both = ["foundry-agent-ann-1", "foundry-agent-ann-2"];
    let versions: Vec<ControllerRevision> = world.exactly(&both).await;
    assert_eq!(versions[1].revision, 2);

    // Neither another name, nor the same words, nor a restart is a version.
    world.edit("ann", json!({ "displayName": "Ann", "instructions": "two", "starts": 1 })).await;
    starts(&world, "ann", 3).await;
    world.exactly::<ControllerRevision>(&both).await;

    // What a version holds cannot be changed, by whomever.
    let other = Patch::Merge(json!({ "data": { "spec": { "instructions": "three" } } }));
    let refused = api.patch(both[0], &PatchParams::default(), &other).await.unwrap_err();
    assert!(refused.to_string().contains("immutable"), "{refused}");

    // A version is a merge patch that brings it back: as a new version of the same content.
    let before = data(&world, both[0]).await;
    world.edit("ann", before["spec"].clone()).await;
    starts(&world, "ann", 4).await;
    let three = [both[0], both[1], "foundry-agent-ann-4"];
    world.exactly::<ControllerRevision>(&three).await;
    assert_eq!(data(&world, three[2]).await, before);

    // SPEC-03: deletion of a chat agent archives it.
    world.edit("ann", json!({ "lifecycle": "archive", "desiredState": "completed" })).await;
    world
        .status("ann is archived", "ann", |status| status.state == Some(AgentState::Archived))
        .await;
    world.exactly::<ControllerRevision>(&three).await;
    assert_eq!(bytes(&world, both[0]).await, first);

    // They go with the agent itself.
    world.api::<Agent>().delete("ann", &DeleteParams::default()).await.unwrap();
    world.exactly::<ControllerRevision>(&[]).await;
    operator.stop().await;
}

/// SPEC-01
#[tokio::test]
async fn versions_beyond_the_limit_go_and_a_deleted_current_one_is_made_again() {
    let world = World::new("op-history").await;
    let operator = world.cluster_operator();
    world.harness("agent-v1").await;
    told(&world, "ben", "one", Some(1)).await;
    starts(&world, "ben", 1).await;
    for (number, instructions) in [(2, "two"), (3, "three")] {
        world.edit("ben", json!({ "instructions": instructions })).await;
        starts(&world, "ben", number).await;
    }
    let kept = ["foundry-agent-ben-2", "foundry-agent-ben-3"];
    let versions: Vec<ControllerRevision> = world.exactly(&kept).await;
    let (uid, content) = (versions[1].uid(), versions[1].data.clone());

    let api = world.api::<ControllerRevision>();
    api.delete(kept[1], &DeleteParams::default()).await.unwrap();
    eventually("the version is made again", DEADLINE, || async {
        let again = api.get(kept[1]).await?;
        anyhow::ensure!(again.uid() != uid && again.data == content, "{again:?}");
        anyhow::Ok(())
    })
    .await;

    // At rest nothing is written, however often everything is looked at.
    let writes = |world: &World| {
        let writes = world.operator_writes().into_iter();
        let of_ben = writes.filter(|(resource, name)| {
            resource == "controllerrevisions" || (resource.starts_with("agents") && name == "ben")
        });
        of_ben.count()
    };
    let before = writes(&world);
    assert!(before >= 4, "three versions and one made again: {before}");
    for round in 0..3 {
        touch_harness(&world, round).await;
    }
    assert_eq!(writes(&world), before);
    world.exactly::<ControllerRevision>(&kept).await;
    operator.stop().await;
}

/// A name that is taken is told, and holds the agent up in nothing.
#[tokio::test]
async fn a_version_takes_over_nothing_of_its_name_and_is_stored_when_that_is_gone() {
    let world = World::new("op-version-name").await;
    world.harness("agent-v1").await;
    let foreign = ControllerRevision {
        metadata: ObjectMeta {
            name: Some("foundry-agent-cid-1".to_owned()),
            ..ObjectMeta::default()
        },
        revision: 1,
        data: Some(RawExtension(json!({ "mine": true }))),
    };
    world.create(&foreign).await;
    let operator = world.cluster_operator();
    told(&world, "cid", "one", None).await;
    starts(&world, "cid", 1).await;
    let events = world.api::<Event>();
    eventually("it is told", DEADLINE, || async {
        let events = events.list(&ListParams::default()).await?.items;
        let notes: Vec<_> = events.iter().filter_map(|event| event.note.as_deref()).collect();
        let is_told = notes.iter().any(|note| note.contains("holds something else than version 1"));
        anyhow::ensure!(is_told, "{notes:?}");
        anyhow::Ok(())
    })
    .await;
    assert_eq!(data(&world, "foundry-agent-cid-1").await, json!({ "mine": true }));

    let api = world.api::<ControllerRevision>();
    api.delete("foundry-agent-cid-1", &DeleteParams::default()).await.unwrap();
    eventually("the version is stored", DEADLINE, || async {
        let version = api.get("foundry-agent-cid-1").await?;
        let content = version.data.map(|data| data.0).unwrap_or_default();
        anyhow::ensure!(content["spec"]["instructions"] == "one", "{content}");
        anyhow::Ok(())
    })
    .await;
    operator.stop().await;
}
