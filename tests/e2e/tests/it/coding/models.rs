//! Models that are down: for a while, for good, or for whoever has no key.

use fakes::model::{ModelServer, Reply, Rule, When};
use foundry_crds::Model;
use foundry_crds::coding_run::Phase;
use pretty_assertions::assert_eq;
use serde_json::json;
use testenv::eventually;

use super::notes;
use super::play::{Part, mark};
use super::run::{Run, complete, reported};
use super::world::World;
use crate::world::DEADLINE;

impl World {
    /// A run on the notes by a model of its own at this address.
    async fn apply_on_model(&self, name: &str, base_url: &str) -> Run {
        let model: Model = serde_json::from_value(json!({
            "apiVersion": "foundry.flow.life/v1alpha1",
            "kind": "Model",
            "metadata": {"name": name},
            "spec": {"wireId": name, "provider": "openaiCompatible", "baseUrl": base_url},
        }))
        .unwrap();
        self.create(model).await;
        self.apply_with(name, &notes::files(self), &json!({"model": name})).await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_comes_up_late_is_asked_again_and_the_run_goes_on() {
    let world = World::shared().await;
    // Nobody of this installation listens there.
    let url = world.stack.lock().await.model_url();
    let address = url.trim_start_matches("http://").trim_end_matches("/v1").parse().unwrap();
    let run = world.apply_on_model("model-late", &url).await;
    run.harness().await;
    eventually("the log names the failure", DEADLINE, || async {
        let lines = run.log().await;
        let told = lines.iter().any(|line| line.event.message.contains("broker relay failed"));
        if told { Ok(()) } else { Err(format!("{:#?}", lines.last())) }
    })
    .await;

    let late = ModelServer::listen(address).await.unwrap();
    for (part, turns) in [(Part::Planning, notes::planning()), (Part::Building, notes::building())]
    {
        for (index, turn) in turns.into_iter().enumerate() {
            let when = When::any().message(mark(&run.name)).system(part.heading());
            late.on((when.step(index + 1), turn));
        }
    }
    run.approve().await;
    run.until_succeeded().await;
    let turns = notes::planning().len() + notes::building().len();
    assert_eq!(late.requests().len(), turns);
    late.finish().unwrap();
}

/// CODE-23, CODE-44
#[tokio::test(flavor = "multi_thread")]
async fn a_model_that_stays_away_or_knows_no_such_key_ends_the_run_with_its_words() {
    let world = World::shared().await;
    world.model.on(Rule::new(
        When::any().message(mark("model-locked")),
        Reply::failure(401, "invalid_api_key", "Incorrect API key provided"),
    ));
    let gone = world.apply_on_model("model-gone", "http://127.0.0.1:1/v1").await;
    let locked = world.apply("model-locked", &notes::files(&world)).await;
    let (gone, locked) = tokio::join!(
        gone.until_ended(Phase::Failed, "ModelFailed"),
        locked.until_ended(Phase::Failed, "ModelFailed"),
    );
    for ended in [&gone, &locked] {
        assert_eq!(reported(ended).result.unwrap().outcome, "model_failed");
    }
    let (gone, locked) = (complete(&gone).2, complete(&locked).2);
    assert!(gone.contains("502"), "{gone}");
    assert!(locked.contains("Incorrect API key provided"), "{locked}");
}
