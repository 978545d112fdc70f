//! The catalog tells what the harness runs.

use std::collections::BTreeMap;

use fakes::model::Wire;
use foundry_store::{Effect, Family, Store};
use pretty_assertions::assert_eq;
use serde_json::Value;

use crate::project::{finish, plan};
use crate::scene::Scene;

/// Tools of the coding family that this harness does not run yet (CODE-16).
const LATER: &[&str] = &["code_intel"];
/// Offered only where work is delivered, as it is not in a local run.
const DELIVERY: &[&str] = &["git_push", "open_pull_request", "merge_pull_request"];

/// CODE-35
#[tokio::test]
async fn the_catalog_describes_the_coding_tools_as_the_harness_runs_them() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open_file(folder.path().join("foundry.db")).await.unwrap();
    let tools = store.tools().await.unwrap();
    let described: BTreeMap<String, (Value, bool)> = tools
        .into_iter()
        .filter(|tool| tool.family == Family::Coding && !LATER.contains(&tool.name.as_str()))
        .map(|tool| (tool.name, (tool.input_schema, tool.effect == Effect::Read)))
        .collect();

    let scene = Scene::answered(Wire::OpenAi, &["build"]).await;
    let run: BTreeMap<String, (Value, bool)> = scene
        .tools()
        .await
        .into_iter()
        .map(|tool| {
            let reads = tool.effect == foundry_kernel::Effect::Read;
            (tool.spec.name.clone(), (tool.spec.input_schema.clone(), reads))
        })
        .collect();
    assert_eq!(described, run);
}

/// CODE-08: offered where work is delivered, and never to any avail.
#[tokio::test]
async fn delivery_is_offered_only_where_there_is_any() {
    let scene = Scene::answered(Wire::OpenAi, &["build"]).await;
    scene.model.script([plan("# Plan"), finish("failed")]);
    scene.ends().await;
    let offered = scene.model.requests()[1].tools();
    assert!(DELIVERY.iter().all(|tool| !offered.contains(&(*tool).to_owned())), "{offered:?}");
}
