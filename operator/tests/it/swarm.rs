//! Swarms in the cluster runtime, driven by custom resources alone. The test plays the
//! kubelet.

use foundry_crds::agent::{Activation, Lifecycle, Lifetime};
use foundry_crds::swarm::{MemberPhase, SwarmMember};
use foundry_crds::{Agent, Harness, HarnessSpec, Swarm, SwarmSpec, SwarmStatus};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::events::v1::Event;
use kube::ResourceExt as _;
use kube::api::ListParams;
use pretty_assertions::assert_eq;
use serde_json::json;
use testenv::eventually;

use super::coding::{kubectl, kubelet_says, patch, process_lives};
use super::named::{skill, tool_server};
use super::world::{DEADLINE, World};

/// A member that runs on Harness `agent-v1`.
pub fn member(name: &str) -> SwarmMember {
    SwarmMember {
        name: name.to_owned(),
        harness: "agent-v1".to_owned(),
        instructions: format!("Do the {name}."),
        ..SwarmMember::default()
    }
}

/// The Harness of the members, and the agent that starts swarms: `lead`, of eve.
pub async fn can_swarm(world: &World) {
    world.harness("agent-v1").await;
    world.agent("lead", |spec| spec.activation = Some(Activation::OnDemand)).await;
}

/// A swarm of two, `team`.
pub async fn swarm(world: &World, change: impl FnOnce(&mut SwarmSpec)) -> Swarm {
    let mut swarm = Swarm::new(
        "team",
        SwarmSpec {
            owner: "eve".to_owned(),
            parent: "lead".to_owned(),
            goal: "Ship it.".to_owned(),
            members: vec![member("code"), member("docs")],
            ..SwarmSpec::default()
        },
    );
    change(&mut swarm.spec);
    world.create(&swarm).await
}

/// Reason and message of the condition `Complete`.
pub fn complete(status: &SwarmStatus) -> (&str, &str) {
    let found = status.conditions.iter().find(|condition| condition.type_ == "Complete");
    found.map_or(("", ""), |condition| (&condition.reason, &condition.message))
}

/// Whether a condition is as given.
pub fn is(status: &SwarmStatus, kind: &str, is: bool) -> bool {
    let is = if is { "True" } else { "False" };
    status.conditions.iter().any(|it| it.type_ == kind && it.status == is)
}

/// Waits until the status of swarm `team` is as it should be.
pub async fn status(
    world: &World,
    what: &str,
    is_it: impl Fn(&SwarmStatus) -> bool,
) -> SwarmStatus {
    let api = world.api::<Swarm>();
    eventually(what, DEADLINE, || async {
        let swarm = api.get("team").await?;
        let status = swarm.status.unwrap_or_default();
        let seen = swarm.metadata.generation == status.observed_generation;
        anyhow::ensure!(seen && is_it(&status), "{}", serde_json::to_string(&status)?);
        anyhow::Ok(status)
    })
    .await
}

/// Waits until swarm `team` stands where it should, for this reason.
pub async fn stands(world: &World, phase: &str, reason: &str) -> SwarmStatus {
    status(world, &format!("the swarm is {phase}, {reason}"), |status| {
        status.phase.is_some_and(|it| it.as_str() == phase) && complete(status).0 == reason
    })
    .await
}

/// Where the members stand, by name.
pub fn phases(status: &SwarmStatus) -> Vec<(&str, MemberPhase)> {
    status.members.iter().map(|it| (it.name.as_str(), it.phase)).collect()
}

/// Waits until an agent is told as it should be, and gives it.
async fn told(world: &World, what: &str, name: &str, is_it: impl Fn(&Agent) -> bool) -> Agent {
    let api = world.api::<Agent>();
    eventually(what, DEADLINE, || async {
        let agent = api.get(name).await?;
        anyhow::ensure!(is_it(&agent), "{}", serde_json::to_string(&agent.spec)?);
        anyhow::Ok(agent)
    })
    .await
}

/// SWARM-01, SWARM-02, SWARM-05, LIFE-06, LIFE-07, LIFE-11, LIFE-14, LIFE-19, AUTHZ-02:
/// kubectl is enough, from `apply` to the end and to `delete`.
#[tokio::test]
async fn a_swarm_lives_from_kubectl_apply_to_its_end_and_goes_with_all_that_is_its_own() {
    let world = World::new("op-swarm").await;
    let operator = world.cluster_operator();
    can_swarm(&world).await;
    let file = tempfile::NamedTempFile::with_suffix(".json").unwrap();
    let document = json!({
        "apiVersion": "foundry.flow.life/v1alpha1", "kind": "Swarm", "metadata": { "name": "team" },
        "spec": {
            "owner": "eve", "parent": "lead", "goal": "Ship it.", "ttl": "2h",
            "members": [
                { "name": "docs", "harness": "agent-v1", "instructions": "Do the docs." },
                { "name": "code", "harness": "agent-v1", "instructions": "Do the code." },
            ],
        },
    });
    std::fs::write(file.path(), document.to_string()).unwrap();
    let path = file.path().to_str().unwrap();
    kubectl(&world, &["apply", "--server-side", "--filename", path]).await;

    let jobs = ["foundry-agent-team-code-1", "foundry-agent-team-docs-1"];
    let jobs: Vec<Job> = world.exactly(&jobs).await;
    let spec = jobs[0].spec.as_ref().unwrap();
    assert_eq!(spec.backoff_limit, Some(0));
    let deadline = spec.active_deadline_seconds.unwrap();
    assert!((7_100..=7_200).contains(&deadline), "two hours: {deadline}");
    let swarm = world.api::<Swarm>().get("team").await.unwrap();
    let agent = world.api::<Agent>().get("team-docs").await.unwrap();
    assert_eq!(agent.owner_references()[0].uid, swarm.uid().unwrap());
    assert_eq!(agent.spec.lifetime, Some(Lifetime::Ephemeral));
    assert_eq!(agent.spec.owner, "eve");
    assert_eq!(agent.spec.members, vec![], "its roles are those of its parent");
    let of = |value: &Option<String>| value.clone().unwrap_or_default();
    assert_eq!((of(&agent.spec.parent), of(&agent.spec.swarm)), ("lead".into(), "team".into()));
    assert_eq!(
        of(&agent.spec.instructions),
        "# Goal of the swarm\n\nShip it.\n\n# Your part, as member docs\n\nDo the docs."
    );
    let children = kubectl(&world, &["get", "agents", "-lfoundry.flow.life/parent=lead"]).await;
    assert_eq!(children.lines().count(), 3, "{children}");
    let status = stands(&world, "Pending", "Pending").await;
    assert!(is(&status, "Ready", true), "{status:?}");
    assert_eq!((status.start_time, status.member_summary.as_deref()), (None, Some("0/2")));

    process_lives(&world, "team-code").await;
    process_lives(&world, "team-docs").await;
    let both = [("code", MemberPhase::Running), ("docs", MemberPhase::Running)];
    self::status(&world, "both run", |status| phases(status) == both).await;
    kubectl(&world, &["wait", "--for=condition=Ready", "--timeout=60s", "swarm/team"]).await;

    // One ends by itself; of the other its harness, or its parent, says that it is done.
    let ended = json!({ "running": null, "terminated": {
        "reason": "Completed", "exitCode": 0, "startedAt": null,
        "finishedAt": "2030-01-01T00:00:01Z",
    } });
    kubelet_says(&world, "team-code", "Succeeded", ended).await;
    self::status(&world, "one is done", |it| it.member_summary.as_deref() == Some("1/2")).await;
    world.edit("team-docs", json!({ "lifecycle": "expired", "desiredState": "completed" })).await;
    kubectl(&world, &["wait", "--for=condition=Complete", "--timeout=60s", "swarm/team"]).await;
    let status = stands(&world, "Succeeded", "Succeeded").await;
    assert!(status.start_time.is_some() && status.completion_time.is_some());
    let table = kubectl(&world, &["get", "swarms"]).await;
    let row: Vec<_> = table.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(row[..3], ["team", "Succeeded", "2/2"], "{table}");

    kubectl(&world, &["delete", "swarm", "team"]).await;
    world.exactly::<Agent>(&["lead"]).await;
    world.exactly::<Job>(&[]).await;
    operator.stop().await;
}

/// SWARM-04, LIFE-10, LIFE-13: what is dismissed is gone, and one member may come back.
#[tokio::test]
async fn a_dismissed_swarm_leaves_no_job_and_a_restarted_member_lives_on() {
    let world = World::new("op-swarm-go").await;
    let operator = world.cluster_operator();
    can_swarm(&world).await;
    swarm(&world, |_| {}).await;
    process_lives(&world, "team-code").await;
    process_lives(&world, "team-docs").await;
    stands(&world, "Running", "Running").await;
    patch::<Swarm>(&world, "team", json!({ "spec": { "dismissed": true } })).await;
    let status = stands(&world, "Dismissed", "Dismissed").await;
    world.exactly::<Job>(&[]).await;
    world.no_pod("team-code").await;
    let expired = [("code", MemberPhase::Expired), ("docs", MemberPhase::Expired)];
    assert_eq!(phases(&status), expired);
    assert!(is(&status, "Ready", true) && is(&status, "Complete", false), "{status:?}");
    for name in ["team-code", "team-docs"] {
        let spec = serde_json::to_value(world.api::<Agent>().get(name).await.unwrap().spec);
        let spec = spec.unwrap();
        assert_eq!(
            (&spec["lifecycle"], &spec["desiredState"]),
            (&json!("expired"), &json!("completed"))
        );
    }

    world
        .edit(
            "team-docs",
            json!({
                "lifecycle": "active", "desiredState": "running", "starts": 1,
                "ttlAt": "2040-01-01T00:00:00Z",
            }),
        )
        .await;
    world.exactly::<Job>(&["foundry-agent-team-docs-2"]).await;
    process_lives(&world, "team-docs").await;
    let alive = [("code", MemberPhase::Expired), ("docs", MemberPhase::Running)];
    let status = self::status(&world, "it lives", |status| phases(status) == alive).await;
    assert_eq!(complete(&status).0, "Dismissed");
    // A look after which everything is as it was: the goal reaches the agent, and no more.
    patch::<Swarm>(&world, "team", json!({ "spec": { "goal": "Ship it well." } })).await;
    let agent = told(&world, "the goal reaches it", "team-docs", |agent| {
        agent.spec.instructions.as_deref().is_some_and(|it| it.contains("Ship it well."))
    })
    .await;
    assert_eq!(agent.spec.lifecycle, Some(Lifecycle::Active));
    assert_eq!(agent.spec.ttl_at.unwrap().0.to_string(), "2040-01-01T00:00:00Z");
    let status = stands(&world, "Dismissed", "Dismissed").await;
    assert_eq!(phases(&status), alive);
    world.exactly::<Job>(&["foundry-agent-team-docs-2"]).await;
    operator.stop().await;
}

/// LIFE-12: members that are out of time end the swarm, and say so.
#[tokio::test]
async fn a_swarm_whose_members_run_out_of_time_fails_and_a_restart_begins_it_again() {
    let world = World::new("op-swarm-ttl").await;
    let operator = world.cluster_operator();
    can_swarm(&world).await;
    swarm(&world, |_| {}).await;
    process_lives(&world, "team-code").await;
    process_lives(&world, "team-docs").await;
    stands(&world, "Running", "Running").await;
    for name in ["team-code", "team-docs"] {
        world.edit(name, json!({ "ttlAt": "2020-01-01T00:00:00Z" })).await;
    }
    let status = stands(&world, "Failed", "Expired").await;
    assert!(complete(&status).1.contains("restart its agent"), "{}", complete(&status).1);
    assert!(is(&status, "Stalled", true) && status.completion_time.is_some());
    world.exactly::<Job>(&[]).await;
    world
        .edit(
            "team-code",
            json!({
                "lifecycle": "active", "desiredState": "running", "starts": 1,
                "ttlAt": "2040-01-01T00:00:00Z",
            }),
        )
        .await;
    let status = self::status(&world, "it goes on", |it| it.completion_time.is_none()).await;
    assert_eq!(status.phase.unwrap().as_str(), "Running");
    world.exactly::<Job>(&["foundry-agent-team-code-2"]).await;
    operator.stop().await;
}

/// LIFE-16: edits reach the agents and replace no process; who is added is made, and who
/// is taken out expires.
#[tokio::test]
async fn edits_of_a_swarm_reach_its_agents_and_replace_no_process() {
    let world = World::new("op-swarm-edit").await;
    let operator = world.cluster_operator();
    can_swarm(&world).await;
    let allows = HarnessSpec { allows_skills: Some(true), ..HarnessSpec::default() };
    world.create(&Harness::new("agent-v2", allows)).await;
    world.create(&skill("style", &[1])).await;
    world.create(&tool_server("wiki")).await;
    swarm(&world, |_| {}).await;
    process_lives(&world, "team-code").await;
    process_lives(&world, "team-docs").await;
    stands(&world, "Running", "Running").await;
    let pod = world.one_pod("team-docs").await;
    let before = world.api::<Agent>().get("team-docs").await.unwrap().spec.ttl_at.unwrap().0;
    let docs = json!({
        "name": "docs", "harness": "agent-v2", "instructions": "Do more.", "model": "gpt-5",
        "toolServers": ["wiki"], "skills": [{ "name": "style" }],
    });
    let test = json!({ "name": "test", "harness": "agent-v1", "instructions": "Do the test." });
    let members = json!({ "spec": { "ttl": "6h", "members": [docs, test] } });
    patch::<Swarm>(&world, "team", members).await;
    let agent =
        told(&world, "the edit reaches it", "team-docs", |agent| agent.spec.harness == "agent-v2")
            .await;
    assert!(agent.spec.instructions.unwrap().ends_with("Do more."));
    assert_eq!(agent.spec.model.as_deref(), Some("gpt-5"));
    assert_eq!(agent.spec.tool_servers, ["wiki"]);
    assert_eq!(agent.spec.skills[0].name, "style");
    let moved = agent.spec.ttl_at.unwrap().0.duration_since(before);
    assert_eq!(moved.as_secs(), 2 * 3_600, "from four hours to six");
    let jobs = ["foundry-agent-team-docs-1", "foundry-agent-team-test-1"];
    world.exactly::<Job>(&jobs).await;
    assert_eq!(world.one_pod("team-docs").await.uid(), pod.uid(), "the process is the same");
    let out = world.api::<Agent>().get("team-code").await.unwrap();
    assert_eq!(out.spec.lifecycle, Some(Lifecycle::Expired));
    process_lives(&world, "team-test").await;
    let status = self::status(&world, "all is told", |status| {
        phases(status)
            == [
                ("code", MemberPhase::Expired),
                ("docs", MemberPhase::Running),
                ("test", MemberPhase::Running),
            ]
    })
    .await;
    assert_eq!(status.member_summary.as_deref(), Some("0/2"), "it counts no more");

    // What somebody changes on an agent is put back to what the swarm says.
    world.edit("team-docs", json!({ "instructions": "Do something else." })).await;
    told(&world, "the part is put back", "team-docs", |agent| {
        agent.spec.instructions.as_deref().is_some_and(|it| it.ends_with("Do more."))
    })
    .await;
    operator.stop().await;
}

/// WORK-01: a settled swarm costs no write, and each step of its way is one event.
#[tokio::test]
async fn a_settled_swarm_costs_no_write_and_its_steps_are_events() {
    let world = World::new("op-swarm-rest").await;
    let operator = world.cluster_operator();
    can_swarm(&world).await;
    swarm(&world, |_| {}).await;
    process_lives(&world, "team-code").await;
    process_lives(&world, "team-docs").await;
    self::status(&world, "both run", |it| complete(it).1.starts_with("2 of 2 members run")).await;
    let before = writes(&world);
    for round in 0..5 {
        // Each round wakes every swarm of the Harness.
        let image = format!("registry.example/harness:{round}");
        patch::<Harness>(&world, "agent-v1", json!({ "spec": { "image": image } })).await;
        let harnesses = world.api::<Harness>();
        eventually("the Harness is reported", DEADLINE, || async {
            let told = harnesses.get("agent-v1").await?.status.and_then(|status| status.image);
            anyhow::ensure!(told.as_deref() == Some(&*image), "{told:?}");
            anyhow::Ok(())
        })
        .await;
    }
    operator.stop().await;
    let operator = world.cluster_operator();
    world.agent("ben", |spec| spec.activation = Some(Activation::OnDemand)).await;
    world.status("another operator has looked", "ben", |it| it.state.is_some()).await;
    assert_eq!(writes(&world), before, "a settled swarm is written again");
    let of_the_swarm = before.iter().filter(|(it, _)| it.starts_with("swarms")).count();
    assert!((1..=12).contains(&of_the_swarm), "{before:?}");

    let events = world.api::<Event>().list(&ListParams::default()).await.unwrap().items;
    let reasons: Vec<_> = events
        .iter()
        .filter(|it| it.regarding.as_ref().and_then(|it| it.kind.as_deref()) == Some("Swarm"))
        .filter_map(|event| event.reason.as_deref())
        .collect();
    for step in ["Pending", "Running"] {
        assert!(reasons.contains(&step), "{reasons:?}");
    }
    operator.stop().await;
}

/// The operator's writes to a swarm and its agents.
fn writes(world: &World) -> Vec<(String, String)> {
    let writes = world.operator_writes().into_iter();
    writes.filter(|(_, name)| name.contains("team")).collect()
}
