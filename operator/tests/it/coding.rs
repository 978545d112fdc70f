//! Coding runs in the cluster runtime. The test plays the kubelet, and the API where it
//! writes what a harness reports.

use foundry_crds::agent::Lifetime;
use foundry_crds::coding_run::{Approval, Limits};
use foundry_crds::{Agent, CodingRun, Harness};
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::events::v1::Event;
use kube::ResourceExt as _;
use kube::api::{ListParams, Patch, PatchParams};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use testenv::eventually;

use super::world::{DEADLINE, World, complete, reason};

/// Plays the kubelet: says how the only pod of an agent fares.
#[expect(clippy::disallowed_methods, reason = "the test is another writer")]
pub async fn kubelet_says(world: &World, agent: &str, phase: &str, state: Value) {
    let pod = world.one_pod(agent).await;
    let status = json!({ "status": {
        "phase": phase,
        "containerStatuses": [{
            "name": "harness", "image": "", "imageID": "", "ready": phase == "Running",
            "restartCount": 0, "state": state,
        }],
    } });
    let pods = world.api::<Pod>();
    let nobody = PatchParams::default();
    pods.patch_status(&pod.name_any(), &nobody, &Patch::Merge(status)).await.unwrap();
}

pub async fn process_lives(world: &World, agent: &str) {
    let since = json!({ "running": { "startedAt": "2030-01-01T00:00:00Z" } });
    kubelet_says(world, agent, "Running", since).await;
}

/// What kubectl says, as a person types it.
pub async fn kubectl(world: &World, words: &[&str]) -> String {
    let mut command = std::process::Command::new(world.control_plane.kubectl());
    command
        .arg("--kubeconfig")
        .arg(world.control_plane.kubeconfig())
        .args(["--namespace", &world.namespace.name])
        .args(words);
    // The operator, in this very process, goes on meanwhile.
    let output = tokio::task::spawn_blocking(move || command.output().unwrap()).await.unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    let complaint = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success(), "{words:?}: {said}{complaint}");
    said
}

/// LIFE-06, LIFE-07, LIFE-11, LIFE-14, CODE-31: from `kubectl apply` to the pull request
/// and once more.
#[tokio::test]
async fn a_run_goes_through_its_phases_and_a_restart_begins_them_again() {
    let world = World::new("op-run").await;
    let operator = world.cluster_operator();
    world.can_code().await;
    let run = world.run("fix", |_| {}).await;

    let jobs: Vec<Job> = world.exactly(&["foundry-agent-fix-1"]).await;
    let spec = jobs[0].spec.as_ref().unwrap();
    let rules = &spec.pod_failure_policy.as_ref().unwrap().rules;
    assert_eq!((rules.len(), rules[0].action.as_str()), (1, "Ignore"), "a drain is no failure");
    assert_eq!(spec.pod_replacement_policy.as_deref(), Some("Failed"));
    let deadline = spec.active_deadline_seconds.unwrap();
    assert!((16_100..=16_200).contains(&deadline), "the clock and four hours: {deadline}");
    let agent = world.api::<Agent>().get("fix").await.unwrap();
    assert_eq!(agent.owner_references()[0].uid, run.uid().unwrap());
    assert_eq!(agent.spec.lifetime, Some(Lifetime::Ephemeral));
    assert_eq!(agent.spec.approval, Some(Approval::Person));
    assert_eq!(agent.spec.instructions.as_deref(), Some("Mend the greeting."));
    let status = world.stands("fix", "Pending", "Pending").await;
    assert_eq!((status.agent.as_deref(), status.start_time), (Some("fix"), None));

    process_lives(&world, "fix").await;
    let status = world.stands("fix", "Planning", "Planning").await;
    assert!(status.start_time.is_some());
    let plan = json!({ "documentId": "doc-1", "sha256": "ab12" });
    let question = json!({ "id": "q-1", "kind": "plan", "text": "Build this?" });
    world.report("fix", json!({ "startNumber": 1, "plan": plan, "question": question })).await;
    let awaiting = "--for=jsonpath={.status.phase}=AwaitingApproval";
    kubectl(&world, &["wait", awaiting, "--timeout=60s", "codingrun/fix"]).await;
    let status = world.stands("fix", "AwaitingApproval", "AwaitingApproval").await;
    let (_, message) = complete(&status);
    assert!(message.contains("\"plan_sha256\":\"ab12\""), "{message}");

    let plan = json!({ "documentId": "doc-1", "sha256": "ab12", "approvedBy": "ann" });
    world.report("fix", json!({ "startNumber": 1, "plan": plan })).await;
    world.stands("fix", "Building", "Building").await;
    let result = json!({
        "startNumber": 1, "plan": plan, "branch": "flow/fix", "checkSummary": "2/2",
        "pullRequest": { "url": "https://git.example/acme/greeting/pull/1", "number": 1 },
        "result": { "outcome": "completed", "summary": "The greeting is whole." },
    });
    world.report("fix", result).await;
    kubectl(&world, &["wait", "--for=condition=Complete", "--timeout=60s", "codingrun/fix"]).await;
    let table = kubectl(&world, &["get", "codingruns"]).await;
    let row: Vec<_> = table.lines().nth(1).unwrap().split_whitespace().collect();
    let pull_request = "https://git.example/acme/greeting/pull/1";
    assert_eq!(row[..5], ["fix", "Succeeded", "flow/fix", "2/2", pull_request], "{table}");

    // LIFE-11: the harness expires its agent; the Job goes, and the run stays what it is.
    world.edit("fix", json!({ "lifecycle": "expired", "desiredState": "completed" })).await;
    world.exactly::<Job>(&[]).await;
    world.no_pod("fix").await;
    let ended = world.stands("fix", "Succeeded", "Succeeded").await;
    assert!(ended.completion_time.is_some());
    assert_eq!(complete(&ended).1, "The greeting is whole.");

    // LIFE-14: the same instructions, from the beginning.
    world
        .edit(
            "fix",
            json!({
                "lifecycle": "active", "desiredState": "running", "starts": 1,
                "ttlAt": "2040-01-01T00:00:00Z",
            }),
        )
        .await;
    world.exactly::<Job>(&["foundry-agent-fix-2"]).await;
    let again = world.stands("fix", "Pending", "Pending").await;
    assert_eq!((again.start_number, again.completion_time), (Some(2), None));
    assert_eq!(again.start_time, ended.start_time, "when its first process started");
    process_lives(&world, "fix").await;
    world.stands("fix", "Planning", "Planning").await;
    let agent = world.api::<Agent>().get("fix").await.unwrap();
    assert_eq!(agent.spec.instructions.as_deref(), Some("Mend the greeting."));
    assert_eq!(agent.spec.ttl_at.unwrap().0.to_string(), "2040-01-01T00:00:00Z");
    operator.stop().await;
}

/// WORK-03, WORK-10, WORK-11, WORK-12: as the API server stores it.
#[tokio::test]
async fn the_pod_of_a_run_has_keys_room_and_bounds() {
    let world = World::new("op-run-pod").await;
    let operator = world.cluster_operator();
    world.coding_harness().await;
    world.run("fix", |_| {}).await;
    let pod = world.one_pod("fix").await;
    assert_eq!(pod.labels()["foundry-role"], "coding");
    let spec = pod.spec.unwrap();
    let container = &spec.containers[0];
    assert_eq!(container.image.as_deref(), Some("foundry-harness-coding:dev"));
    assert_eq!(
        json!(container.resources),
        json!({
            "requests": { "cpu": "1", "memory": "2Gi" },
            "limits": { "cpu": "4", "memory": "8Gi" },
        })
    );
    let env = |name: &str| {
        let found = container.env.iter().flatten().find(|variable| variable.name == name);
        found.and_then(|variable| variable.value.clone()).unwrap_or_default()
    };
    assert_eq!(env("GOMAXPROCS"), "4");
    assert_eq!(env("GOMEMLIMIT"), "7372MiB");
    assert_eq!(env("NODE_OPTIONS"), "--max-old-space-size=6144");
    assert_eq!(env("FOUNDRY_START_NUMBER"), "1");
    let volumes = spec.volumes.unwrap();
    let keys = volumes.iter().find(|volume| volume.name == "ssh").unwrap();
    assert_eq!(
        json!(keys.secret),
        json!({ "secretName": "foundry-harness-ssh", "defaultMode": 0o400 })
    );
    let mount = container.volume_mounts.iter().flatten().find(|mount| mount.name == "ssh").unwrap();
    assert_eq!(mount.mount_path, env("FOUNDRY_SSH_DIR"));
    assert_eq!(mount.read_only, Some(true));

    // A cluster says in the events of the pod alone what it waits for; the run says it too.
    let status = world.stands("fix", "Pending", "SecretNotFound").await;
    assert!(complete(&status).1.contains("\"foundry-harness-ssh\" not found"));
    operator.stop().await;
}

/// What killed a harness reaches the run.
#[tokio::test]
async fn a_harness_out_of_memory_is_lost_and_its_run_failed() {
    let world = World::new("op-run-lost").await;
    let operator = world.cluster_operator();
    world.can_code().await;
    world.run("fix", |_| {}).await;
    process_lives(&world, "fix").await;
    world.stands("fix", "Planning", "Planning").await;
    let killed = json!({ "running": null, "terminated": {
        "reason": "OOMKilled", "exitCode": 137, "startedAt": null,
        "finishedAt": "2030-01-01T00:00:01Z",
    } });
    kubelet_says(&world, "fix", "Failed", killed).await;
    let status = world.stands("fix", "Failed", "HarnessLost").await;
    let (_, message) = complete(&status);
    assert!(message.contains("OOMKilled") && message.contains("restart its agent"), "{message}");
    assert!(status.completion_time.is_some() && status.gone_since.is_none());
    let events = world.api::<Event>().list(&ListParams::default()).await.unwrap().items;
    let waited = events.iter().any(|event| event.reason.as_deref() == Some("Finishing"));
    assert!(waited, "a result may be on its way");
    kubectl(&world, &["wait", "--for=condition=Stalled", "--timeout=60s", "codingrun/fix"]).await;
    operator.stop().await;
}

/// A person's stop ends the process and leaves the run as far as it came; a start begins
/// it again.
#[tokio::test]
async fn a_stopped_run_is_unfinished_and_a_start_begins_it_again() {
    let world = World::new("op-run-stop").await;
    let operator = world.cluster_operator();
    world.can_code().await;
    world.run("fix", |_| {}).await;
    process_lives(&world, "fix").await;
    world.stands("fix", "Planning", "Planning").await;
    world.edit("fix", json!({ "desiredState": "completed" })).await;
    let status = world.stands("fix", "Unfinished", "Stopped").await;
    assert!(status.conditions.iter().any(|it| it.type_ == "Ready" && it.status == "True"));
    world.exactly::<Job>(&[]).await;
    world.edit("fix", json!({ "desiredState": "running", "starts": 1 })).await;
    world.exactly::<Job>(&["foundry-agent-fix-2"]).await;
    let status = world.stands("fix", "Pending", "Pending").await;
    assert_eq!((status.start_number, status.completion_time), (Some(2), None));
    operator.stop().await;
}

/// LIFE-16, CODE-23, CODE-24: model and bounds may change while a run works.
#[tokio::test]
async fn edits_of_a_run_reach_its_agent_and_its_deadline_and_replace_no_process() {
    let world = World::new("op-run-edit").await;
    let operator = world.cluster_operator();
    world.can_code().await;
    world.run("fix", |_| {}).await;
    let pod = world.one_pod("fix").await;
    process_lives(&world, "fix").await;
    world.stands("fix", "Planning", "Planning").await;
    let limits = json!({ "turnsPerAttempt": 90, "wallClock": "2h" });
    patch::<CodingRun>(&world, "fix", json!({ "spec": { "model": "gpt-5", "limits": limits } }))
        .await;
    let agents = world.api::<Agent>();
    let spec = eventually("the edit reaches the agent", DEADLINE, || async {
        let spec = agents.get("fix").await?.spec;
        anyhow::ensure!(spec.model.as_deref() == Some("gpt-5"), "{:?}", spec.model);
        anyhow::Ok(spec)
    })
    .await;
    let wanted = Limits { turns_per_attempt: Some(90), wall_clock: Some("2h".to_owned()) };
    assert_eq!(spec.limits, Some(wanted));
    let jobs = world.api::<Job>();
    eventually("the deadline moves by as much", DEADLINE, || async {
        let spec = jobs.get("foundry-agent-fix-1").await?.spec.unwrap_or_default();
        let seconds = spec.active_deadline_seconds.unwrap_or_default();
        anyhow::ensure!((21_500..=21_600).contains(&seconds), "{seconds}");
        anyhow::Ok(())
    })
    .await;
    let status =
        world.status("the edit counts", "fix", |status| status.start_number == Some(2)).await;
    assert_eq!(status.last_start.unwrap().number, 1, "the process is the same");
    assert_eq!(world.one_pod("fix").await.uid(), pod.uid());
    world.stands("fix", "Planning", "Planning").await;

    // What somebody changes on the agent is put back to what the run says.
    world.edit("fix", json!({ "instructions": "Do something else." })).await;
    eventually("the task is put back", DEADLINE, || async {
        let instructions = agents.get("fix").await?.spec.instructions;
        anyhow::ensure!(instructions.as_deref() == Some("Mend the greeting."), "{instructions:?}");
        anyhow::Ok(())
    })
    .await;
    operator.stop().await;
}

/// A settled run costs no write, and each step of its way is one event.
#[tokio::test]
async fn a_settled_run_costs_no_write_and_its_steps_are_events() {
    let world = World::new("op-run-rest").await;
    let operator = world.cluster_operator();
    world.can_code().await;
    world.run("fix", |_| {}).await;
    process_lives(&world, "fix").await;
    world.stands("fix", "Planning", "Planning").await;
    let before = writes(&world);
    for round in 0..5 {
        // Each round wakes every run of the Harness.
        let image = format!("registry.example/coding:{round}");
        patch::<Harness>(&world, "coding-v1", json!({ "spec": { "image": image } })).await;
        let harnesses = world.api::<Harness>();
        eventually("the Harness is reported", DEADLINE, || async {
            let told = harnesses.get("coding-v1").await?.status.and_then(|status| status.image);
            anyhow::ensure!(told.as_deref() == Some(&*image), "{told:?}");
            anyhow::Ok(())
        })
        .await;
    }
    assert_eq!(writes(&world), before, "a settled run is written again");
    // Pending, in the words of the agent as its pod comes, and Planning: how many words a
    // fast cluster skips is its own affair, and eight are the most that a step may cost.
    let of_the_run = before.iter().filter(|resource| resource.starts_with("codingruns")).count();
    assert!((1..=8).contains(&of_the_run), "{before:?}");

    let events = world.api::<Event>().list(&ListParams::default()).await.unwrap().items;
    let mut reasons: Vec<_> = events
        .iter()
        .filter(|event| {
            event.regarding.as_ref().and_then(|it| it.kind.as_deref()) == Some("CodingRun")
        })
        .filter_map(|event| event.reason.clone())
        .collect();
    reasons.dedup();
    for step in ["Pending", "Planning"] {
        assert_eq!(reasons.iter().filter(|reason| *reason == step).count(), 1, "{reasons:?}");
    }
    operator.stop().await;
}

/// The operator's writes to a run and its agent.
fn writes(world: &World) -> Vec<String> {
    let writes = world.operator_writes().into_iter().filter(|(_, name)| name == "fix");
    writes.map(|(resource, _)| resource).collect()
}

/// LIFE-12: a person who never answers does not keep a pod for ever.
#[tokio::test]
async fn a_run_whose_agent_runs_out_of_time_fails() {
    let world = World::new("op-run-ttl").await;
    let operator = world.cluster_operator();
    world.can_code().await;
    world.run("fix", |_| {}).await;
    process_lives(&world, "fix").await;
    world.stands("fix", "Planning", "Planning").await;
    world.edit("fix", json!({ "ttlAt": "2020-01-01T00:00:00Z" })).await;
    let status = world.stands("fix", "Failed", "Expired").await;
    assert!(complete(&status).1.contains("restart the agent"), "{}", complete(&status).1);
    world.exactly::<Job>(&[]).await;
    let agent = world.api::<Agent>().get("fix").await.unwrap().status.unwrap();
    assert_eq!(reason(&agent, "Ready", true), Some("Expired"));
    operator.stop().await;
}

#[expect(clippy::disallowed_methods, reason = "the test is another writer")]
pub async fn patch<K>(world: &World, name: &str, body: Value)
where
    K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
        + serde::de::DeserializeOwned
        + Clone
        + std::fmt::Debug,
{
    let patch = Patch::Merge(body);
    world.api::<K>().patch(name, &PatchParams::default(), &patch).await.unwrap();
}
