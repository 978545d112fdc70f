//! A coding run whose conversation outgrows its model's window.

use std::fs;
use std::path::PathBuf;

use fakes::model::{ModelServer, Overflow, Reply, When, Window};
use foundry_crds::Model;
use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::{Value, json};

use crate::coding::notes;
use crate::coding::play::{Part, read};
use crate::coding::run::reported;
use crate::coding::world::World;

/// The window that the provider has, in tokens.
const WINDOW: u64 = 30_000;
/// Files that are read, and their size: together more than the window holds.
const TABLES: usize = 8;
const TABLE_BYTES: usize = 20_000;

/// KERN-05, CODE-23, CODE-39: the model's window is told by the catalog, or by nobody but
/// the provider's refusal.
#[rstest]
#[case::the_catalog_tells("window-told", json!(WINDOW), 0)]
#[case::the_provider_refuses("window-untold", Value::Null, 1)]
#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_outgrows_its_models_window_opens_its_pull_request_in_the_same_attempt(
    #[case] name: &str,
    #[case] told: Value,
    #[case] refusals: usize,
) {
    let world = World::shared().await;
    let model = ModelServer::start().await;
    model.window(Window::new(WINDOW).says(Overflow::Native));
    play(&model, Part::Planning, notes::planning());
    let tables = (0..TABLES).map(|number| read(&table(number)));
    play(&model, Part::Building, tables.chain(notes::building()));
    world.create(model_of(name, &model.url(), &told)).await;
    let spec = json!({"model": name, "approval": "self"});
    let run = world.apply_with(name, &files(&world, name), &spec).await;
    let done = run.until_succeeded().await;

    // One at planning and one at building.
    assert_eq!(reported(&done).attempts, Some(2));
    let compacted = run.log_of("compaction").await;
    assert!(!compacted.is_empty(), "no line says that it was compacted");
    let too_long = |tokens: usize| tokens > usize::try_from(WINDOW).unwrap();
    let requests = model.requests();
    let refused = requests.iter().filter(|request| too_long(request.raw.len() / 4)).count();
    assert_eq!(refused, refusals);
    assert!(requests.iter().all(|request| request.violations.is_empty()));
    // What it is about is not lost with what it read.
    let last = requests.last().unwrap();
    assert!(last.messages().iter().any(|message| message.text.contains(&run.mark)));
    model.finish().unwrap();
}

/// The turns of a phase, each known by its place in the conversation.
fn play(model: &ModelServer, part: Part, turns: impl IntoIterator<Item = Reply>) {
    for (index, turn) in turns.into_iter().enumerate() {
        model.on((When::any().system(part.heading()).step(index + 1), turn));
    }
}

fn model_of(name: &str, url: &str, told: &Value) -> Model {
    serde_json::from_value(json!({
        "apiVersion": "foundry.flow.life/v1alpha1",
        "kind": "Model",
        "metadata": {"name": name},
        "spec": {
            "wireId": name,
            "provider": "openaiCompatible",
            "baseUrl": url,
            "maxContextTokens": told,
        },
    }))
    .unwrap()
}

/// The notes, and tables beside them.
fn files(world: &World, name: &str) -> PathBuf {
    let folder = world.folder.join(format!("files of {name}"));
    fs::create_dir_all(folder.join("tables")).unwrap();
    fs::write(folder.join(notes::FILE), notes::SOURCE).unwrap();
    for number in 0..TABLES {
        let mut text = format!("High water of harbour {number}: the third hour.\n").repeat(500);
        text.truncate(TABLE_BYTES);
        fs::write(folder.join(table(number)), text).unwrap();
    }
    folder
}

fn table(number: usize) -> String {
    format!("tables/{number}.txt")
}
