//! The loop, with a scripted model and a clock that jumps.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use foundry_llm::{ErrorKind, LlmError, StopReason};
use jiff::{SignedDuration, Timestamp};
use pretty_assertions::assert_eq;
use serde_json::{Map, Value};
use tokio::sync::Semaphore;

use super::*;
use crate::policy::ladder::Ladder;
use crate::run::Settings;
use crate::scenes::{Does, ScriptedHost, Turn, calls, echo, error, run_with, says, settings, tool};
use crate::tool::{Effect, Execute, ToolError};
use crate::{Stop, UserInput};

async fn driven(run: &mut Run, host: &mut ScriptedHost) -> Outcome {
    tokio::time::timeout(Duration::from_secs(10), drive(run, host))
        .await
        .unwrap_or_else(|_| panic!("the run did not end; so far: {:#?}", host.events))
}

/// KERN-01, KERN-02
#[tokio::test]
async fn a_run_repeats_model_and_tools_until_the_model_has_nothing_more_to_do() {
    let mut run = run_with(settings(), vec![echo()]);
    let mut host = ScriptedHost::replies([calls([("a", "echo", r#"{"n":1}"#)]), says("it is 1")]);
    let outcome = driven(&mut run, &mut host).await;
    assert_eq!((outcome.stop, outcome.turns), (Stop::EndTurn, 2));
    assert_eq!(
        host.events,
        [
            "entry user",
            "calling turn 1 attempt 0",
            "entry assistant",
            "turn 1 starts a",
            r#"turn 1 settles a: {"n":1}"#,
            "entry results",
            "calling turn 2 attempt 0",
            "entry assistant",
        ]
    );
}

/// LOOP-25
#[tokio::test]
async fn a_failing_tool_and_a_panicking_one_are_results_and_the_run_goes_on() {
    let fails = tool("fails", Effect::Read, Does(|_| Err(ToolError::Failed("no disk".into()))));
    let breaks = tool("breaks", Effect::Write, Does(|_| panic!("index out of range")));
    let lost = tool("lost", Effect::Write, Does(|_| Err(ToolError::Unknown("cut".into()))));
    let mut run = run_with(settings(), vec![fails, breaks, lost]);
    let mut host = ScriptedHost::replies([
        calls([
            ("a", "fails", "{}"),
            ("b", "breaks", "{}"),
            ("c", "lost", "{}"),
            ("d", "no", "{}"),
        ]),
        says("noted"),
    ]);
    assert_eq!(driven(&mut run, &mut host).await.stop, Stop::EndTurn);
    let settles: Vec<&String> = host.events.iter().filter(|e| e.contains("settles")).collect();
    assert_eq!(settles.len(), 4, "{settles:?}");
    assert_eq!(settles[0], "turn 1 settles a: no disk");
    assert_eq!(settles[1], "turn 1 settles b: the tool breaks broke: index out of range");
    assert!(settles[2].starts_with("turn 1 settles c: outcome unknown: cut"), "{settles:?}");
    assert!(settles[3].starts_with("turn 1 settles d: not executed: there is no tool"));
}

/// KERN-20: each wait raises an event with its number, and then the wait is kept.
#[tokio::test]
async fn each_retry_is_told_and_waited_for() {
    let ladder = Ladder::coding();
    let mut run = run_with(Settings { ladder, ..settings() }, Vec::new());
    let paced = LlmError { retry_after: Some(Duration::from_mins(2)), ..error(ErrorKind::Limited) };
    let mut host = ScriptedHost::new([
        Turn::Answer(Err(paced)),
        Turn::Answer(Err(error(ErrorKind::Server))),
        Turn::Answer(Ok(says("at last"))),
    ]);
    assert_eq!(driven(&mut run, &mut host).await.stop, Stop::EndTurn);
    let retries: Vec<&String> = host.events.iter().filter(|e| e.starts_with("retry")).collect();
    assert_eq!(retries, ["retry 1 after Limited, as it was", "retry 2 after Server, as it was"]);
    assert!(host.waited > SignedDuration::from_mins(2), "{}", host.waited);
    assert!(host.waited < SignedDuration::from_mins(3), "{}", host.waited);
}

/// KERN-12
#[tokio::test]
async fn an_output_cut_by_length_is_told() {
    let mut run = run_with(settings(), Vec::new());
    let mut cut = says("and then the");
    cut.stop = StopReason::MaxTokens;
    let mut host = ScriptedHost::replies([cut]);
    driven(&mut run, &mut host).await;
    assert!(host.events.contains(&"truncated turn 1".to_owned()), "{:?}", host.events);
}

/// KERN-01
#[tokio::test]
async fn an_abort_drops_the_model_call_in_flight() {
    let mut run = run_with(settings(), Vec::new());
    let mut host = ScriptedHost::new([Turn::Silence(Control::abort)]);
    assert_eq!(driven(&mut run, &mut host).await.stop, Stop::Aborted);
    assert_eq!(run.log().len(), 1, "a call that was dropped appends nothing");
}

#[tokio::test]
async fn a_cancelled_parent_aborts_the_run() {
    let parent = tokio_util::sync::CancellationToken::new();
    let mut run = run_with(settings(), Vec::new());
    let mut host = ScriptedHost::replies([]);
    host.control = Control::under(&parent);
    parent.cancel();
    assert_eq!(driven(&mut run, &mut host).await.stop, Stop::Aborted);
    assert_eq!(host.asked.len(), 0);
}

/// KERN-25
#[tokio::test]
async fn an_abort_or_an_interrupt_ends_a_retry_wait() {
    for (signal, stop) in [
        (Control::abort as fn(&Control), Stop::Aborted),
        (Control::interrupt as fn(&Control), Stop::Interrupted),
    ] {
        let mut run = run_with(settings(), Vec::new());
        let mut host = ScriptedHost::new([Turn::Answer(Err(error(ErrorKind::Server)))]);
        host.at_wait = Some(signal);
        assert_eq!(driven(&mut run, &mut host).await.stop, stop);
    }
}

/// KERN-27
#[tokio::test]
async fn an_interrupt_with_queued_input_continues_the_turn_redirected() {
    let mut run = run_with(settings(), Vec::new());
    let mut host = ScriptedHost::new([
        Turn::Silence(|control| {
            control.steer(UserInput::from("rather that"));
            control.interrupt();
        }),
        Turn::Answer(Ok(says("that is done"))),
    ]);
    let outcome = driven(&mut run, &mut host).await;
    assert_eq!((outcome.stop, outcome.turns), (Stop::EndTurn, 1));
    assert_eq!(host.asked[1].request.messages.len(), 2);
}

/// CHAT-11
#[tokio::test]
async fn input_queued_while_a_tool_runs_is_in_the_next_request() {
    let control = Control::default();
    let steering = control.clone();
    let steer = move |_| {
        steering.steer(UserInput::from("also look there"));
        Ok("looked".to_owned())
    };
    let mut run = run_with(settings(), vec![tool("look", Effect::Read, Does(steer))]);
    let mut host = ScriptedHost::replies([calls([("a", "look", "{}")]), says("done")]);
    host.control = control;
    driven(&mut run, &mut host).await;
    let said = format!("{:?}", host.asked[1].request.messages.last());
    assert!(said.contains("also look there"), "{said}");
}

/// Holds a permit, as for one of few connections, for as long as its call is alive.
struct OneAtATime {
    host: ScriptedHost,
    places: Arc<Semaphore>,
}

#[async_trait]
impl Host for OneAtATime {
    fn now(&self) -> Timestamp {
        self.host.now()
    }

    fn control(&self) -> Control {
        self.host.control()
    }

    async fn call_model(&mut self, call: &ModelCall) -> Result<Reply, LlmError> {
        let _place = self.places.acquire().await.expect("never closed");
        self.host.call_model(call).await
    }

    async fn wait_until(&mut self, at: Timestamp) {
        self.host.wait_until(at).await;
    }

    async fn on_event(&mut self, event: Event<'_>) {
        self.host.on_event(event).await;
    }
}

/// Runs a whole child, which needs a place of its own.
struct Child(Arc<Semaphore>);

#[async_trait]
impl Execute for Child {
    async fn execute(&self, _: Map<String, Value>) -> Result<String, ToolError> {
        let mut run = run_with(settings(), Vec::new());
        let host = ScriptedHost::replies([says("found")]);
        let mut host = OneAtATime { host, places: Arc::clone(&self.0) };
        Ok(drive(&mut run, &mut host).await.answer())
    }
}

/// A parent that kept its stream while its tools run would wait for its own child for ever.
#[tokio::test]
async fn the_model_call_is_gone_before_a_tool_begins() {
    let places = Arc::new(Semaphore::new(1));
    let child = tool("child", Effect::Read, Child(Arc::clone(&places)));
    let mut run = run_with(settings(), vec![child]);
    let host = ScriptedHost::replies([calls([("a", "child", "{}")]), says("done")]);
    let mut host = OneAtATime { host, places };
    let driven = tokio::time::timeout(Duration::from_secs(10), drive(&mut run, &mut host));
    assert_eq!(driven.await.expect("nobody waits for ever").stop, Stop::EndTurn);
    assert!(host.host.events.contains(&"turn 1 settles a: found".to_owned()));
}

/// KERN-42
#[tokio::test]
async fn a_switch_to_a_fallback_model_is_told() {
    let settings = Settings {
        model: "plan-a".to_owned(),
        fallback_model: Some("plan-b".to_owned()),
        ladder: Ladder { retries: 0, ..Ladder::coding() },
        ..settings()
    };
    let mut run = run_with(settings, Vec::new());
    let mut host = ScriptedHost::new([
        Turn::Answer(Err(error(ErrorKind::Overloaded))),
        Turn::Answer(Ok(says("from b"))),
    ]);
    assert_eq!(driven(&mut run, &mut host).await.text(), Some("from b"));
    let told = "fallback from plan-a to plan-b after Overloaded, as it was".to_owned();
    let at = host.events.iter().position(|event| *event == told);
    assert_eq!(at, Some(2), "before the model is asked: {:#?}", host.events);
    assert_eq!(host.asked[1].request.model, "plan-b");
}

/// CODE-40: a change of the percentage is told once, and nothing else is.
#[tokio::test]
async fn how_full_the_window_is_is_told_at_each_change_and_not_otherwise() {
    let long = "word ".repeat(800);
    let say = tool("say", Effect::Read, Does(move |_| Ok(long.clone())));
    let settings = Settings { context_window: 100_000, ..settings() };
    let mut run = run_with(settings, vec![say, echo()]);
    let used = |tokens, mut reply: Reply| {
        reply.usage = foundry_llm::Usage { input_tokens: tokens, ..reply.usage };
        reply
    };
    let mut host = ScriptedHost::replies([
        used(1000, calls([("a", "echo", "{}")])),
        used(1010, calls([("b", "echo", r#"{"n":1}"#)])),
        used(1020, calls([("c", "say", "{}")])),
        used(9000, says("done")),
    ]);
    driven(&mut run, &mut host).await;
    assert!(host.percents.windows(2).all(|pair| pair[0] != pair[1]), "{:?}", host.percents);
    assert!(host.percents.contains(&1) && host.percents.last() == Some(&9), "{:?}", host.percents);
}

/// KERN-30: what a tool used of models is the run's.
#[tokio::test]
async fn what_tools_used_is_added_to_the_runs_usage() {
    struct Spends;

    #[async_trait]
    impl Execute for Spends {
        async fn execute(&self, _: Map<String, Value>) -> Result<String, ToolError> {
            Ok("spent".to_owned())
        }

        fn take_usage(&self) -> foundry_llm::Usage {
            foundry_llm::Usage { output_tokens: 1000, ..foundry_llm::Usage::default() }
        }
    }

    let mut run = run_with(settings(), vec![tool("spend", Effect::Read, Spends)]);
    let mut host = ScriptedHost::replies([calls([("a", "spend", "{}")]), says("done")]);
    let outcome = driven(&mut run, &mut host).await;
    assert_eq!(outcome.usage.total(), 1000 + 22);
}

/// CHAT-11: what was said during the batch is heard before the model is given up on.
#[tokio::test]
async fn input_that_comes_during_the_last_batch_of_a_circle_leads_out_of_it() {
    let control = Control::default();
    let steers = control.clone();
    let look = move |_: Map<String, Value>| {
        steers.steer(UserInput::from("look elsewhere"));
        Ok("nothing".to_owned())
    };
    let repeat = crate::Repeat { hint_after: 0, halt_after: 1 };
    let look = tool("look", Effect::Read, Does(look));
    let mut run = run_with(Settings { repeat, ..settings() }, vec![look]);
    let mut host = ScriptedHost::replies([calls([("a", "look", "{}")]), says("found")]);
    host.control = control;
    assert_eq!(driven(&mut run, &mut host).await.stop, Stop::EndTurn);
}
