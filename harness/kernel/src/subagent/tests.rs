//! Children of a scripted parent, whose own models follow scripts.

mod together;

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use foundry_llm::{ErrorKind, LlmError, Reply};
use jiff::Timestamp;
use pretty_assertions::assert_eq;
use rstest::rstest;

use super::*;
use crate::drive::drive;
use crate::host::Event;
use crate::policy::interrupt::Signal;
use crate::scenes::{Does, ScriptedHost, Turn, calls, echo, error, run_with, says, settings, tool};
use crate::step::ModelCall;
use crate::{Entry, Limits, Mode, Outcome, Run, Settled, Stop};

/// Plays each child's model by its type, and keeps what it was asked.
#[derive(Default)]
struct Nursery {
    scripts: Mutex<BTreeMap<String, Vec<Turn>>>,
    asked: Arc<Mutex<Vec<ModelCall>>>,
    born: Mutex<Vec<Child>>,
    at_once: Arc<AtomicUsize>,
    most_at_once: Arc<AtomicUsize>,
}

impl Nursery {
    fn of(subagent_type: &str, script: impl IntoIterator<Item = Turn>) -> Arc<Self> {
        let script = script.into_iter().collect();
        let scripts = Mutex::new(BTreeMap::from([(subagent_type.to_owned(), script)]));
        Arc::new(Self { scripts, ..Self::default() })
    }

    fn replies(subagent_type: &str, replies: impl IntoIterator<Item = Reply>) -> Arc<Self> {
        Self::of(subagent_type, replies.into_iter().map(|reply| Turn::Answer(Ok(reply))))
    }

    fn asked(&self) -> Vec<ModelCall> {
        self.asked.lock().unwrap().clone()
    }
}

impl Spawn for Nursery {
    fn host(&self, child: &Child) -> Box<dyn Host> {
        self.born.lock().unwrap().push(child.clone());
        let script = self.scripts.lock().unwrap().remove(&child.subagent_type);
        Box::new(Scripted {
            inner: ScriptedHost::new(script.unwrap_or_default()),
            asked: self.asked.clone(),
            at_once: self.at_once.clone(),
            most_at_once: self.most_at_once.clone(),
        })
    }
}

/// Answers by its script, or when that is out with its own prompt, after others had a turn.
struct Scripted {
    inner: ScriptedHost,
    asked: Arc<Mutex<Vec<ModelCall>>>,
    at_once: Arc<AtomicUsize>,
    most_at_once: Arc<AtomicUsize>,
}

#[async_trait]
impl Host for Scripted {
    fn now(&self) -> Timestamp {
        self.inner.now()
    }

    fn control(&self) -> Control {
        self.inner.control()
    }

    async fn call_model(&mut self, call: &ModelCall) -> Result<Reply, LlmError> {
        self.asked.lock().unwrap().push(call.clone());
        if !self.inner.script.is_empty() {
            return self.inner.call_model(call).await;
        }
        let now = self.at_once.fetch_add(1, Ordering::SeqCst) + 1;
        self.most_at_once.fetch_max(now, Ordering::SeqCst);
        for _ in 0..20 {
            tokio::task::yield_now().await;
        }
        self.at_once.fetch_sub(1, Ordering::SeqCst);
        Ok(says("done"))
    }

    async fn wait_until(&mut self, at: Timestamp) {
        self.inner.wait_until(at).await;
    }

    async fn on_event(&mut self, event: Event<'_>) {
        self.inner.on_event(event).await;
    }
}

fn child_settings() -> Settings {
    let limits = Limits { max_turns: 4, budget_tokens: None };
    Settings { limits, ..Settings::new("small-model", "") }
}

fn read(name: &str, output: &'static str) -> Arc<Tool> {
    tool(name, Effect::Read, Does(move |_| Ok(output.to_owned())))
}

fn subagents(nursery: &Arc<Nursery>, tools: &[Arc<Tool>]) -> Subagents {
    Subagents::new(child_settings(), tools, nursery.clone())
}

fn spawn(id: &'static str, subagent_type: &str) -> (&'static str, &'static str, String) {
    let arguments = json!({"subagent_type": subagent_type, "prompt": "is the sky blue?"});
    (id, NAME, arguments.to_string())
}

/// A parent whose first reply starts these children, and which ends then.
async fn parent_of(
    subagents: Subagents,
    mut tools: Vec<Arc<Tool>>,
    children: &[(&'static str, &'static str, String)],
    parents: Settings,
) -> (Outcome, ScriptedHost) {
    tools.push(Arc::new(subagents.tool()));
    let mut first = calls([]);
    for (id, name, arguments) in children {
        first.calls.extend(calls([(*id, *name, arguments.as_str())]).calls);
    }
    let mut host = ScriptedHost::replies([first, says("all done")]);
    let mut run = run_with(parents, tools);
    let outcome = driven(&mut run, &mut host).await;
    (outcome, host)
}

async fn driven(run: &mut Run, host: &mut ScriptedHost) -> Outcome {
    tokio::time::timeout(Duration::from_secs(10), drive(run, host)).await.expect("the run ends")
}

fn results(outcome: &Outcome) -> Vec<Settled> {
    let of = |entry: &Entry| match entry {
        Entry::Results { results } => results.iter().map(|r| r.settled.clone()).collect(),
        _ => Vec::new(),
    };
    outcome.entries.iter().flat_map(of).collect()
}

async fn result_of(nursery: &Arc<Nursery>, subagent_type: &str, tools: Vec<Arc<Tool>>) -> Settled {
    let children = [spawn("c1", subagent_type)];
    let subagents = subagents(nursery, &tools);
    let (outcome, _) = parent_of(subagents, tools, &children, settings()).await;
    results(&outcome).remove(0)
}

/// KERN-29
#[test]
fn the_types_are_the_built_in_ones_and_the_registered_agents_but_not_the_chats_own() {
    let nursery = Arc::new(Nursery::default());
    let registered = [
        Role::new("ann", "Knows the ledgers.", "You are Ann."),
        Role::new("verify", "Says yes to everything.", "Say yes."),
        Role::new("bob", "The agent of this chat.", "You are Bob."),
        Role::new("ann", "Another Ann.", "You are not Ann."),
    ];
    let subagents = subagents(&nursery, &[]).registered(registered, Some("bob"));
    let spec = subagents.tool().spec;
    assert_eq!(spec.name, "spawn_agent");
    let types = &spec.input_schema["properties"]["subagent_type"]["enum"];
    assert_eq!(*types, json!(["explore", "verify", "ann"]));
    assert!(spec.description.contains("- ann: Knows the ledgers."), "{}", spec.description);
    assert!(spec.description.contains("- verify: Checks one claim"), "{}", spec.description);
}

#[test]
fn the_schemas_of_subagents_are_plain_ones() {
    let spec = subagents(&Arc::new(Nursery::default()), &[]).tool().spec;
    assert!(crate::policy::schema::is_plain(&spec.input_schema));
    assert!(crate::policy::schema::is_plain(verify::schema().as_value()));
}

/// KERN-29
#[tokio::test]
async fn a_registered_agents_instructions_are_the_childs_role_prompt() {
    let nursery = Nursery::replies("ann", [says("the ledgers balance")]);
    let ann = Role::new("ann", "Knows the ledgers.", "You are Ann, the keeper of ledgers.");
    let subagents = subagents(&nursery, &[]).registered([ann], None);
    let (outcome, _) = parent_of(subagents, vec![], &[spawn("c1", "ann")], settings()).await;
    assert_eq!(results(&outcome), [Settled::output("the ledgers balance")]);
    let request = &nursery.asked()[0].request;
    assert!(request.system.ends_with("You are Ann, the keeper of ledgers."), "{}", request.system);
    // The prompt is all that the child knows of its parent.
    assert_eq!(request.messages.len(), 1);
    let born = nursery.born.lock().unwrap();
    assert_eq!((born[0].call_id.as_str(), born[0].prompt.as_str()), ("c1", "is the sky blue?"));
}

#[tokio::test]
async fn an_unknown_type_is_refused_with_those_there_are() {
    let nursery = Arc::new(Nursery::default());
    let said = result_of(&nursery, "nobody", vec![]).await.text();
    assert!(said.contains("must be one of \"explore\", \"verify\""), "{said}");
    assert!(nursery.asked().is_empty());
}

/// KERN-30: what a child gets of its parent's tools.
#[rstest]
#[case::read(|tool: Tool| tool, true)]
#[case::deferred_read(|tool: Tool| tool.deferred(), true)]
#[case::write(|tool: Tool| Tool { effect: Effect::Write, ..tool }, false)]
#[case::deferred_write(|tool: Tool| Tool { effect: Effect::Write, ..tool }.deferred(), false)]
#[case::guarded_read(|tool: Tool| tool.guarded(), false)]
#[case::ends_the_run(|tool: Tool| tool.ending_the_run(), false)]
#[case::answers_in_place_of_words(|tool: Tool| tool.delivering(), false)]
#[case::the_spawner_itself(|mut tool: Tool| { tool.spec.name = NAME.to_owned(); tool }, false)]
fn a_child_gets_only_what_reads(#[case] made: fn(Tool) -> Tool, #[case] expected: bool) {
    let parents = [Arc::new(made((*echo()).clone()))];
    let subagents = subagents(&Arc::default(), &parents);
    assert_eq!(!subagents.tools.is_empty(), expected);
}

/// KERN-30
#[tokio::test]
async fn a_child_has_the_subagent_model_and_no_tool_that_writes() {
    let nursery = Nursery::replies(
        "explore",
        [calls([("w", "write", "{}"), ("s", NAME, "{}"), ("r", "echo", "{}")]), says("seen")],
    );
    let written = Arc::new(AtomicUsize::new(0));
    let count = written.clone();
    let write = tool(
        "write",
        Effect::Write,
        Does(move |_| {
            count.fetch_add(1, Ordering::SeqCst);
            Ok(String::new())
        }),
    );
    let settled = result_of(&nursery, "explore", vec![echo(), write]).await;
    assert_eq!(settled, Settled::output("seen"));
    assert_eq!(written.load(Ordering::SeqCst), 0, "the write was not run");

    let asked = nursery.asked();
    assert_eq!(asked[0].request.model, "small-model");
    let names: Vec<&str> = asked[0].request.tools.iter().map(|t| t.name.as_str()).collect();
    assert_eq!(names, ["echo"]);
    let results = asked[1].request.messages.last().unwrap();
    let shown = serde_json::to_string(results).unwrap();
    assert!(shown.contains("there is no tool \\\"write\\\"") && shown.contains(NAME), "{shown}");
}

#[tokio::test]
async fn what_children_use_counts_for_their_parent() {
    let nursery = Nursery::replies("explore", [calls([("r", "echo", "{}")]), says("seen")]);
    let subagents = subagents(&nursery, &[echo()]);
    let children = [spawn("c1", "explore")];
    let (outcome, _) = parent_of(subagents, vec![echo()], &children, settings()).await;
    // Two calls of the child and two of its parent, 11 tokens each.
    assert_eq!(outcome.usage.total(), 44);
    assert_eq!(outcome.turns, 2);
}

#[tokio::test]
async fn a_child_may_spend_what_is_left_to_its_parent_and_then_ends() {
    let greedy = (0..4).map(|_| calls([("r", "echo", "{}")]));
    let nursery = Nursery::replies("explore", greedy);
    let subagents = subagents(&nursery, &[echo()]);
    let limits = Limits { max_turns: 9, budget_tokens: Some(30) };
    let parents = Settings { limits, ..settings() };
    let children = [spawn("c1", "explore")];
    let (outcome, _) = parent_of(subagents, vec![echo()], &children, parents).await;
    // 11 of 30 are spent, so the child ends after two calls of 11.
    assert_eq!(nursery.asked().len(), 2);
    assert!(matches!(outcome.stop, Stop::Budget { .. }), "{:?}", outcome.stop);
    assert_eq!(outcome.usage.total(), 33);
    let said = results(&outcome).remove(0);
    assert!(said.is_error() && said.text().contains("19 tokens"), "{}", said.text());
}

#[tokio::test]
async fn a_child_that_takes_too_many_turns_says_what_it_has() {
    let mut talks = calls([("r", "echo", "{}")]);
    talks.text = Some("so far: nothing".to_owned());
    let nursery = Nursery::replies("explore", (0..4).map(|_| talks.clone()));
    let settled = result_of(&nursery, "explore", vec![echo()]).await;
    assert!(!settled.is_error());
    let said = settled.text();
    assert!(said.starts_with("so far: nothing") && said.contains("limit"), "{said}");
}

#[tokio::test]
async fn a_child_whose_model_fails_is_a_result_in_words_and_the_parent_goes_on() {
    let failed = LlmError { message: "HTTP 401: no such key".into(), ..error(ErrorKind::Auth) };
    let nursery = Nursery::of("explore", [Turn::Answer(Err(failed))]);
    let tools = vec![echo()];
    let subagents = subagents(&nursery, &tools);
    let children = [spawn("c1", "explore")];
    let (outcome, _) = parent_of(subagents, tools, &children, settings()).await;
    let said = results(&outcome).remove(0);
    assert!(said.is_error(), "{said:?}");
    assert!(said.text().starts_with("the subagent explore brought no answer: "), "{said:?}");
    assert!(said.text().contains("HTTP 401: no such key"), "{said:?}");
    assert_eq!(outcome.stop, Stop::EndTurn);
}

/// What it said on the way is no answer.
#[tokio::test]
async fn a_child_that_ends_without_a_word_is_asked_once_more() {
    let mut looks = calls([("r", "echo", "{}")]);
    looks.text = Some("Let me look.".to_owned());
    let nursery = Nursery::replies("explore", [looks, says(""), says("it is blue")]);
    let answer = result_of(&nursery, "explore", vec![echo()]).await;
    assert_eq!(answer, Settled::output("it is blue"));
}

/// KERN-30: whatever stops the parent's step stops the child, and what the child
/// used until then counts.
#[rstest]
#[case::interrupted(Control::interrupt, Stop::Interrupted)]
#[case::aborted(Control::abort, Stop::Aborted)]
#[tokio::test]
async fn a_child_ends_with_the_step_of_its_parent(
    #[case] signal: fn(&Control),
    #[case] stop: Stop,
) {
    let script = [Turn::Answer(Ok(calls([("r", "echo", "{}")]))), Turn::Silence(|_| ())];
    let nursery = Nursery::of("explore", script);
    let subagents = subagents(&nursery, &[echo()]);
    let (_, _, arguments) = spawn("c1", "explore");
    let mut host = ScriptedHost::replies([calls([("c1", NAME, &arguments)])]);
    let control = host.control.clone();
    let mut run = run_with(settings(), vec![echo(), Arc::new(subagents.tool())]);
    let asked = nursery.asked.clone();
    let outcome = {
        let silent = async {
            while asked.lock().unwrap().len() < 2 {
                tokio::task::yield_now().await;
            }
            signal(&control);
            std::future::pending::<()>().await;
        };
        tokio::select! {
            () = silent => unreachable!("it never ends"),
            outcome = driven(&mut run, &mut host) => outcome,
        }
    };
    assert_eq!(outcome.stop, stop);
    assert!(results(&outcome)[0].is_error(), "{:?}", results(&outcome));
    assert_eq!(outcome.usage.total(), 22, "the child's one reply and the parent's");
    let born = nursery.born.lock().unwrap();
    assert_eq!(born[0].control.pending(), Some(Signal::Abort));
}

#[tokio::test]
async fn input_for_the_parent_is_not_the_childs() {
    let nursery = Nursery::replies("explore", [calls([("r", "echo", "{}")]), says("seen")]);
    let subagents = subagents(&nursery, &[echo()]);
    let (_, _, arguments) = spawn("c1", "explore");
    let steers = tool("steers", Effect::Read, Does(|_| Ok(String::new())));
    let mut host = ScriptedHost::replies([calls([("c1", NAME, &arguments)]), says("a"), says("b")]);
    host.control.steer("for the parent".into());
    let mut run = run_with(settings(), vec![steers, Arc::new(subagents.tool())]);
    driven(&mut run, &mut host).await;
    let heard = format!("{:?}", nursery.asked());
    assert!(!heard.contains("for the parent"), "{heard}");
}

#[tokio::test]
async fn a_run_in_plan_mode_may_start_children_for_they_change_nothing() {
    let nursery = Nursery::replies("explore", [says("seen")]);
    let parents = Settings { mode: Mode::Plan, ..settings() };
    let children = [spawn("c1", "explore")];
    let (outcome, host) = parent_of(subagents(&nursery, &[]), vec![], &children, parents).await;
    assert_eq!(results(&outcome), [Settled::output("seen")]);
    assert!(host.permits_asked.is_empty());
}

fn verdict(finding: &str, citations: &Value) -> Reply {
    let value = json!({"verdict": finding, "reasons": ["I looked"], "citations": citations});
    calls([("v", "structured_output", &value.to_string())])
}

fn looks() -> Reply {
    calls([("l", "look", "{}")])
}

fn sky() -> Vec<Arc<Tool>> {
    vec![read("look", "The sky over the harbour\n   is grey today.")]
}

/// KERN-31
#[tokio::test]
async fn a_verdict_that_cites_what_was_read_is_the_answer() {
    let real = json!([{"tool": "look", "quote": "harbour is  grey"}]);
    let nursery = Nursery::replies("verify", [looks(), verdict("refuted", &real)]);
    let settled = result_of(&nursery, "verify", sky()).await;
    let value: Value = serde_json::from_str(&settled.text()).unwrap();
    let expected = json!({"verdict": "refuted", "reasons": ["I looked"], "citations": real});
    assert_eq!(value, expected);
    let request = &nursery.asked()[0].request;
    assert!(request.system.contains("Try to refute it first"), "{}", request.system);
    assert!(request.tools.iter().any(|tool| tool.name == "structured_output"));
}

/// KERN-31
#[tokio::test]
async fn a_verdict_that_cites_nothing_real_is_refused_once_with_what_is_wrong() {
    let made_up = json!([{"tool": "look", "quote": "the sky is plainly blue"}]);
    let real = json!([{"tool": "look", "quote": "is grey today"}]);
    let script = [looks(), verdict("not_refuted", &made_up), verdict("refuted", &real)];
    let nursery = Nursery::replies("verify", script);
    let settled = result_of(&nursery, "verify", sky()).await;
    let value: Value = serde_json::from_str(&settled.text()).unwrap();
    assert_eq!(value["verdict"], "refuted");
    let last = format!("{:?}", nursery.asked().last().unwrap().request.messages.last());
    assert!(last.contains("the sky is plainly blue") && last.contains("is in no output"), "{last}");
}

/// KERN-31
#[rstest]
#[case::made_up(json!([{"tool": "look", "quote": "the sky is plainly blue"}]))]
#[case::of_no_tool(json!([{"tool": "wikipedia", "quote": "is grey today"}]))]
#[case::of_its_own_submission(json!([{"tool": "structured_output", "quote": "accepted"}]))]
#[case::nothing(json!([]))]
#[tokio::test]
async fn a_verdict_that_still_cites_nothing_real_is_unclear(#[case] citations: Value) {
    let script = [looks(), verdict("not_refuted", &citations), verdict("not_refuted", &citations)];
    let nursery = Nursery::replies("verify", script);
    let settled = result_of(&nursery, "verify", sky()).await;
    let value: Value = serde_json::from_str(&settled.text()).unwrap();
    assert_eq!(value["verdict"], "unclear", "{value}");
    assert_eq!(value["citations"], json!([]));
    let why = value["reasons"][0].as_str().unwrap();
    assert!(why.starts_with("its citations do not stand: "), "{why}");
    assert_eq!(nursery.asked().len(), 3);
}

/// KERN-31
#[tokio::test]
async fn a_verifier_without_a_turn_left_to_do_better_is_unclear() {
    let made_up = json!([{"tool": "look", "quote": "the sky is plainly blue"}]);
    let script = [looks(), looks(), looks(), verdict("not_refuted", &made_up)];
    let nursery = Nursery::replies("verify", script);
    let settled = result_of(&nursery, "verify", sky()).await;
    let value: Value = serde_json::from_str(&settled.text()).unwrap();
    assert_eq!(value["verdict"], "unclear", "{value}");
}

#[tokio::test]
async fn a_verifier_that_never_submits_is_a_failure_in_words() {
    let nursery = Nursery::replies("verify", [looks(), says("I think so"), says("really")]);
    let settled = result_of(&nursery, "verify", sky()).await;
    assert!(settled.is_error());
    assert!(settled.text().starts_with("the subagent verify brought no answer"), "{settled:?}");
}
