//! The operator is killed at each of its writes: once before the API server hears of the
//! write, once after it is done and before the operator knows. Another one goes on, and
//! what comes of it is what comes of an operator that nobody kills.

use std::collections::{BTreeMap, BTreeSet};
use std::pin::pin;

use anyhow::ensure;
use foundry_crds::{Agent, AgentState, CodingRun};
use futures::StreamExt as _;
use futures::future::{BoxFuture, Either, select};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use kube::api::ListParams;
use kube::{Resource, ResourceExt as _};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use testenv::{ApiProxy, Request, Verdict, eventually};

use super::{Binary, creations};
use crate::it::coding::process_lives;
use crate::it::world::{DEADLINE, World};

/// Cases that run at once; each is two operators, one after the other.
const AT_ONCE: usize = 8;

/// What a person, a kubelet and the API do, each step when the operator has done its own.
type Play = for<'a> fn(&'a World) -> BoxFuture<'a, ()>;

/// When the operator is killed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum When {
    /// The API server never hears of the write.
    Before,
    /// It is done, and the operator never knows.
    After,
}

/// LIFE-06, LIFE-09, WORK-01: one Job, one agent, the same phases, the same end.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_comes_to_the_same_end_wherever_the_operator_is_killed() {
    killed_everywhere("op-kill-run", |world| Box::pin(a_run(world))).await;
}

/// LIFE-03, LIFE-10, WORK-01: no start is counted twice, none is forgotten.
#[tokio::test(flavor = "multi_thread")]
async fn an_agent_is_started_restarted_and_stopped_wherever_the_operator_is_killed() {
    killed_everywhere("op-kill-agent", |world| Box::pin(an_agent(world))).await;
}

/// From the creation of a run over its Job to its end.
async fn a_run(world: &World) {
    world.can_code().await;
    world.run("fix", |_| {}).await;
    process_lives(world, "fix").await;
    world.stands("fix", "Planning", "Planning").await;
    let plan = json!({ "documentId": "doc-1", "sha256": "ab12", "approvedBy": "ann" });
    world.report("fix", json!({ "startNumber": 1, "plan": plan })).await;
    world.stands("fix", "Building", "Building").await;
    let result = json!({ "outcome": "completed", "summary": "The greeting is whole." });
    world.report("fix", json!({ "startNumber": 1, "plan": plan, "result": result })).await;
    world.stands("fix", "Succeeded", "Succeeded").await;
    world.edit("fix", json!({ "lifecycle": "expired", "desiredState": "completed" })).await;
    world.exactly::<Job>(&[]).await;
    let is_over = |status: &foundry_crds::AgentStatus| status.state == Some(AgentState::Expired);
    world.status("the agent is expired", "fix", is_over).await;
}

/// A start, a restart and a stop.
async fn an_agent(world: &World) {
    world.harness("agent-v1").await;
    world.agent("ann", |_| {}).await;
    process_lives(world, "ann").await;
    let runs = |start: i64| {
        move |status: &foundry_crds::AgentStatus| {
            let last = status.last_start.as_ref().map(|last| last.number);
            last == Some(start) && status.state == Some(AgentState::Running)
        }
    };
    world.status("the agent runs", "ann", runs(1)).await;
    let first = world.one_pod("ann").await.uid();
    world.edit("ann", json!({ "starts": 1 })).await;
    eventually("the pod is another one", DEADLINE, || async {
        let pod = world.one_pod("ann").await;
        ensure!(pod.uid() != first, "it is the first one");
        anyhow::Ok(())
    })
    .await;
    process_lives(world, "ann").await;
    world.status("the agent runs again", "ann", runs(2)).await;
    world.edit("ann", json!({ "desiredState": "stopped" })).await;
    let stopped = |status: &foundry_crds::AgentStatus| status.state == Some(AgentState::Stopped);
    world.status("the agent is stopped", "ann", stopped).await;
    world.exactly::<Deployment>(&[]).await;
}

async fn killed_everywhere(prefix: &str, play: Play) {
    let undisturbed = undisturbed(prefix, play).await;
    let writes = undisturbed.steps.len();
    let cases = (1..=writes).map(At::Number).collect();
    let mut reached = BTreeMap::<String, usize>::new();
    count(&mut reached, killed_at_each(prefix, play, cases, &undisturbed).await);
    // No two plays write the same words of status, so the number of a late write differs:
    // a step that no number met is met by its name.
    let named = undisturbed.steps.iter().filter(|step| !reached.contains_key(*step));
    let named: BTreeSet<_> = named.cloned().collect();
    let named = named.into_iter().map(At::Step).collect();
    count(&mut reached, killed_at_each(prefix, play, named, &undisturbed).await);
    let kills: usize = reached.values().sum();
    println!("{prefix}: {writes} writes, {kills} kills: {reached:#?}");
    // How many words of status a fast cluster skips is its own affair: the last few writes
    // of one play may be missing in another. Each kind of step is there in all of them.
    let wanted: BTreeSet<_> = undisturbed.steps.iter().cloned().collect();
    let missed: Vec<_> = wanted.iter().filter(|step| !reached.contains_key(*step)).collect();
    assert!(missed.is_empty(), "never killed at {missed:?}");
    assert!(kills + 8 >= 2 * writes, "{kills} kills at {writes} writes, twice each");
}

/// Kills the operator at each of these writes, before and after it is done.
async fn killed_at_each(
    prefix: &str,
    play: Play,
    cases: Vec<At>,
    undisturbed: &Outcome,
) -> Vec<Option<String>> {
    let cases = cases.into_iter().flat_map(|at| [(at.clone(), When::Before), (at, When::After)]);
    futures::stream::iter(cases)
        .map(|(at, when)| killed_at(prefix, play, at, when, undisturbed))
        .buffer_unordered(AT_ONCE)
        .collect()
        .await
}

fn count(reached: &mut BTreeMap<String, usize>, steps: Vec<Option<String>>) {
    for step in steps.into_iter().flatten() {
        *reached.entry(step).or_default() += 1;
    }
}

/// Which write an operator is killed at.
#[derive(Debug, Clone)]
enum At {
    /// The one of this number.
    Number(usize),
    /// The first of this kind.
    Step(String),
}

/// What comes of a play.
struct Outcome {
    /// The operator's writes, in their order.
    steps: Vec<String>,
    /// What there is in the end.
    end: Value,
    /// How often each object was created.
    created: BTreeMap<String, usize>,
}

async fn undisturbed(prefix: &str, play: Play) -> Outcome {
    let world = World::new(prefix).await;
    let proxy = world.proxy().await;
    let _operator = start(&world, &proxy, 1);
    play(&world).await;
    let calls = proxy.calls();
    let steps = calls.iter().map(|call| &call.request).filter(|it| counts(it)).map(step).collect();
    Outcome { steps, end: end(&world).await, created: creations(&[&proxy]) }
}

/// Plays with an operator that is killed at that write; gives the write, unless the play was
/// over before it.
async fn killed_at(
    prefix: &str,
    play: Play,
    at: At,
    when: When,
    undisturbed: &Outcome,
) -> Option<String> {
    let world = World::new(prefix).await;
    let proxy = world.proxy().await;
    let (mut count, mut is_dead) = (0, false);
    let wanted = at.clone();
    proxy.rule(move |asked| {
        if !counts(asked) {
            return Verdict::Forward;
        }
        if is_dead {
            // Nothing of it gets through any more.
            return Verdict::Cut;
        }
        count += 1;
        is_dead = match &wanted {
            At::Number(number) => count == *number,
            At::Step(name) => step(asked) == *name,
        };
        match when {
            _ if !is_dead => Verdict::Forward,
            When::Before => Verdict::Hang,
            When::After => Verdict::ForwardThenHang,
        }
    });
    let first = start(&world, &proxy, 1);
    let killing = pin!(async {
        let held = proxy.until_held().await;
        drop(first);
        proxy.forward_all();
        (start(&world, &proxy, 2), held)
    });
    let reached = match select(play(&world), killing).await {
        Either::Left(((), _)) => return None,
        Either::Right(((second, held), play)) => {
            play.await;
            (second, step(&held))
        }
    };
    let (_second, held) = reached;
    let told = format!("killed {when:?} {at:?}, {held}, in {}", world.namespace.name);
    eventually(&format!("{told}: the end is the same"), DEADLINE, || async {
        let end = end(&world).await;
        ensure!(end == undisturbed.end, "{end:#}\ninstead of {:#}", undisturbed.end);
        anyhow::Ok(())
    })
    .await;
    assert_eq!(creations(&[&proxy]), undisturbed.created, "{told}");
    Some(held)
}

/// The second operator has a lease of its own: it need not wait until that of the dead one,
/// of whom nothing comes any more, runs out.
fn start(world: &World, proxy: &ApiProxy, number: u32) -> Binary {
    let folder = testenv::scratch("kill point").unwrap();
    let lease = format!("{}-{number}", world.namespace.name);
    Binary::start(world, &proxy.kubeconfig(&folder), &lease)
}

/// Whether a call is a step: what an event tells is told by status too, and the lease is
/// no part of any run.
fn counts(asked: &Request) -> bool {
    asked.is_write() && !["events", "leases"].contains(&&*asked.resource)
}

fn step(asked: &Request) -> String {
    format!("{} {} {}", asked.verb, asked.resource, asked.name)
}

/// All there is of a world, without what differs between any two of them: times, ids.
async fn end(world: &World) -> Value {
    json!({
        "agents": all::<Agent>(world).await,
        "runs": all::<CodingRun>(world).await,
        "deployments": names::<Deployment>(world).await,
        "jobs": names::<Job>(world).await,
        "policies": names::<NetworkPolicy>(world).await,
    })
}

async fn names<K>(world: &World) -> Vec<String>
where
    K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
        + serde::de::DeserializeOwned
        + Clone
        + std::fmt::Debug,
{
    let found = world.api::<K>().list(&ListParams::default()).await.unwrap();
    found.items.iter().map(kube::ResourceExt::name_any).collect()
}

async fn all<K>(world: &World) -> Vec<Value>
where
    K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
        + serde::de::DeserializeOwned
        + serde::Serialize
        + Clone
        + std::fmt::Debug,
{
    let found = world.api::<K>().list(&ListParams::default()).await.unwrap();
    let told = |object: &K| {
        let mut object = serde_json::to_value(object).unwrap();
        let is_seen = object["metadata"]["generation"] == object["status"]["observedGeneration"];
        let name = object["metadata"]["name"].take();
        object["metadata"] = json!({ "name": name, "isSeen": is_seen });
        forget_times(&mut object);
        object
    };
    found.items.iter().map(told).collect()
}

fn forget_times(value: &mut Value) {
    // A Job that is told to go may be seen to end first, or may not.
    const TIMES: [&str; 9] = [
        "finishedStart",
        "lastTransitionTime",
        "observedGeneration",
        "at",
        "startTime",
        "completionTime",
        "goneSince",
        "ttlAt",
        "message",
    ];
    match value {
        Value::Object(fields) => {
            fields.retain(|name, _| !TIMES.contains(&&**name));
            fields.values_mut().for_each(forget_times);
        }
        Value::Array(items) => items.iter_mut().for_each(forget_times),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}
