//! The local runtime, with a script in place of the harness: the operator does not
//! care what it runs. The harness itself is exercised end to end elsewhere.

use std::path::Path;

use anyhow::{Context as _, ensure};
use foundry_crds::agent::{Activation, Lifetime};
use foundry_crds::{Agent, AgentState};
use k8s_openapi::api::authentication::v1::{TokenReview, TokenReviewSpec};
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use k8s_openapi::jiff::Timestamp;
use kube::api::{DeleteParams, PostParams};
use kube::{Api, ResourceExt as _};
use pretty_assertions::assert_eq;
use serde_json::json;
use tempfile::TempDir;
use testenv::eventually;

use super::world::{DEADLINE, Operator, World, reason, script};

/// Holds its lock and writes its id, as a harness does, then waits to be told to end.
pub const OBEDIENT: &str = r#"#!/bin/sh
exec 9>>"$FOUNDRY_LOCK_FILE"
flock -n 9 || exit 75
echo $$ > "$FOUNDRY_LOCK_FILE"
echo "agent $FOUNDRY_AGENT_ID token $FOUNDRY_TOKEN_FILE kubeconfig ${KUBECONFIG:-none}"
trap 'exit 0' TERM
while :; do sleep 0.05 9>&-; done
"#;

struct Machine {
    world: World,
    dir: TempDir,
}

impl Machine {
    async fn new(prefix: &str, harness: &str) -> Self {
        let world = World::new(prefix).await;
        // A path with a blank in it: people have those.
        let dir = tempfile::Builder::new().prefix("foundry local ").tempdir().unwrap();
        std::fs::create_dir(dir.path().join("bin")).unwrap();
        script(&dir.path().join("bin/harness"), harness);
        world.harness("agent-v1").await;
        Self { world, dir }
    }

    fn operator(&self) -> Operator {
        let dir = self.dir.path().join("state");
        let bin = self.dir.path().join("bin");
        let words = ["--runtime", "local", "--local-dir", dir.to_str().unwrap()];
        let words = [&words[..], &["--local-bin-dir", bin.to_str().unwrap()]].concat();
        self.world.operator(self.world.config(&words))
    }

    async fn running(&self, agent: &str, start: i64) -> i32 {
        self.world
            .status("the agent runs", agent, |status| {
                status.state == Some(AgentState::Running)
                    && status.last_start.as_ref().is_some_and(|it| it.number == start)
            })
            .await;
        self.pid(&format!("foundry-agent-{agent}-{start}-local")).await.unwrap()
    }

    /// The process id in the lock file of a Pod's process.
    async fn pid(&self, pod: &str) -> anyhow::Result<i32> {
        let uid = self.world.api::<Pod>().get(pod).await?.uid().context("no uid")?;
        let lock = self.dir.path().join("state/pods").join(uid).join("lock");
        let text = std::fs::read_to_string(&lock)?;
        text.trim().parse().with_context(|| format!("{text:?} is no process id"))
    }

    fn log(&self, pod: &str) -> String {
        let logs = self.dir.path().join("state/logs").join(&self.world.namespace.name);
        std::fs::read_to_string(logs.join(format!("{pod}.log"))).unwrap()
    }
}

fn lives(pid: i32) -> bool {
    let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
    // A zombie waits for a parent that this test process is not.
    !stat.is_empty() && !stat.rsplit(')').next().unwrap_or_default().trim().starts_with('Z')
}

async fn ended(pid: i32) {
    eventually("the process has ended", DEADLINE, || async move {
        ensure!(!lives(pid), "process {pid} lives");
        anyhow::Ok(())
    })
    .await;
}

/// OPS-01, LIFE-03, LIFE-10, LIFE-16
#[tokio::test]
async fn a_local_agent_is_a_process_that_restart_replaces_and_stop_ends() {
    let machine = Machine::new("op-local", OBEDIENT).await;
    let world = &machine.world;
    let operator = machine.operator();
    world.agent("ann", |_| {}).await;
    let first = machine.running("ann", 1).await;
    assert!(lives(first));
    let pod = world.api::<Pod>().get("foundry-agent-ann-1-local").await.unwrap();
    assert_eq!(pod.spec.as_ref().unwrap().scheduler_name.as_deref(), Some("foundry-local"));
    assert_eq!(pod.status.as_ref().unwrap().phase.as_deref(), Some("Running"));
    let log = machine.log("foundry-agent-ann-1-local");
    assert!(log.contains("agent ann token ") && log.contains("kubeconfig none"), "{log}");

    world.edit("ann", json!({ "instructions": "more" })).await;
    world.status("the edit counts", "ann", |status| status.start_number == Some(2)).await;
    assert_eq!(machine.running("ann", 1).await, first, "the process is the same");

    world.edit("ann", json!({ "starts": 1 })).await;
    let second = machine.running("ann", 3).await;
    assert_ne!(first, second);
    ended(first).await;

    world.edit("ann", json!({ "desiredState": "stopped" })).await;
    let stopped = |status: &foundry_crds::AgentStatus| status.state == Some(AgentState::Stopped);
    world.status("the agent is stopped", "ann", stopped).await;
    assert!(!lives(second), "stopped is said when the process is gone");
    world.exactly::<Pod>(&[]).await;
    operator.stop().await;
}

/// OPS-01: one identity path for both runtimes.
#[tokio::test]
async fn the_token_of_a_process_names_its_pod_and_is_for_the_api_alone() {
    let machine = Machine::new("op-token", OBEDIENT).await;
    let operator = machine.operator();
    machine.world.agent("ann", |_| {}).await;
    machine.running("ann", 1).await;
    let log = machine.log("foundry-agent-ann-1-local");
    let path = log.split(" token ").nth(1).unwrap().split(" kubeconfig").next().unwrap();
    let token = std::fs::read_to_string(path).unwrap();
    let mode = std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(path).unwrap());
    assert_eq!(mode & 0o777, 0o600);

    let review = |audience: &str| TokenReview {
        spec: TokenReviewSpec {
            token: Some(token.clone()),
            audiences: Some(vec![audience.to_owned()]),
        },
        ..TokenReview::default()
    };
    let reviews: Api<TokenReview> = Api::all(machine.world.client());
    let answer = reviews.create(&PostParams::default(), &review("foundry-api")).await.unwrap();
    let user = answer.status.unwrap().user.unwrap();
    let extra = user.extra.unwrap();
    assert_eq!(extra["authentication.kubernetes.io/pod-name"], ["foundry-agent-ann-1-local"]);
    let elsewhere = reviews.create(&PostParams::default(), &review("another")).await.unwrap();
    assert_ne!(elsewhere.status.unwrap().authenticated, Some(true));

    // The end leaves nothing of it on the disk.
    machine.world.edit("ann", json!({ "desiredState": "stopped" })).await;
    machine
        .world
        .status("stopped", "ann", |status| status.state == Some(AgentState::Stopped))
        .await;
    assert!(!Path::new(path).exists());
    operator.stop().await;
}

/// OPS-01: processes outlive the operator; the next one adopts them.
#[tokio::test]
async fn a_new_operator_adopts_what_lives_and_ends_what_has_no_pod() {
    let machine = Machine::new("op-adopt", OBEDIENT).await;
    let world = &machine.world;
    let operator = machine.operator();
    world.agent("ann", |_| {}).await;
    world.agent("ben", |_| {}).await;
    let ann = machine.running("ann", 1).await;
    let ben = machine.running("ben", 1).await;
    operator.stop().await;
    assert!(lives(ann) && lives(ben));
    world.api::<Agent>().delete("ben", &DeleteParams::default()).await.unwrap();
    world.exactly::<Pod>(&["foundry-agent-ann-1-local"]).await;
    let before = world.api::<Agent>().get("ann").await.unwrap();

    let operator = machine.operator();
    ended(ben).await;
    assert_eq!(machine.running("ann", 1).await, ann, "the process is the same");
    let after = world.api::<Agent>().get("ann").await.unwrap();
    assert_eq!(before.metadata.resource_version, after.metadata.resource_version);

    // What it adopted it can end.
    world.edit("ann", json!({ "desiredState": "stopped" })).await;
    ended(ann).await;
    world
        .status("the agent is stopped", "ann", |status| status.state == Some(AgentState::Stopped))
        .await;
    operator.stop().await;
}

/// OPS-01: a crash is a condition a person can read, and is tried again.
#[tokio::test]
async fn a_process_that_keeps_ending_is_a_crash_loop_and_heals() {
    let machine = Machine::new("op-loop", "#!/bin/sh\necho no luck\nexit 3\n").await;
    let world = &machine.world;
    let operator = machine.operator();
    world.agent("ann", |_| {}).await;
    let status = world
        .status("the crashes are told", "ann", |status| {
            reason(status, "Ready", false) == Some("CrashLoop")
        })
        .await;
    let message = &status.conditions.iter().find(|it| it.type_ == "Ready").unwrap().message;
    assert!(message.contains("exit status 3") && message.contains("its log is"), "{message}");
    assert_ne!(status.state, Some(AgentState::Running));
    assert!(machine.log("foundry-agent-ann-1-local").contains("no luck"));

    script(&machine.dir.path().join("bin/harness"), OBEDIENT);
    let pid = machine.running("ann", 1).await;
    // A process that is killed is begun again under the same start.
    kill(pid);
    eventually("another process lives", DEADLINE, || async {
        let now = machine.pid("foundry-agent-ann-1-local").await?;
        ensure!(now != pid && lives(now), "{now}");
        anyhow::Ok(())
    })
    .await;
    world.edit("ann", json!({ "desiredState": "stopped" })).await;
    world
        .status("the agent is stopped", "ann", |status| status.state == Some(AgentState::Stopped))
        .await;
    operator.stop().await;
}

/// OPS-01, LIFE-07: an ephemeral process runs once; its end is final for its start.
#[tokio::test]
async fn an_ephemeral_process_runs_once_and_its_exit_is_told() {
    let exits = "#!/bin/sh\nexec 9>>\"$FOUNDRY_LOCK_FILE\"\nflock -n 9 || exit 75\n\
                 echo $$ > \"$FOUNDRY_LOCK_FILE\"\n[ \"$FOUNDRY_AGENT_ID\" = good ]\n";
    let machine = Machine::new("op-once", exits).await;
    let world = &machine.world;
    let operator = machine.operator();
    world.agent("parent", |spec| spec.activation = Some(Activation::OnDemand)).await;
    for name in ["good", "bad"] {
        let ttl = Timestamp::from_second(4_000_000_000).unwrap();
        world
            .agent(name, |spec| {
                spec.lifetime = Some(Lifetime::Ephemeral);
                spec.parent = Some("parent".to_owned());
                spec.ttl_at = Some(Time(ttl));
            })
            .await;
    }
    for (name, is_ready, why) in [("good", true, "Completed"), ("bad", false, "Failed")] {
        let status = world
            .status("the process ended", name, |status| status.finished_start == Some(1))
            .await;
        assert_eq!(reason(&status, "Ready", is_ready), Some(why), "{name}");
        assert_eq!(status.state, Some(AgentState::Stopped));
    }
    world.edit("bad", json!({ "starts": 1 })).await;
    world.status("it ran again", "bad", |status| status.finished_start == Some(2)).await;
    world.exactly::<Pod>(&["foundry-agent-bad-2-local", "foundry-agent-good-1-local"]).await;
    operator.stop().await;
}

fn kill(pid: i32) {
    let status = std::process::Command::new("kill").args(["-9", &pid.to_string()]).status();
    assert!(status.unwrap().success());
}
