//! Reasoning efforts, sent or dropped as the catalog says; and a model that answers with
//! 200 and never completes.

use fakes::model::{ModelServer, Raw, Reply, When};
use foundry_crds::coding_run::Phase;
use foundry_crds::harness::EnvVar;
use foundry_crds::{Harness, Model};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};

use super::place::{Place, commit, edit, finish, plan};
use crate::coding::notes;
use crate::coding::play::Part;
use crate::coding::run::{Run, complete, reported};
use crate::coding::world::World;

/// A harness that asks for a high effort.
const HARNESS: &str = "coding-high";

impl World {
    /// Applies a run by a model of its own at this address, whose row lists these levels,
    /// with a harness that asks for `high`.
    async fn apply_with_effort(&self, name: &str, url: &str, levels: &[&str]) -> Run {
        let model: Model = serde_json::from_value(json!({
            "apiVersion": "foundry.flow.life/v1alpha1",
            "kind": "Model",
            "metadata": {"name": name},
            "spec": {
                "wireId": name,
                "provider": "openaiCompatible",
                "baseUrl": url,
                "reasoningEfforts": levels,
            },
        }))
        .unwrap();
        self.create(model).await;
        let harness = format!("{HARNESS}-{name}");
        self.create(self.asking_for_high(&harness).await).await;
        let spec = json!({"model": name, "harness": harness, "approval": "self"});
        self.apply_with(name, &notes::files(self), &spec).await
    }

    /// The installation's harness of coding runs, with one setting more.
    async fn asking_for_high(&self, name: &str) -> Harness {
        let usual: Harness = self.objects().get("coding-v1").await.unwrap();
        let mut harness = Harness::new(name, usual.spec);
        let (name, value) = ("FLOW_REASONING_EFFORT".to_owned(), "high".to_owned());
        harness.spec.env.push(EnvVar { name, value });
        harness
    }
}

/// The efforts of a model's requests, each once.
fn efforts(model: &ModelServer) -> Vec<Value> {
    let mut sent: Vec<Value> =
        model.requests().iter().map(|request| request.body["reasoning_effort"].clone()).collect();
    sent.dedup();
    sent
}

fn play_notes(model: &ModelServer) {
    for (part, turns) in [(Part::Planning, notes::planning()), (Part::Building, notes::building())]
    {
        for (index, turn) in turns.into_iter().enumerate() {
            model.on((When::any().system(part.heading()).step(index + 1), turn));
        }
    }
}

/// CODE-41
#[tokio::test(flavor = "multi_thread")]
async fn an_effort_reaches_a_model_that_lists_it_and_no_other() {
    let world = World::shared().await;
    let (listed, unlisted) = (ModelServer::start().await, ModelServer::start().await);
    play_notes(&listed);
    play_notes(&unlisted);
    let one = world.apply_with_effort("effort-listed", &listed.url(), &["low", "high"]).await;
    let other = world.apply_with_effort("effort-unlisted", &unlisted.url(), &[]).await;
    tokio::join!(one.until_succeeded(), other.until_succeeded());
    assert_eq!(efforts(&listed), [json!("high")]);
    assert_eq!(efforts(&unlisted), [Value::Null]);
    let told = async |run: &Run| {
        let lines = run.log().await;
        lines.iter().filter(|line| line.event.message.contains("high is not sent")).count()
    };
    assert_eq!((told(&one).await, told(&other).await), (0, 1));
    listed.finish().unwrap();
    unlisted.finish().unwrap();
}

/// CODE-43, CODE-44
#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_never_completes_ends_the_run_with_its_body_in_error_and_log() {
    let world = World::shared().await;
    let model = ModelServer::start().await;
    let words = "the pool behind this deployment is drained (7731)";
    let body = format!("{}\n", json!({"detail": words}));
    model.on((When::any(), Reply::raw(Raw::new(200, "application/json", body))));
    let run = world.apply_with_effort("never-completes", &model.url(), &["high"]).await;
    let ended = run.until_ended(Phase::Failed, "ModelFailed").await;

    let (_, _, message) = complete(&ended);
    assert!(message.contains(words), "{message}");
    assert_eq!(reported(&ended).result.unwrap().outcome, "model_failed");
    let lines = run.log_of("error").await;
    assert!(lines.iter().any(|line| line.event.message.contains(words)), "{lines:#?}");
    let sent: Vec<Value> =
        model.requests().iter().map(|request| request.body["reasoning_effort"].clone()).collect();
    assert_eq!(sent, [json!("high"), Value::Null, Value::Null]);
}

/// CODE-42: flowcode has no catalog that could be reached.
#[tokio::test(flavor = "multi_thread")]
async fn flowcode_sends_the_effort_it_is_asked_for() {
    let place = Place::new().await;
    place.model.script([plan(), edit(), commit(), finish()]);
    let ran = place.run(&["--model", "openai/first", "--reasoning-effort", "high"]).await;
    assert_eq!(ran.status, Some(0), "{}", ran.said);
    place.model.finish().unwrap();
    assert_eq!(efforts(&place.model), [json!("high")]);
}
