//! One object that fails again and again beside others that do not; and names at their
//! limits.

use foundry_crds::agent::Activation;
use foundry_crds::{Agent, AgentSpec, AgentState, CodingRun, CodingRunSpec};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use kube::api::{Patch, PatchParams, PostParams};
use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::json;
use testenv::Verdict;

use super::{creations, ephemeral};
use crate::it::world::{World, reason};

/// Most tries of the one while the others are carried out: it waits ever longer.
const FEW: usize = 15;

/// A webhook that is down, or a policy that lets nothing through: told in a condition, in
/// nobody's way, and healed when the cause goes.
#[rstest]
#[case::its_webhook_is_down(500, "Pending")]
#[case::its_policy_refuses(403, "Refused")]
#[tokio::test(flavor = "multi_thread")]
async fn an_object_whose_every_apply_fails_says_so_delays_nobody_and_heals(
    #[case] answer: u16,
    #[case] told: &str,
) {
    let world = World::new("op-bad").await;
    let proxy = world.proxy().await;
    proxy.rule(move |asked| {
        let is_bad = asked.name == "foundry-agent-bad" && asked.verb == "patch";
        if is_bad { Verdict::Answer(answer, None) } else { Verdict::Forward }
    });
    let operator = world.operator_through(&proxy).await;
    world.harness("agent-v1").await;
    world.agent("bad", |_| {}).await;
    for number in 0..20 {
        let name = format!("good-{number:02}");
        world.agent(&name, |spec| spec.activation = Some(Activation::OnDemand)).await;
    }
    for number in 0..20 {
        let name = format!("good-{number:02}");
        let is_ready =
            |status: &foundry_crds::AgentStatus| status.state == Some(AgentState::OnDemand);
        world.status("the others are Ready", &name, is_ready).await;
    }
    let calls = proxy.calls();
    let tries = calls.iter().filter(|call| call.verdict != Verdict::Forward).count();
    assert!((1..=FEW).contains(&tries), "{tries} tries");
    let status = world
        .status("the failure is told", "bad", |status| {
            let ready = status.conditions.iter().find(|it| it.type_ == "Ready");
            ready.is_some_and(|it| it.reason == told && it.message.contains("the proxy answers"))
        })
        .await;
    assert!(reason(&status, "Ready", false).is_some());
    assert_eq!(status.start_number, Some(1));

    proxy.forward_all();
    world.settles_without_a_node("bad").await;
    let status = world.api::<Agent>().get("bad").await.unwrap().status.unwrap();
    assert_eq!(status.start_number, Some(1), "it is one start all the while");
    assert_eq!(creations(&[&proxy])["deployments foundry-agent-bad"], 1);
    world.exactly::<Deployment>(&["foundry-agent-bad"]).await;
    operator.stop().await;
}

/// WORK-01: `foundry-agent-{40 characters}-{number}` is a name that Jobs and labels take.
#[tokio::test]
async fn a_name_of_forty_characters_runs_at_its_millionth_start_and_as_a_run() {
    let world = World::new("op-names").await;
    world.harness("agent-v1").await;
    world.can_code().await;
    world.agent("parent", |spec| spec.activation = Some(Activation::OnDemand)).await;
    let (agent, run) = ("a".repeat(40), "r".repeat(40));
    world.agent(&agent, |spec| ephemeral(spec, 3_600)).await;
    started_before(&world, &agent, 999_999).await;
    world.run(&run, |_| {}).await;
    let operator = world.cluster_operator();
    let jobs = [format!("foundry-agent-{agent}-1000000"), format!("foundry-agent-{run}-1")];
    world.exactly::<Job>(&[&jobs[0], &jobs[1]]).await;
    world.one_pod(&agent).await;
    world.one_pod(&run).await;
    operator.stop().await;
}

#[expect(clippy::disallowed_methods, reason = "the test is another writer")]
async fn started_before(world: &World, agent: &str, times: i64) {
    let status = Patch::Merge(json!({ "status": { "startNumber": times } }));
    let nobody = PatchParams::default();
    world.api::<Agent>().patch_status(agent, &nobody, &status).await.unwrap();
}

/// The id stands in routes, labels and names of workloads.
#[rstest]
#[case::of_41_characters(&"a".repeat(41), "40")]
#[case::with_a_dot("ann.b", "DNS label")]
#[tokio::test]
async fn a_name_that_cannot_be_a_workloads_is_refused(#[case] name: &str, #[case] words: &str) {
    let world = World::new("op-name").await;
    let nobody = PostParams::default();
    let spec = AgentSpec { owner: "eve".into(), harness: "agent-v1".into(), ..Default::default() };
    let agent = world.api::<Agent>().create(&nobody, &Agent::new(name, spec)).await;
    let spec = CodingRunSpec { owner: "eve".into(), task: "Mend it.".into(), ..Default::default() };
    let run = world.api::<CodingRun>().create(&nobody, &CodingRun::new(name, spec)).await;
    for refused in [agent.err(), run.err()] {
        let said = refused.map(|it| it.to_string()).unwrap_or_default();
        assert!(said.contains(words), "{name}: {said}");
    }
}
