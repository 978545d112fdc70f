//! Coding runs in the local runtime, with a script in place of the harness.

use std::path::{Path, PathBuf};

use anyhow::{Context as _, ensure};
use foundry_crds::Agent;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::api::events::v1::Event;
use kube::ResourceExt as _;
use kube::api::ListParams;
use pretty_assertions::assert_eq;
use serde_json::json;
use tempfile::TempDir;
use testenv::eventually;

use super::world::{DEADLINE, Operator, World, complete, script};

/// Holds its lock, begins a command in a session of its own as a coding harness does,
/// tells what it was given, and waits.
const HARNESS: &str = r#"#!/bin/sh
exec 9>>"$FOUNDRY_LOCK_FILE"
flock -n 9 || exit 75
echo $$ > "$FOUNDRY_LOCK_FILE"
setsid sleep 1000 9>&- &
echo "command=$!"
echo "start=$FOUNDRY_START_NUMBER home=$HOME"
echo "keys=$FOUNDRY_SSH_DIR"
echo "github=${GITHUB_TOKEN:+given} azure=${AZURE_DEVOPS_TOKEN:+given}"
echo "ready"
trap 'exit 0' TERM
while :; do sleep 0.05 9>&-; done
"#;

const KEY: &str = "planted-private-key";
const TOKEN: &str = "planted-github-token";

struct Machine {
    world: World,
    dir: TempDir,
}

impl Machine {
    async fn new(prefix: &str) -> Self {
        let world = World::new(prefix).await;
        let dir = tempfile::Builder::new().prefix("foundry local ").tempdir().unwrap();
        let bin = dir.path().join("bin");
        std::fs::create_dir(&bin).unwrap();
        script(&bin.join("harness"), HARNESS);
        script(&bin.join("harness-coding"), HARNESS);
        world.coding_harness().await;
        Self { world, dir }
    }

    fn operator(&self) -> Operator {
        let dir = self.dir.path().join("state");
        let bin = self.dir.path().join("bin");
        let words = ["--runtime", "local", "--local-dir", dir.to_str().unwrap()];
        let words = [&words[..], &["--local-bin-dir", bin.to_str().unwrap()]].concat();
        self.world.operator(self.world.config(&words))
    }

    /// What the process of a run's first start says of this, once it is ready.
    async fn said(&self, word: &str) -> String {
        let logs = self.dir.path().join("state/logs").join(&self.world.namespace.name);
        let log = logs.join("foundry-agent-fix-1-local.log");
        let text = eventually("the harness is ready", DEADLINE, || async {
            let text = std::fs::read_to_string(&log).map_err(anyhow::Error::from)?;
            ensure!(text.contains("ready"), "{text}");
            anyhow::Ok(text)
        })
        .await;
        let (_, rest) = text.split_once(&format!("{word}=")).unwrap();
        rest.lines().next().unwrap().to_owned()
    }

    async fn pid(&self) -> anyhow::Result<String> {
        let pod = self.world.api::<Pod>().get("foundry-agent-fix-1-local").await?;
        let uid = pod.uid().context("no uid")?;
        let lock = self.dir.path().join("state/pods").join(uid).join("lock");
        Ok(std::fs::read_to_string(lock)?.trim().to_owned())
    }
}

fn mode(path: &Path) -> u32 {
    std::os::unix::fs::MetadataExt::mode(&std::fs::metadata(path).unwrap()) & 0o777
}

async fn ended(pid: &str) {
    eventually("the process has ended", DEADLINE, || async {
        let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
        ensure!(stat.is_empty() || stat.contains(") Z "), "{stat}");
        anyhow::Ok(())
    })
    .await;
}

/// OPS-01, WORK-12: what a pod mounts is a folder here; what is missing is waited for.
#[tokio::test]
async fn a_local_run_waits_for_its_keys_is_given_them_and_leaves_none_behind() {
    let machine = Machine::new("op-keys").await;
    let world = &machine.world;
    let operator = machine.operator();
    world.run("fix", |_| {}).await;
    let status = world.stands("fix", "Pending", "SecretNotFound").await;
    let (_, message) = complete(&status);
    assert!(message.contains("\"foundry-harness-ssh\" not found"), "{message}");
    let pods = world.api::<Pod>();
    let waiting = eventually("the Pod waits", DEADLINE, || async {
        let pod = pods.get("foundry-agent-fix-1-local").await?;
        let told = json!(pod.status).to_string();
        ensure!(told.contains("SecretNotFound") && told.contains("create it"), "{told}");
        anyhow::Ok(told)
    })
    .await;
    assert!(waiting.contains("Pending"), "{waiting}");

    world.secret("foundry-harness-git", &[("GITHUB_TOKEN", TOKEN)]).await;
    world.secret("foundry-harness-ssh", &[("github", KEY), ("known_hosts", "host key")]).await;
    world.stands("fix", "Planning", "Planning").await;
    assert!(machine.said("start").await.starts_with("1 home="));
    assert_eq!(machine.said("github").await, "given azure=", "only what the Secret holds");
    let keys = PathBuf::from(machine.said("keys").await);
    assert_eq!(std::fs::read_to_string(keys.join("github")).unwrap(), KEY);
    assert_eq!((mode(&keys), mode(&keys.join("github"))), (0o700, 0o400));

    // No secret stands anywhere that somebody else reads.
    let agent = json!(world.api::<Agent>().get("fix").await.unwrap());
    let pod = json!(pods.get("foundry-agent-fix-1-local").await.unwrap());
    let events = json!(world.api::<Event>().list(&ListParams::default()).await.unwrap().items);
    for told in [agent, pod, events] {
        let told = told.to_string();
        assert!(!told.contains(KEY) && !told.contains(TOKEN), "{told}");
    }
    let pid = machine.pid().await.unwrap();
    let arguments = std::fs::read_to_string(format!("/proc/{pid}/cmdline")).unwrap();
    assert!(!arguments.contains(TOKEN), "{arguments}");

    world.edit("fix", json!({ "desiredState": "completed" })).await;
    world.stands("fix", "Unfinished", "Stopped").await;
    assert!(!keys.exists(), "the keys go with the folder of the Pod");
    operator.stop().await;
}

/// OPS-01, LIFE-09: a harness that is killed takes its commands with it and fails its run.
#[tokio::test]
async fn a_killed_local_harness_is_lost_with_all_it_started() {
    let machine = Machine::new("op-killed").await;
    let world = &machine.world;
    world.secret("foundry-harness-ssh", &[("known_hosts", "host key")]).await;
    let operator = machine.operator();
    world.run("fix", |_| {}).await;
    world.stands("fix", "Planning", "Planning").await;
    let command = machine.said("command").await;
    let pid = machine.pid().await.unwrap();
    assert!(std::process::Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    ended(&command).await;
    let status = world.stands("fix", "Failed", "HarnessLost").await;
    let (_, message) = complete(&status);
    assert!(message.contains("ended by signal 9"), "{message}");
    let pod = world.api::<Pod>().get("foundry-agent-fix-1-local").await.unwrap();
    assert_eq!(pod.status.unwrap().phase.as_deref(), Some("Failed"));
    operator.stop().await;
}

/// OPS-01, LIFE-09: killed while no operator looked, it is lost all the same.
#[tokio::test]
async fn a_local_harness_that_was_killed_between_two_operators_is_lost_too() {
    let machine = Machine::new("op-between").await;
    let world = &machine.world;
    world.secret("foundry-harness-ssh", &[("known_hosts", "host key")]).await;
    let operator = machine.operator();
    world.run("fix", |_| {}).await;
    world.stands("fix", "Planning", "Planning").await;
    let command = machine.said("command").await;
    let pid = machine.pid().await.unwrap();
    operator.stop().await;
    assert!(std::process::Command::new("kill").args(["-9", &pid]).status().unwrap().success());
    ended(&pid).await;

    let operator = machine.operator();
    ended(&command).await;
    let status = world.stands("fix", "Failed", "HarnessLost").await;
    assert!(complete(&status).1.contains("no operator was looking"), "{}", complete(&status).1);
    operator.stop().await;
}
