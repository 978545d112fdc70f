//! The loop, with a scripted model and a clock that jumps.

use std::time::Duration;

use foundry_llm::{ErrorKind, LlmError, StopReason};
use jiff::SignedDuration;
use pretty_assertions::assert_eq;

use super::*;
use crate::policy::ladder::Ladder;
use crate::run::Settings;
use crate::scenes::{Does, ScriptedHost, Turn, calls, echo, error, run_with, says, settings, tool};
use crate::tool::{Effect, ToolError};
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
