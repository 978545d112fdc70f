//! Which calls run when, and what a signal leaves of them.

use std::sync::Arc;
use std::sync::Mutex;
use std::time::Duration;

use async_trait::async_trait;
use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::{Map, Value};
use tokio::sync::Barrier;

use super::*;
use crate::host::Control;
use crate::scenes::{Does, ScriptedHost, batch, calls, model_call, run_with, settings, tool};
use crate::tool::{Execute, Tool};

/// Ends only when as many calls wait here as the barrier wants.
struct Meets(Arc<Barrier>);

#[async_trait]
impl Execute for Meets {
    async fn execute(&self, _: Map<String, Value>) -> Result<String, ToolError> {
        self.0.wait().await;
        Ok("met".to_owned())
    }
}

/// Signals, then never ends.
struct Hangs(Control);

#[async_trait]
impl Execute for Hangs {
    async fn execute(&self, _: Map<String, Value>) -> Result<String, ToolError> {
        self.0.interrupt();
        std::future::pending().await
    }
}

fn batch_of<const N: usize>(tools: Vec<Arc<Tool>>, names: [(&str, &str, &str); N]) -> Batch {
    let mut run = run_with(settings(), tools);
    model_call(&mut run);
    run.replied(Ok(calls(names)));
    batch(&mut run)
}

async fn settled(batch: &Batch, control: &Control) -> Vec<Settled> {
    let mut host = ScriptedHost::replies([]);
    let work = settle(batch, &mut host, control);
    tokio::time::timeout(Duration::from_secs(10), work).await.expect("the batch ends")
}

/// KERN-11: two reads that wait for each other can only end together.
#[tokio::test]
async fn reads_run_together() {
    let barrier = Arc::new(Barrier::new(READS_AT_ONCE));
    let meet = tool("meet", Effect::Read, Meets(barrier));
    let eight = ["1", "2", "3", "4", "5", "6", "7", "8"].map(|id| (id, "meet", "{}"));
    let ended = settled(&batch_of(vec![meet], eight), &Control::default()).await;
    assert_eq!(ended, vec![Settled::output("met"); READS_AT_ONCE]);
}

/// KERN-11
#[tokio::test]
async fn writes_run_one_after_another_in_call_order() {
    let written = Arc::new(Mutex::new(Vec::new()));
    let (log, yields) = (Arc::clone(&written), Writes(Arc::clone(&written)));
    let write = tool("write", Effect::Write, yields);
    let batch = batch_of(vec![write], ["1", "2", "3"].map(|id| (id, "write", "{}")));
    settled(&batch, &Control::default()).await;
    assert_eq!(*log.lock().unwrap(), ["begin", "end", "begin", "end", "begin", "end"]);
}

/// Lets every other call have a turn between its beginning and its end.
struct Writes(Arc<Mutex<Vec<&'static str>>>);

#[async_trait]
impl Execute for Writes {
    async fn execute(&self, _: Map<String, Value>) -> Result<String, ToolError> {
        self.0.lock().unwrap().push("begin");
        for _ in 0..5 {
            tokio::task::yield_now().await;
        }
        self.0.lock().unwrap().push("end");
        Ok(String::new())
    }
}

/// KERN-11: `R` reads, `W` writes; started (`*`) and ended (`.`) ones as they stand.
#[rstest]
#[case("RRW", "   ", &[0, 1])]
#[case("RRW", "** ", &[])]
#[case("RRW", ".* ", &[])]
#[case("RRW", "*. ", &[])]
#[case("RRW", ".. ", &[2])]
#[case("WRR", "   ", &[0])]
#[case("WRR", "*  ", &[])]
#[case("WRR", ".  ", &[1, 2])]
#[case("WW", ". ", &[1])]
#[case("RWR", ".. ", &[2])]
#[case("RR", "..", &[])]
#[case("RRRRRRRRRR", "          ", &[0, 1, 2, 3, 4, 5, 6, 7])]
#[case("RRRRRRRRRR", "*.*****   ", &[7, 8])]
fn what_may_start_follows_from_what_stands(
    #[case] effects: &str,
    #[case] fates: &str,
    #[case] expected: &[usize],
) {
    let nothing = || Does(|_| Ok(String::new()));
    let read = tool("read", Effect::Read, nothing());
    let write = tool("write", Effect::Write, nothing());
    let calls: Vec<Dispatch> = effects
        .chars()
        .map(|effect| Dispatch {
            position: 0,
            call: foundry_llm::ToolCall {
                id: String::new(),
                name: String::new(),
                arguments: String::new(),
            },
            arguments: Map::new(),
            tool: Arc::clone(if effect == 'R' { &read } else { &write }),
        })
        .collect();
    let fates: Vec<Fate> = fates
        .chars()
        .take(calls.len())
        .map(|fate| match fate {
            '*' => Fate::Running,
            '.' => Fate::Ended(Settled::output("")),
            _ => Fate::NotStarted,
        })
        .collect();
    assert_eq!(startable(&calls, &fates), expected);
}

/// KERN-26
#[tokio::test]
async fn an_interrupted_batch_keeps_what_ended_and_tells_running_from_unstarted() {
    let control = Control::default();
    let quick = tool("quick", Effect::Read, Does(|_| Ok("found".to_owned())));
    let hang = tool("hang", Effect::Write, Hangs(control.clone()));
    let calls = [("1", "quick", "{}"), ("2", "hang", "{}"), ("3", "quick", "{}")];
    let ended = settled(&batch_of(vec![quick, hang], calls), &control).await;
    assert_eq!(ended[0], Settled::output("found"));
    assert!(matches!(ended[1], Settled::Unknown { .. }), "{ended:?}");
    assert!(matches!(ended[2], Settled::NotRun { .. }), "{ended:?}");
}

/// KERN-26
#[tokio::test]
async fn a_batch_that_is_signalled_before_it_begins_starts_nothing() {
    let control = Control::default();
    control.abort();
    let never = tool("never", Effect::Read, Does(|_| panic!("it was started")));
    let ended = settled(&batch_of(vec![never], [("1", "never", "{}")]), &control).await;
    assert!(matches!(ended[0], Settled::NotRun { .. }), "{ended:?}");
}

/// KERN-01
#[tokio::test]
async fn nothing_is_started_after_a_call_that_ended_the_run() {
    let read = tool("read", Effect::Read, Does(|_| Ok("read".to_owned())));
    let never = tool("never", Effect::Write, Does(|_| panic!("it was started")));
    let calls = [("1", "read", "{}"), ("2", "finish", "{}"), ("3", "read", "{}")];
    let batch = batch_of(vec![read.clone(), finish(Ok("done")), never], calls);
    let ended = settled(&batch, &Control::default()).await;
    let last = Settled::not_run("the call before it ended the run");
    assert_eq!(ended, [Settled::output("read"), Settled::output("done"), last]);
}

/// KERN-01
#[tokio::test]
async fn what_comes_after_a_call_that_failed_to_end_the_run_is_started() {
    let read = tool("read", Effect::Read, Does(|_| Ok("read".to_owned())));
    let calls = [("1", "finish", "{}"), ("2", "read", "{}")];
    let batch = batch_of(vec![read, finish(Err("no check passed"))], calls);
    let ended = settled(&batch, &Control::default()).await;
    assert_eq!(ended, [Settled::failed("no check passed"), Settled::output("read")]);
}

fn finish(answer: Result<&'static str, &'static str>) -> Arc<Tool> {
    let answer =
        move |_| answer.map(str::to_owned).map_err(|words| ToolError::Failed(words.to_owned()));
    let plain = tool("finish", Effect::Write, Does(answer));
    Arc::new(Tool::clone(&plain).ending_the_run())
}
