//! Harness, Model, slugs and writes at rest.

use std::collections::BTreeMap;

use foundry_crds::agent::Activation;
use foundry_crds::model::{Provider, SecretKeyRef};
use foundry_crds::{Agent, AgentState, Model, ModelSpec};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::events::v1::Event;
use kube::api::{DynamicObject, ListParams, ObjectMeta, PostParams};
use kube::discovery::ApiResource;
use kube::{Api, ResourceExt as _};
use pretty_assertions::assert_eq;
use serde_json::json;
use testenv::eventually;

use super::world::{DEADLINE, World, reason};

async fn model_says(world: &World, wanted: &str) -> String {
    let models = world.api::<Model>();
    eventually(&format!("the Model says {wanted}"), DEADLINE, || async {
        let status = models.get("mini").await?.status;
        let conditions = status.map(|status| status.conditions).unwrap_or_default();
        let ready = conditions.into_iter().find(|condition| condition.type_ == "Ready");
        let Some(ready) = ready else { anyhow::bail!("no condition") };
        anyhow::ensure!(ready.reason == wanted, "{}: {}", ready.reason, ready.message);
        Ok(ready.message)
    })
    .await
}

/// BIND-07: a Model is ready when its key is there; a missing one heals untouched.
#[tokio::test]
async fn a_model_waits_for_its_secret_and_then_for_its_key() {
    let world = World::new("op-model").await;
    let operator = world.cluster_operator();
    let spec = ModelSpec {
        wire_id: "gpt-5-mini".to_owned(),
        provider: Provider::OpenAi,
        upstream_model: None,
        base_url: None,
        api_key: Some(SecretKeyRef { name: "openai".to_owned(), key: "apiKey".to_owned() }),
        max_context_tokens: None,
        reasoning_efforts: Vec::new(),
        prices: None,
    };
    world.create(&Model::new("mini", spec)).await;
    let message = model_says(&world, "SecretNotFound").await;
    assert!(message.contains("create it"), "{message}");

    let secret = |data: &str| Secret {
        metadata: ObjectMeta { name: Some("openai".to_owned()), ..ObjectMeta::default() },
        data: Some(BTreeMap::from([(data.to_owned(), ByteString(b"sk-test".to_vec()))])),
        ..Secret::default()
    };
    world.create(&secret("other")).await;
    model_says(&world, "SecretKeyMissing").await;
    world.api::<Secret>().delete("openai", &kube::api::DeleteParams::default()).await.unwrap();
    world.create(&secret("apiKey")).await;
    let message = model_says(&world, "Resolved").await;
    assert!(!message.contains("sk-test"), "the key itself is never told");
    operator.stop().await;
}

/// LIFE-20, LIFE-21
#[tokio::test]
async fn the_later_agent_of_a_slug_gets_no_mailbox_until_the_slug_is_free() {
    let world = World::new("op-slug").await;
    let operator = world.cluster_operator();
    world.harness("agent-v1").await;
    let slug = format!("desk-{}", &world.namespace.name[world.namespace.name.len() - 6..]);
    let on_demand = |spec: &mut foundry_crds::AgentSpec| {
        spec.activation = Some(Activation::OnDemand);
        spec.slug = Some(slug.clone());
    };
    world.agent("first", on_demand).await;
    world.status("the first is seen", "first", |status| status.mailbox.is_some()).await;
    world.agent("second", |spec| spec.slug = Some(slug.clone())).await;
    let status = world
        .status("the second is stalled", "second", |status| {
            reason(status, "Stalled", true) == Some("SlugTaken")
        })
        .await;
    assert_eq!(status.mailbox, None);

    let agents = world.api::<Agent>();
    agents.delete("first", &kube::api::DeleteParams::default()).await.unwrap();
    let status =
        world.status("the slug is free", "second", |status| status.mailbox.is_some()).await;
    assert_eq!(status.mailbox, Some(format!("{slug}@dev-ai.flow.life")));
    operator.stop().await;
}

/// An object that this operator cannot read is told so, and delays no other.
#[tokio::test]
async fn an_object_that_does_not_decode_is_reported_and_blocks_nobody() {
    let world = World::new("op-odd").await;
    world.harness("agent-v1").await;
    world.agent("parent", |spec| spec.activation = Some(Activation::OnDemand)).await;
    // A date the API server takes and our clock cannot say.
    let odd: DynamicObject = serde_json::from_value(json!({
        "apiVersion": "foundry.flow.life/v1alpha1",
        "kind": "Agent",
        "metadata": { "name": "odd" },
        "spec": {
            "owner": "eve", "harness": "agent-v1", "lifetime": "ephemeral", "parent": "parent",
            "ttlAt": "9999-12-31T23:59:59Z",
        },
    }))
    .unwrap();
    let agents = ApiResource::erase::<Agent>(&());
    let api: Api<DynamicObject> =
        Api::namespaced_with(world.client(), &world.namespace.name, &agents);
    api.create(&PostParams::default(), &odd).await.unwrap();

    let operator = world.cluster_operator();
    let settled = |status: &foundry_crds::AgentStatus| status.state == Some(AgentState::OnDemand);
    world.agent("ann", |spec| spec.activation = Some(Activation::OnDemand)).await;
    world.status("the other agent is reconciled", "ann", settled).await;
    eventually("the odd one is told", DEADLINE, || async {
        let status = api.get("odd").await?.data["status"].clone();
        let said = status.to_string();
        anyhow::ensure!(said.contains("Invalid") && said.contains("Stalled"), "{said}");
        anyhow::Ok(())
    })
    .await;
    operator.stop().await;
}

/// Transitions are told as events, once.
#[tokio::test]
async fn a_start_is_an_event_on_the_agent() {
    let world = World::new("op-event").await;
    let operator = world.cluster_operator();
    world.harness("agent-v1").await;
    world.agent("ann", |_| {}).await;
    let events = world.api::<Event>();
    eventually("the start is told", DEADLINE, || async {
        let events = events.list(&ListParams::default()).await?.items;
        let reasons: Vec<_> = events
            .iter()
            .filter(|event| {
                event.regarding.as_ref().and_then(|it| it.kind.as_deref()) == Some("Agent")
            })
            .filter_map(|event| event.reason.as_deref())
            .collect();
        let starts = reasons.iter().filter(|reason| **reason == "Started").count();
        anyhow::ensure!(starts == 1, "{reasons:?}");
        anyhow::Ok(())
    })
    .await;
    operator.stop().await;
}

/// A settled agent costs no write, however often it is looked at.
#[tokio::test]
async fn a_settled_agent_costs_no_write() {
    let world = World::new("op-rest").await;
    let operator = world.cluster_operator();
    world.harness("agent-v1").await;
    world.agent("ann", |_| {}).await;
    world.one_pod("ann").await;
    world.settles_without_a_node("ann").await;
    world.agent("ben", |spec| spec.activation = Some(Activation::OnDemand)).await;
    let settled = |status: &foundry_crds::AgentStatus| status.state == Some(AgentState::OnDemand);
    world.status("the other settles", "ben", settled).await;
    let writes = |world: &World| {
        let writes = world.operator_writes();
        let of_agents = writes.iter().filter(|(resource, name)| {
            resource.starts_with("agents") && (name == "ann" || name == "ben")
        });
        of_agents.count()
    };
    // Each round touches every agent by way of their Harness.
    let before = writes(&world);
    assert_ne!(before, 0, "the log knows the operator's writes");
    for round in 0..5 {
        touch_harness(&world, round).await;
    }
    assert_eq!(writes(&world), before);
    operator.stop().await;
}

/// Edits the Harness and waits until the operator has reported on it.
#[expect(clippy::disallowed_methods, reason = "the test is another writer")]
pub async fn touch_harness(world: &World, round: i32) {
    use foundry_crds::Harness;
    let api = world.api::<Harness>();
    let image = format!("registry.example/harness:{round}");
    let patch = kube::api::Patch::Merge(serde_json::json!({ "spec": { "image": image } }));
    api.patch("agent-v1", &kube::api::PatchParams::default(), &patch).await.unwrap();
    eventually("the Harness is reported", DEADLINE, || async {
        let harness = api.get("agent-v1").await?;
        let told = harness.status.as_ref().and_then(|status| status.image.clone());
        anyhow::ensure!(told.as_deref() == Some(&*image), "{}: {told:?}", harness.name_any());
        anyhow::Ok(())
    })
    .await;
}
