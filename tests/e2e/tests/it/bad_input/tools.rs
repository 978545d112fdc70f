//! Machines on which a tool is missing.

use std::path::PathBuf;
use std::process::Command;

use rstest::rstest;

use super::attempt::{Attempt, Place, assert_says};

/// All that is asked for, and kubectl; but no cargo, so that nothing can be built.
const TOOLS: [&str; 10] =
    ["go", "node", "npm", "python3", "git", "ssh", "curl", "cc", "setpriv", "kubectl"];

/// A folder with tools that do nothing, well; one is missing.
fn tools_without(place: &Place, missing: &str) -> PathBuf {
    let folder = place.path("given/tools");
    std::fs::create_dir(&folder).unwrap();
    // Written by another process: a file this one has open for writing could be passed
    // on to a child that a test beside starts, and would be too busy to be run.
    let script = r#"for tool; do printf '#!/bin/sh\n' > "$0/$tool" && chmod +x "$0/$tool"; done"#;
    let mut shell = Command::new("/bin/sh");
    shell.args(["-c", script]).arg(&folder);
    shell.args(TOOLS.iter().filter(|&&tool| tool != missing));
    assert!(shell.status().unwrap().success());
    folder
}

#[rstest]
#[case::go("go", "missing, please install: Go 1.26 or newer, https://go.dev/dl")]
#[case::node("node", "missing, please install: Node, https://nodejs.org")]
#[case::python("python3", "missing, please install: Python 3, package python3")]
#[case::git("git", "missing, please install: git, package git")]
#[case::ssh("ssh", "missing, please install: ssh, package openssh-client")]
#[case::curl("curl", "missing, please install: curl, package curl")]
#[case::compiler("cc", "missing, please install: a C compiler, package build-essential")]
#[tokio::test]
async fn the_tests_name_the_one_tool_that_is_missing(#[case] tool: &str, #[case] remedy: &str) {
    let place = Place::new();
    let tools = tools_without(&place, tool);
    let line = Attempt::xtask(&place, "test").set("PATH", tools).refusal().await;
    assert_eq!(line, format!("error: {remedy}"));
}

#[tokio::test]
async fn the_tests_name_all_tools_that_are_missing_at_once() {
    let place = Place::new();
    let line = Attempt::xtask(&place, "test").refusal().await;
    assert_says(&line, &["Go 1.26", "Node", "Python 3", "git", "ssh", "C compiler", "setpriv"]);
}

#[tokio::test]
async fn the_control_plane_is_not_built_without_go() {
    let place = Place::new();
    let tools = tools_without(&place, "go");
    let build = Attempt::xtask(&place, "control-plane").set("PATH", tools);
    let line = build.refusal_leaving(&["cache/foundry/control-plane/build.lock"]).await;
    assert_says(&line, &["Go is missing", "https://go.dev/dl", "KUBEBUILDER_ASSETS"]);
}

#[tokio::test]
async fn the_demo_names_go_before_it_builds_anything() {
    let place = Place::new();
    let tools = tools_without(&place, "go");
    let demo = Attempt::xtask(&place, "demo").argument("--exit").set("PATH", tools);
    let demo = demo.argument("--data-dir").argument(place.path("demo"));
    let left = ["cache/foundry/control-plane/build.lock", "demo/foundry-demo"];
    let line = demo.refusal_leaving(&left).await;
    assert_says(&line, &["Go is missing", "https://go.dev/dl", "KUBEBUILDER_ASSETS"]);
}

#[tokio::test]
async fn the_demo_names_git_before_it_lays_anything_into_a_cluster() {
    let cluster = testenv::control_plane().await;
    let place = Place::new();
    let tools = tools_without(&place, "git");
    let demo = Attempt::xtask(&place, "demo").argument("--exit").set("PATH", tools);
    let demo = demo.argument("--kubeconfig").argument(cluster.kubeconfig());
    let demo = demo.argument("--data-dir").argument(place.path("demo"));
    let line = demo.refusal_leaving(&["demo/foundry-demo"]).await;
    assert_eq!(line, "error: missing, please install: git, package git");
}
