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
use crate::policy::permit::Mode;
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
    settled_by(batch, &mut host, control).await.0
}

async fn settled_by(
    batch: &Batch,
    host: &mut ScriptedHost,
    control: &Control,
) -> (Vec<Settled>, Usage) {
    let work = settle(batch, host, control);
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
    let last = Settled::not_run("a call before it was to end the run");
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

/// A batch in a mode that asks.
fn asking_batch<const N: usize>(tools: Vec<Arc<Tool>>, names: [(&str, &str, &str); N]) -> Batch {
    Batch { mode: Mode::Default, ..batch_of(tools, names) }
}

fn read() -> Arc<Tool> {
    tool("read", Effect::Read, Does(|_| Ok("read".to_owned())))
}

fn write() -> Arc<Tool> {
    tool("write", Effect::Write, Does(|_| Ok("written".to_owned())))
}

/// CHAT-14, CHAT-21: asked at dispatch, in call order; a refusal is that call's result, and
/// the calls behind it are dispatched all the same.
#[tokio::test]
async fn what_needs_leave_is_asked_for_and_a_refusal_is_its_result() {
    let calls =
        [("1", "read", "{}"), ("2", "write", "{}"), ("3", "write", "{}"), ("4", "read", "{}")];
    let batch = asking_batch(vec![read(), write()], calls);
    let mut host = ScriptedHost::replies([]);
    host.permissions = [Permission::Denied("not today".to_owned()), Permission::Allowed].into();
    let (ended, _) = settled_by(&batch, &mut host, &Control::default()).await;
    assert_eq!(host.permits_asked, ["2", "3"]);
    let expected = [
        Settled::output("read"),
        Settled::not_run("not today"),
        Settled::output("written"),
        Settled::output("read"),
    ];
    assert_eq!(ended, expected);
    assert_eq!(
        host.events,
        [
            "turn 1 starts 1",
            "turn 1 settles 1: read",
            "turn 1 settles 2: not executed: not today",
            "turn 1 starts 3",
            "turn 1 settles 3: written",
            "turn 1 starts 4",
            "turn 1 settles 4: read",
        ]
    );
}

/// CHAT-17: what a mode forbids is not asked about.
#[tokio::test]
async fn what_a_mode_forbids_is_refused_without_an_ask() {
    let calls = [("1", "write", "{}"), ("2", "read", "{}")];
    let batch = Batch { mode: Mode::Plan, ..batch_of(vec![read(), write()], calls) };
    let mut host = ScriptedHost::replies([]);
    let (ended, _) = settled_by(&batch, &mut host, &Control::default()).await;
    assert_eq!(host.permits_asked, Vec::<String>::new());
    assert!(matches!(ended[0], Settled::NotRun { .. }), "{ended:?}");
    assert_eq!(ended[1], Settled::output("read"));
}

/// CHAT-19: a mode that changes in mid-turn applies to the next ask.
#[tokio::test]
async fn a_mode_that_changes_while_a_batch_runs_applies_to_the_next_ask() {
    let control = Control::default();
    let changing = control.clone();
    let change = move |_| {
        changing.set_mode(Mode::Bypass);
        Ok(String::new())
    };
    let tools = vec![tool("change", Effect::Write, Does(change)), write()];
    let batch = asking_batch(tools, [("1", "change", "{}"), ("2", "write", "{}")]);
    let mut host = ScriptedHost::replies([]);
    settled_by(&batch, &mut host, &control).await;
    assert_eq!(host.permits_asked, ["1"]);
}

/// What answers an ask never, but signals.
struct NeverAnswers(ScriptedHost);

#[async_trait]
impl Host for NeverAnswers {
    fn now(&self) -> jiff::Timestamp {
        self.0.now()
    }

    fn control(&self) -> Control {
        self.0.control()
    }

    async fn call_model(
        &mut self,
        call: &crate::ModelCall,
    ) -> Result<foundry_llm::Reply, foundry_llm::LlmError> {
        self.0.call_model(call).await
    }

    async fn wait_until(&mut self, at: jiff::Timestamp) {
        self.0.wait_until(at).await;
    }

    async fn permit(&mut self, _: &Dispatch) -> Permission {
        self.0.control.interrupt();
        std::future::pending().await
    }

    async fn on_event(&mut self, event: Event<'_>) {
        self.0.on_event(event).await;
    }
}

/// KERN-26: an ask is given up on a signal, and its call was never executed.
#[tokio::test]
async fn an_ask_is_given_up_on_a_signal() {
    let mut host = NeverAnswers(ScriptedHost::replies([]));
    let control = host.control();
    let batch = asking_batch(vec![write()], [("1", "write", "{}")]);
    let work = settle(&batch, &mut host, &control);
    let (ended, _) = tokio::time::timeout(Duration::from_secs(10), work).await.unwrap();
    assert!(matches!(ended[0], Settled::NotRun { .. }), "{ended:?}");
}

/// Ends when another read has asked for leave.
struct Awaits(Arc<tokio::sync::Notify>);

#[async_trait]
impl Execute for Awaits {
    async fn execute(&self, _: Map<String, Value>) -> Result<String, ToolError> {
        self.0.notified().await;
        Ok("went on".to_owned())
    }
}

/// Answers an ask only when what runs beside it has ended.
struct AnswersLate {
    host: ScriptedHost,
    asked: Arc<tokio::sync::Notify>,
}

#[async_trait]
impl Host for AnswersLate {
    fn now(&self) -> jiff::Timestamp {
        self.host.now()
    }

    fn control(&self) -> Control {
        self.host.control()
    }

    async fn call_model(
        &mut self,
        call: &crate::ModelCall,
    ) -> Result<foundry_llm::Reply, foundry_llm::LlmError> {
        self.host.call_model(call).await
    }

    async fn wait_until(&mut self, at: jiff::Timestamp) {
        self.host.wait_until(at).await;
    }

    async fn permit(&mut self, _: &Dispatch) -> Permission {
        self.asked.notify_one();
        for _ in 0..5 {
            tokio::task::yield_now().await;
        }
        Permission::Denied("late".to_owned())
    }

    async fn on_event(&mut self, event: Event<'_>) {
        self.host.on_event(event).await;
    }
}

/// A call that runs is not held up by a person who thinks about another.
#[tokio::test]
async fn what_runs_goes_on_while_a_person_is_asked() {
    let asked = Arc::new(tokio::sync::Notify::new());
    let runs = tool("runs", Effect::Read, Awaits(Arc::clone(&asked)));
    let guarded = Arc::new(Tool::clone(&read()).guarded());
    let batch = asking_batch(vec![runs, guarded], [("1", "read", "{}"), ("2", "runs", "{}")]);
    let mut host = AnswersLate { host: ScriptedHost::replies([]), asked };
    let control = Control::default();
    let work = settle(&batch, &mut host, &control);
    let ended = tokio::time::timeout(Duration::from_secs(10), work).await.expect("it ends").0;
    assert_eq!(ended, [Settled::not_run("late"), Settled::output("went on")]);
    let first = &host.host.events[..2];
    assert_eq!(first, ["turn 1 starts 2", "turn 1 settles 2: went on"]);
}

/// Says what it is told of its run.
struct Inside {
    seen: Mutex<Vec<CallContext>>,
    used: Usage,
}

#[async_trait]
impl Execute for Inside {
    async fn execute(&self, _: Map<String, Value>) -> Result<String, ToolError> {
        Err(ToolError::Failed("it was called without its context".to_owned()))
    }

    async fn execute_in(
        &self,
        _: Map<String, Value>,
        context: &CallContext,
    ) -> Result<String, ToolError> {
        self.seen.lock().unwrap().push(context.clone());
        Ok(context.call_id.clone())
    }

    fn spends(&self) -> bool {
        self.used != Usage::default()
    }

    fn take_usage(&self) -> Usage {
        self.used
    }
}

fn inside(effect: Effect, used: u64) -> (Arc<Inside>, Arc<Tool>) {
    let used = Usage { output_tokens: used, ..Usage::default() };
    let inside = Arc::new(Inside { seen: Mutex::default(), used });
    let spec = tool("inside", effect, Does(|_| Ok(String::new()))).spec.clone();
    (Arc::clone(&inside), Arc::new(Tool::new(spec, effect, inside)))
}

/// KERN-30: what a call starts is over with its step, however the step ended.
#[tokio::test]
async fn a_call_is_told_its_id_and_gets_a_control_that_dies_with_the_step() {
    let (inside, tool) = inside(Effect::Read, 0);
    let batch = batch_of(vec![tool], [("1", "inside", "{}")]);
    let ended = settled(&batch, &Control::default()).await;
    assert_eq!(ended, [Settled::output("1")]);
    let seen = inside.seen.lock().unwrap();
    assert_eq!(seen[0].remaining_tokens, None);
    assert_eq!(seen[0].control.pending(), Some(interrupt::Signal::Abort));
}

/// KERN-30: reads that begin together share what is left, and a write gets what those
/// before it have left.
#[rstest]
#[case(Effect::Read, [30, 30, 30])]
#[case(Effect::Write, [90, 80, 70])]
#[tokio::test]
async fn calls_together_cannot_spend_more_than_the_run_may(
    #[case] effect: Effect,
    #[case] expected: [u64; 3],
) {
    let (inside, tool) = inside(effect, 10);
    let calls = ["1", "2", "3"].map(|id| (id, "inside", "{}"));
    let batch = Batch { remaining_tokens: Some(90), ..batch_of(vec![tool], calls) };
    let mut host = ScriptedHost::replies([]);
    let (_, usage) = settled_by(&batch, &mut host, &Control::default()).await;
    assert_eq!(usage.total(), 30);
    let granted =
        inside.seen.lock().unwrap().iter().map(|one| one.remaining_tokens).collect::<Vec<_>>();
    assert_eq!(granted, expected.map(Some));
}

/// KERN-30: a read that spends nothing makes nobody's share smaller, and those that wait for
/// a free place find theirs.
#[tokio::test]
async fn only_calls_that_spend_share_what_is_left() {
    let (spender, spends) = inside(Effect::Read, 10);
    let (reader, reads) = inside(Effect::Read, 0);
    let mut reads = Tool::clone(&reads);
    reads.spec.name = "reads".to_owned();
    let ids: Vec<String> = (0..12).map(|n| n.to_string()).collect();
    let mut named: Vec<(&str, &str, &str)> =
        ids.iter().take(10).map(|id| (id.as_str(), "inside", "{}")).collect();
    named.extend([("10", "reads", "{}"), ("11", "reads", "{}")]);
    let named: [(&str, &str, &str); 12] = named.try_into().unwrap();
    let batch =
        Batch { remaining_tokens: Some(1_000), ..batch_of(vec![spends, Arc::new(reads)], named) };
    settled(&batch, &Control::default()).await;
    let granted = |inside: &Inside| {
        let seen = inside.seen.lock().unwrap();
        seen.iter().map(|one| one.remaining_tokens.unwrap()).collect::<Vec<_>>()
    };
    let shares = granted(&spender);
    assert_eq!(shares[..8], [100; 8]);
    assert!(shares[8..].iter().all(|share| *share >= 90), "{shares:?}");
    assert_eq!(granted(&reader).len(), 2);
}

/// Who ends or steers one child does not touch its siblings.
#[tokio::test]
async fn each_call_has_a_control_of_its_own() {
    let (inside, tool) = inside(Effect::Read, 0);
    let of_step = Control::default();
    let batch = batch_of(vec![tool], [("1", "inside", "{}"), ("2", "inside", "{}")]);
    let of_calls = [of_step.of_call(), of_step.of_call()];
    of_calls[0].abort();
    of_calls[0].steer(crate::UserInput::from("you there"));
    assert_eq!((of_calls[1].pending(), of_step.pending()), (None, None));
    assert!(of_calls[1].take_queued().is_empty());
    settled(&batch, &of_step).await;
    let seen = inside.seen.lock().unwrap();
    seen[0].control.steer(crate::UserInput::from("you there"));
    assert!(seen[1].control.take_queued().is_empty());
}
