//! What an abort and an interrupt do to a reply that is on its way.

use fakes::model::{Gate, Point, Reply};
use foundry_kernel::{Stop, UserInput};
use foundry_llm::Wire;
use pretty_assertions::assert_eq;
use rstest::rstest;

use crate::scene::Scene;

/// KERN-01: the reply is held by the server, and the run does not wait for it.
#[rstest]
#[case(Wire::Anthropic)]
#[case(Wire::OpenAi)]
#[tokio::test]
async fn an_abort_ends_a_reply_in_the_middle(#[case] wire: Wire) {
    let gate = Gate::new();
    let held = Reply::text("a long answer").held(Point::Text, &gate);
    let scene = Scene::new(wire, [held]).await;
    let abort = async {
        gate.reached().await;
        scene.control.abort();
    };
    let (played, ()) = tokio::join!(scene.play(), abort);
    assert_eq!((played.outcome.stop, played.outcome.turns), (Stop::Aborted, 0));
    assert_eq!(played.outcome.entries.len(), 1, "half a reply is no entry");
}

/// KERN-25, KERN-27
#[rstest]
#[case(Wire::Anthropic)]
#[case(Wire::OpenAi)]
#[tokio::test]
async fn an_interrupted_reply_gives_way_to_what_is_queued(#[case] wire: Wire) {
    let gate = Gate::new();
    let held = Reply::text("a long answer").held(Point::Text, &gate);
    let scene = Scene::new(wire, [held, Reply::text("As you wish.")]).await;
    let redirect = async {
        gate.reached().await;
        scene.control.steer(UserInput::from("Only the first line."));
        scene.control.interrupt();
    };
    let (played, ()) = tokio::join!(scene.play(), redirect);
    assert_eq!(played.outcome.stop, Stop::EndTurn);
    assert_eq!(played.outcome.text(), Some("As you wish."));
    scene.model.finish().unwrap();
    let asked = scene.model.requests()[1].last_user_text();
    assert!(asked.contains("Only the first line."), "{asked}");
}
