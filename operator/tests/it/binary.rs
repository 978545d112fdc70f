//! The executable itself: signals and wrong settings.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::{Duration, Instant};

use foundry_crds::AgentState;
use k8s_openapi::api::coordination::v1::Lease;
use kube::Api;
use pretty_assertions::assert_eq;
use testenv::Process;

use super::world::{World, script};

/// How soon an operator with nothing under way must be gone.
const PROMPT: Duration = Duration::from_secs(5);

fn operator() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_foundry-operator"));
    command.args(["--listen", "127.0.0.1:0"]);
    command
}

fn fails(command: &mut Command) -> String {
    let Output { status, stderr, .. } = command.output().unwrap();
    assert!(!status.success());
    String::from_utf8(stderr).unwrap()
}

/// OPS-01: told to stop, it leaves its processes alive and hands the lease over.
#[tokio::test]
async fn on_sigterm_it_releases_the_lease_at_once_and_leaves_its_processes_alone() {
    let world = World::new("op-term").await;
    let dir = tempfile::tempdir().unwrap();
    let (state, bin) = (dir.path().join("state"), dir.path().join("bin"));
    std::fs::create_dir(&bin).unwrap();
    script(&bin.join("harness"), super::local::OBEDIENT);
    world.harness("agent-v1").await;
    world.agent("ann", |_| {}).await;
    let lease = format!("foundry-operator-{}", world.namespace.name);

    let control_plane = world.control_plane;
    let kubeconfig =
        control_plane.kubeconfig_for_service_account("default", "foundry-operator").await;
    let mut command = operator();
    command
        .args(["--runtime", "local", "--lease-name", &lease])
        .args(["--watch-namespaces", &world.namespace.name])
        .arg("--local-dir")
        .arg(&state)
        .arg("--local-bin-dir")
        .arg(&bin)
        .env("KUBECONFIG", kubeconfig);
    let log = dir.path().join("operator.log");
    let mut process = Process::spawn("foundry-operator", &command, &log).unwrap();
    world.status("the agent runs", "ann", |status| status.state == Some(AgentState::Running)).await;

    process.signal(rustix::process::Signal::TERM);
    let told = Instant::now();
    let status = process.finish(Duration::from_mins(1)).await.unwrap();
    let took = told.elapsed();
    assert!(status.success(), "{status}: {}", process.last_words());
    assert!(took < PROMPT, "it took {took:?}: {}", process.last_words());
    let leases: Api<Lease> = Api::namespaced(world.client(), "default");
    let holder = leases.get(&lease).await.unwrap().spec.unwrap().holder_identity;
    assert_eq!(holder.as_deref(), Some(""), "the lease is free");

    // What it left is another operator's to end.
    let words = ["--runtime", "local", "--local-dir", path(&state), "--local-bin-dir", path(&bin)];
    let next = world.operator(world.config(&words));
    world.edit("ann", serde_json::json!({ "desiredState": "stopped" })).await;
    world
        .status("the agent is stopped", "ann", |status| status.state == Some(AgentState::Stopped))
        .await;
    next.stop().await;
}

fn path(path: &Path) -> &str {
    path.to_str().unwrap()
}

#[test]
fn a_broken_kubeconfig_is_one_clear_line() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("config");
    std::fs::write(&file, "not: [a kubeconfig").unwrap();
    let missing = dir.path().join("missing");
    for file in [file, missing] {
        let said = fails(operator().args(["--runtime", "cluster"]).env("KUBECONFIG", &file));
        let names_both = said.contains(file.to_str().unwrap()) && said.contains("KUBECONFIG");
        assert!(names_both && said.lines().count() == 1, "{said}");
    }
}

/// OPS-01: what the local runtime needs is looked for before anything begins.
#[test]
fn a_local_runtime_without_a_harness_or_a_place_for_it_is_refused_at_once() {
    let dir = tempfile::tempdir().unwrap();
    let file = kubeconfig_of_nobody(dir.path());
    let taken = dir.path().join("a file");
    std::fs::write(&taken, "").unwrap();
    let with = |local_dir: &Path| {
        let mut command = operator();
        command.args(["--runtime", "local", "--local-dir", path(local_dir)]);
        command.args(["--local-bin-dir", path(dir.path())]).env("KUBECONFIG", &file);
        fails(&mut command)
    };
    let said = with(&dir.path().join("state"));
    assert!(said.contains("FOUNDRY_LOCAL_BIN_DIR") && said.contains("harness"), "{said}");
    let said = with(&taken);
    assert!(said.contains("FOUNDRY_LOCAL_DIR") && said.contains(path(&taken)), "{said}");
}

#[test]
fn a_port_in_use_is_told_with_the_way_out() {
    let dir = tempfile::tempdir().unwrap();
    let file = kubeconfig_of_nobody(dir.path());
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let mut command = Command::new(env!("CARGO_BIN_EXE_foundry-operator"));
    command.args(["--runtime", "cluster", "--listen", &address]).env("KUBECONFIG", &file);
    let said = fails(&mut command);
    assert!(said.contains("FOUNDRY_OPERATOR_LISTEN") && said.contains(&address), "{said}");
}

/// A kubeconfig of a server that is not there.
fn kubeconfig_of_nobody(dir: &Path) -> PathBuf {
    let file = dir.join("kubeconfig");
    std::fs::write(
        &file,
        "apiVersion: v1\nkind: Config\ncurrent-context: c\n\
         clusters: [{ name: c, cluster: { server: 'http://127.0.0.1:1' } }]\n\
         contexts: [{ name: c, context: { cluster: c, user: u } }]\nusers: [{ name: u, user: {} }]\n",
    )
    .unwrap();
    file
}

#[test]
fn a_wrong_flag_is_refused_before_anything_starts() {
    let said = fails(operator().args(["--runtime", "moon"]));
    assert!(said.contains("local") && said.contains("cluster"), "{said}");
}
