//! What a person sees through kubectl.

use std::process::{Command, Output};

use kube::api::{DynamicObject, PostParams};
use serde_json::json;
use testenv::{TestNamespace, control_plane};

use super::cases::Kind;

async fn kubectl(namespace: &TestNamespace, arguments: &[&str]) -> Output {
    let control_plane = control_plane().await;
    Command::new(control_plane.kubectl())
        .arg("--kubeconfig")
        .arg(control_plane.kubeconfig())
        .args(["--namespace", &namespace.name])
        .args(arguments)
        .output()
        .unwrap()
}

async fn said(namespace: &TestNamespace, arguments: &[&str]) -> String {
    let output = kubectl(namespace, arguments).await;
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    said
}

/// A file that is gone when the test is.
struct Manifest(String);

impl Manifest {
    fn of(namespace: &TestNamespace, object: &DynamicObject) -> Self {
        Self::with(namespace, &serde_json::to_string(object).unwrap())
    }

    fn with(namespace: &TestNamespace, text: &str) -> Self {
        let path = std::env::temp_dir().join(format!("{}.yaml", namespace.name));
        std::fs::write(&path, text).unwrap();
        Self(path.into_os_string().into_string().unwrap())
    }

    fn path(&self) -> &str {
        &self.0
    }
}

impl Drop for Manifest {
    fn drop(&mut self) {
        drop(std::fs::remove_file(&self.0));
    }
}

async fn with_one_of_each() -> TestNamespace {
    let namespace = testenv::namespace(control_plane().await, "look").await;
    for kind in Kind::ALL {
        let api = kind.api(namespace.client.clone(), &namespace.name);
        api.create(&PostParams::default(), &kind.object(&json!({}))).await.unwrap();
    }
    namespace
}

#[tokio::test]
async fn explain_gives_meaning_unit_and_default_of_a_field() {
    let namespace = testenv::namespace(control_plane().await, "look").await;
    for (field, says) in [
        ("agent.spec.maxTurns", "from 10 to 1000; 10 by default"),
        ("agent.spec.lifetime", "(the default) until it is archived"),
        ("codingrun.spec.limits.wallClock", "from 1m to 24h; 30m by default"),
        ("codingrun.status.phase", "Where the run stands"),
        ("agent.spec.limits.wallClock", "from 1m to 24h; 30m by default"),
        ("model.spec.prices", "per million tokens"),
        ("harness.spec.env", "never secrets"),
        ("swarm.spec.ttl", "from 1m to 24h; 4h by default"),
        ("swarm.status.phase", "Where the swarm stands"),
        ("skill.spec.visibility", "`workspace` (the default)"),
        ("skill.spec.files.path", "Relative path with forward slashes"),
        ("toolserver.spec.write", "only read-only ones by default"),
        ("agent.spec.revisionHistoryLimit", "from 1 to 1000. Absent means all"),
        ("agent.status.conditions.reason", "docs/conditions.md"),
    ] {
        let text = said(&namespace, &["explain", field]).await;
        let flowing = text.split_whitespace().collect::<Vec<_>>().join(" ");
        assert!(flowing.contains(says), "{field}: {text}");
    }
}

#[tokio::test]
async fn get_foundry_lists_every_kind() {
    let namespace = with_one_of_each().await;
    let mut names: Vec<String> = said(&namespace, &["get", "foundry", "--output", "name"])
        .await
        .lines()
        .map(str::to_owned)
        .collect();
    names.sort();
    assert_eq!(
        names,
        [
            "agent.foundry.flow.life/scout",
            "codingrun.foundry.flow.life/scout",
            "harness.foundry.flow.life/scout",
            "model.foundry.flow.life/scout",
            "skill.foundry.flow.life/scout",
            "swarm.foundry.flow.life/scout",
            "toolserver.foundry.flow.life/scout",
        ]
    );
}

#[tokio::test]
async fn the_columns_answer_what_a_person_asks() {
    let namespace = with_one_of_each().await;
    for (short_name, columns) in [
        ("ag", "NAME READY STATE LIFETIME MODEL AGE HARNESS STARTS CONTEXT REASON"),
        ("crun", "NAME PHASE BRANCH CHECKS PR AGE AGENT TURNS COST REASON"),
        ("hn", "NAME READY IMAGE AGE"),
        ("fmd", "NAME READY PROVIDER UPSTREAM AGE"),
        ("sk", "NAME READY VERSION AGE VISIBILITY REASON"),
        ("sw", "NAME PHASE MEMBERS AGE PARENT REASON"),
        ("ts", "NAME READY TOOLS URL AGE WRITE REASON"),
    ] {
        let table = said(&namespace, &["get", short_name, "--output", "wide"]).await;
        let header = table.lines().next().unwrap();
        assert_eq!(header.split_whitespace().collect::<Vec<_>>().join(" "), columns);
    }
    let agents = said(&namespace, &["get", "agents"]).await;
    let row: Vec<&str> = agents.lines().nth(1).unwrap().split_whitespace().collect();
    assert_eq!(row[..3], ["scout", "persistent", "auto"], "{agents}");
}

#[tokio::test]
async fn a_misspelt_field_is_refused_by_name() {
    let namespace = testenv::namespace(control_plane().await, "look").await;
    let agent = Kind::Agent.object(&json!({ "spec": { "instruction": "Watch." } }));
    let manifest = Manifest::of(&namespace, &agent);
    let output = kubectl(&namespace, &["create", "--filename", manifest.path()]).await;
    let complaint = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success());
    assert!(complaint.contains("unknown field \"spec.instruction\""), "{complaint}");
}

#[tokio::test]
async fn a_new_object_says_that_nobody_has_looked_at_it_yet() {
    let namespace = testenv::namespace(control_plane().await, "look").await;
    for kind in Kind::ALL {
        let api = kind.api(namespace.client.clone(), &namespace.name);
        let object = api.create(&PostParams::default(), &kind.object(&json!({}))).await.unwrap();
        assert_eq!(object.data["status"], json!({ "observedGeneration": -1 }), "{kind:?}");
    }
}

#[tokio::test]
async fn defaults_leave_a_gitops_manifest_without_difference() {
    let namespace = testenv::namespace(control_plane().await, "look").await;
    for kind in Kind::ALL {
        let manifest = Manifest::of(&namespace, &kind.object(&json!({})));
        for verb in ["apply", "diff"] {
            said(&namespace, &[verb, "--server-side", "--filename", manifest.path()]).await;
        }
    }
}

#[tokio::test]
async fn the_examples_are_accepted_as_they_are() {
    let namespace = testenv::namespace(control_plane().await, "look").await;
    let mut accepted = 0;
    for folder in ["quickstart", "models", "coding", "swarm", "tools"] {
        let folder = testenv::workspace_root().join("examples").join(folder);
        for file in std::fs::read_dir(folder).unwrap() {
            let path = file.unwrap().path();
            let is_manifest = path.extension().is_some_and(|it| it == "yaml")
                && path.file_name().is_some_and(|it| it != "kustomization.yaml");
            if !is_manifest {
                continue;
            }
            // Whatever namespace they are written for, it is this one.
            let text = std::fs::read_to_string(&path).unwrap();
            let lines = text.lines().filter(|line| !line.starts_with("  namespace: "));
            let manifest = Manifest::with(&namespace, &lines.collect::<Vec<_>>().join("\n"));
            said(&namespace, &["apply", "--dry-run=server", "--filename", manifest.path()]).await;
            accepted += 1;
        }
    }
    assert!(accepted >= 11, "{accepted}");
}
