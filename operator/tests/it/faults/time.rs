//! A clock near the end of an agent, and one that jumps. The clock is the test's.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use foundry_crds::agent::{Activation, Lifecycle};
use foundry_crds::{Agent, AgentState};
use foundry_operator::clock::Clock;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::jiff::Timestamp;
use kube::ResourceExt as _;
use pretty_assertions::assert_eq;
use serde_json::json;

use super::{ephemeral, now, second};
use crate::it::world::World;

/// LIFE-12: over at `ttlAt` and not before; and what is over stays over.
#[tokio::test]
async fn a_clock_that_jumps_to_and_fro_around_the_ttl_ends_an_agent_once_and_starts_none_twice() {
    let world = World::new("op-clock").await;
    let hand = Arc::new(AtomicI64::new(now()));
    let read = Arc::clone(&hand);
    let clock =
        Clock::from_fn(move || Timestamp::from_second(read.load(Ordering::SeqCst)).unwrap());
    let operator = world.operator_with_clock(clock);
    world.harness("agent-v1").await;
    world.agent("parent", |spec| spec.activation = Some(Activation::OnDemand)).await;
    let ttl = now() + 3_600;
    world
        .agent("kid", |spec| {
            ephemeral(spec, 0);
            spec.ttl_at = Some(second(ttl));
        })
        .await;
    world.one_pod("kid").await;
    let first = world.exactly::<Job>(&["foundry-agent-kid-1"]).await.remove(0).uid();

    // An edit is looked at by the clock of that moment, and counts.
    for (number, at) in [(2, ttl - 1), (3, ttl - 100_000), (4, ttl - 1)] {
        hand.store(at, Ordering::SeqCst);
        world.edit("kid", json!({ "instructions": format!("look at {number}") })).await;
        let what = format!("edit {number} counts");
        let status = world.status(&what, "kid", |status| status.start_number == Some(number)).await;
        assert_eq!(status.last_start.unwrap().number, 1, "the process is the first one");
        let jobs = world.exactly::<Job>(&["foundry-agent-kid-1"]).await;
        assert_eq!(jobs[0].uid(), first, "at {at}");
    }

    hand.store(ttl, Ordering::SeqCst);
    world.edit("kid", json!({ "instructions": "look once more" })).await;
    let is_over = |status: &foundry_crds::AgentStatus| status.state == Some(AgentState::Expired);
    world.status("the agent is expired", "kid", is_over).await;
    world.exactly::<Job>(&[]).await;

    for (number, at) in [(6, ttl + 1), (7, ttl - 1), (8, ttl - 100_000)] {
        hand.store(at, Ordering::SeqCst);
        world.edit("kid", json!({ "instructions": format!("look at {number}") })).await;
        let what = format!("edit {number} counts");
        let status = world.status(&what, "kid", |status| status.start_number == Some(number)).await;
        assert_eq!(status.state, Some(AgentState::Expired), "at {at}");
    }
    let spec = world.api::<Agent>().get("kid").await.unwrap().spec;
    assert_eq!(spec.lifecycle, Some(Lifecycle::Expired));
    world.exactly::<Job>(&[]).await;
    let created = world.control_plane.writes().into_iter().filter(|write| {
        write.namespace == world.namespace.name
            && write.resource == "jobs"
            && write.manager.is_some()
            && write.status == 201
    });
    assert_eq!(created.count(), 1, "one Job was made");
    operator.stop().await;
}
