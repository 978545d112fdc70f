//! Calls that fail: each tenth of them, in every way in which calls fail.

use std::collections::HashMap;
use std::time::{Duration, Instant};

use anyhow::ensure;
use foundry_crds::{Agent, CodingRun};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use kube::ResourceExt as _;
use kube::api::ListParams;
use pretty_assertions::assert_eq;
use testenv::{Call, Request, Verdict, eventually};

use super::{creations, jobs_by_owner};
use crate::it::world::{DEADLINE, World};

/// So many agents, and so many runs.
const MANY: usize = 30;
/// Of so many calls one fails.
const ONE_OF: usize = 10;
/// What the proxy asks for by `Retry-After`.
const WAIT: Duration = Duration::from_secs(2);

const FAULTS: [Verdict; 8] = [
    Verdict::Answer(409, None),
    Verdict::Answer(429, Some(2)),
    Verdict::ForwardThenCut,
    Verdict::Answer(500, None),
    Verdict::Cut,
    Verdict::Answer(503, Some(2)),
    Verdict::Answer(504, None),
    Verdict::ForwardThenCut,
];

/// kubernetes.md, section 4: nothing lost, nothing doubled.
#[tokio::test(flavor = "multi_thread")]
async fn with_a_tenth_of_all_calls_failing_nothing_is_lost_and_nothing_doubled() {
    let world = World::new("op-tenth").await;
    let proxy = world.proxy().await;
    let mut count = 0;
    let mut hangs = 0;
    proxy.rule(move |asked| {
        count += 1;
        if count % ONE_OF != 0 {
            return Verdict::Forward;
        }
        // Each that hangs is waited for until its deadline: a few tell as much as many.
        if asked.verb == "patch" && hangs < 2 {
            hangs += 1;
            return if hangs == 1 { Verdict::Hang } else { Verdict::ForwardThenHang };
        }
        FAULTS[count / ONE_OF % FAULTS.len()]
    });
    world.harness("agent-v1").await;
    world.can_code().await;
    let operator = world.operator_through(&proxy).await;
    for number in 0..MANY {
        world.agent(&format!("agent-{number:02}"), |_| {}).await;
        world.run(&format!("run-{number:02}"), |_| {}).await;
    }
    let started = Instant::now();
    settles(&world).await;
    let calls = proxy.calls();
    let failed = calls.iter().filter(|call| call.verdict != Verdict::Forward).count();
    println!("{} calls, {failed} failed; settled after {:?}", calls.len(), started.elapsed());
    assert!(failed * ONE_OF >= calls.len() / 2, "{failed} of {} failed", calls.len());

    let by_owner = jobs_by_owner(&world).await;
    assert_eq!(by_owner.len(), MANY);
    assert!(by_owner.values().all(|jobs| jobs.len() == 1), "{by_owner:?}");
    let created = creations(&[&proxy]);
    let doubled = created.iter().filter(|(what, times)| !what.ends_with(' ') && **times > 1);
    assert_eq!(doubled.collect::<Vec<_>>(), [], "created twice");
    obeys_retry_after(&calls);
    operator.stop().await;
}

/// Every agent has its one Deployment and every run its one Job, and all say so.
async fn settles(world: &World) {
    let (agents, runs) = (world.api::<Agent>(), world.api::<CodingRun>());
    eventually("all of them settle", DEADLINE, || async {
        let agents = agents.list(&ListParams::default()).await?.items;
        ensure!(agents.len() == 2 * MANY, "{} agents", agents.len());
        for agent in agents {
            let status = agent.status.clone().unwrap_or_default();
            let message = status.conditions.first().map(|it| it.message.clone());
            let is_settled = status.start_number == Some(1)
                && status.workload.is_some()
                && message.as_ref().is_some_and(|it| it.contains("no node yet"));
            ensure!(is_settled, "{}: {message:?}, {:?}", agent.name_any(), status.start_number);
        }
        for run in runs.list(&ListParams::default()).await?.items {
            let status = run.status.clone().unwrap_or_default();
            let is_settled = status.agent.is_some() && status.start_number == Some(1);
            ensure!(is_settled, "{}: {}", run.name_any(), serde_json::to_string(&status)?);
        }
        anyhow::Ok(())
    })
    .await;
    let deployments = world.api::<Deployment>().list(&ListParams::default()).await.unwrap();
    assert_eq!(deployments.items.len(), MANY);
    let jobs = world.api::<Job>().list(&ListParams::default()).await.unwrap();
    assert_eq!(jobs.items.len(), MANY);
}

/// What was told to come again later comes again, and not before.
fn obeys_retry_after(calls: &[Call]) {
    let mut until = HashMap::<String, Instant>::new();
    let mut calls: Vec<_> = calls.iter().collect();
    calls.sort_by_key(|call| call.at);
    let mut told = 0;
    for call in calls {
        // A watch and the lease have clocks of their own, and a note is not told again.
        let asked = &call.request;
        let is_work = ["agents", "codingruns", "jobs", "deployments"]
            .iter()
            .any(|kind| asked.resource.starts_with(kind));
        if !is_work || !asked.is_write() || asked.name.is_empty() {
            continue;
        }
        let what = what(asked);
        if let Some(until) = until.remove(&what) {
            let early = until.saturating_duration_since(call.at);
            assert!(early < Duration::from_millis(50), "{what} came {early:?} too early");
        }
        if matches!(call.verdict, Verdict::Answer(_, Some(_))) {
            told += 1;
            until.insert(what, call.at + WAIT);
        }
    }
    assert_ne!(told, 0, "nothing was told to wait");
}

fn what(asked: &Request) -> String {
    format!("{} {} {}", asked.verb, asked.resource, asked.name)
}
