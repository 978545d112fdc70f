//! A run under random replies, errors, results, signals and moves, at any step.

mod law;

use foundry_llm::{ErrorKind, Reasoning, Reply, StopReason, ToolCall, Usage};
use pretty_assertions::assert_eq;
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::OutputSchema;
use crate::policy::empty::EmptyReply;
use crate::policy::repeat::Repeat;
use crate::step::{ModelCall, Purpose};
use crate::tool::Tool;
use law::assert_acceptable;
pub(super) use law::assert_every_call_has_its_result;

/// Turns of every run here.
const MOST_TURNS: u32 = 24;

/// What happens to the run at one step.
#[derive(Clone, Debug)]
enum Happening {
    /// The model answers: a turn with this, a summary with that.
    Reply(Reply, Summary),
    Failure(ErrorKind),
    /// So many results are reported, each of this length.
    Results(usize, usize),
    Spent(u64),
    Steer,
    Interrupt,
    Abort,
    /// Stored, and taken up by another process.
    Move,
}

/// What a model writes when it is asked for a summary.
#[derive(Clone, Copy, Debug)]
enum Summary {
    Whole,
    Incomplete,
    Empty,
    CallsATool,
}

impl Summary {
    fn reply(self) -> Reply {
        match self {
            Self::Whole => says(WHOLE_SUMMARY),
            Self::Incomplete => says("## Standing goal\nto find the tide"),
            Self::Empty => says(""),
            Self::CallsATool => calls([("s", "echo", "{}")]),
        }
    }
}

/// The form, filled in.
pub(super) const WHOLE_SUMMARY: &str = "## Standing goal\nto say what is due\n\n## Rules in force\n\
    none\n\n## Done\nthe table was read\n\n## In progress\nnone\n\n## Exact next action\nread page 4\n\
    \n## Files\nnone\n\n## Decisions\nnone\n\n## Failed checks\nnone\n";

fn call() -> impl Strategy<Value = ToolCall> {
    let id = prop_oneof!["[a-c]", Just(String::new()), Just("no id".to_owned())];
    let name = prop_oneof![
        20 => Just("echo"),
        1 => Just("missing"),
        1 => Just("hidden"),
        2 => Just("ToolSearch"),
        1 => Just("structured_output"),
        1 => Just("finish"),
    ];
    let arguments = prop_oneof![
        1 => Just(String::new()),
        1 => Just("{}".to_owned()),
        4 => (0..9_u8).prop_map(|n| format!(r#"{{"n": {n}}}"#)),
        1 => Just(r#"{"n": "#.to_owned()),
        1 => Just("[]".to_owned()),
        1 => Just(r#"{"query": "select:hidden"}"#.to_owned()),
        1 => Just(r#"{"due": 3}"#.to_owned()),
    ];
    (id, name, arguments).prop_map(|(id, name, arguments)| ToolCall {
        id,
        name: name.to_owned(),
        arguments,
    })
}

fn reasoning() -> impl Strategy<Value = Vec<Reasoning>> {
    let thinking = || Reasoning::Thinking { text: "so".to_owned(), signature: "x".to_owned() };
    prop_oneof![
        3 => Just(Vec::new()),
        1 => Just(vec![thinking()]),
        1 => Just(vec![thinking(), Reasoning::Redacted { data: "y".to_owned() }]),
        1 => Just(vec![Reasoning::Text { text: "so".to_owned() }]),
    ]
}

fn usage() -> impl Strategy<Value = Usage> {
    let of = |input_tokens| Usage { input_tokens, output_tokens: 7, ..Usage::default() };
    prop_oneof![
        12 => Just(Usage::default()),
        6 => (0_u64..4000).prop_map(of),
        1 => Just(Usage { cache_read_tokens: 9_000_000, ..Usage::default() }),
    ]
}

fn reply() -> impl Strategy<Value = Reply> {
    let text = prop_oneof![
        Just(None),
        Just(Some(String::new())),
        Just(Some("so".to_owned())),
        Just(Some("and so on ".repeat(300))),
    ];
    let stop = prop_oneof![
        12 => Just(StopReason::ToolUse),
        1 => Just(StopReason::MaxTokens),
        1 => Just(StopReason::EndTurn),
        1 => Just(StopReason::Other("length_exceeded".to_owned())),
    ];
    // Mostly calls, so that runs last.
    let calls = prop_oneof![1 => Just(Vec::new()), 14 => vec(call(), 1..4)];
    (text, calls, stop, usage(), reasoning()).prop_map(|(text, calls, stop, usage, reasoning)| {
        Reply { text, calls, stop, usage, reasoning, ..says("") }
    })
}

fn summary() -> impl Strategy<Value = Summary> {
    prop_oneof![
        5 => Just(Summary::Whole),
        1 => Just(Summary::Incomplete),
        1 => Just(Summary::Empty),
        1 => Just(Summary::CallsATool),
    ]
}

fn failure() -> impl Strategy<Value = ErrorKind> {
    prop_oneof![
        2 => Just(ErrorKind::Overflow),
        4 => Just(ErrorKind::Server),
        2 => Just(ErrorKind::NoCompletion),
        1 => Just(ErrorKind::Limited),
        1 => Just(ErrorKind::Overloaded),
        1 => Just(ErrorKind::Network),
        1 => Just(ErrorKind::Stalled),
        1 => Just(ErrorKind::Broken),
        1 => Just(ErrorKind::Dialect),
    ]
}

fn fatal() -> impl Strategy<Value = ErrorKind> {
    prop_oneof![
        Just(ErrorKind::Auth),
        Just(ErrorKind::Budget),
        Just(ErrorKind::BadRequest),
        Just(ErrorKind::Refused),
    ]
}

fn length() -> impl Strategy<Value = usize> {
    prop_oneof![1 => 0..200_usize, 2 => 2000..30_000_usize]
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        60 => (reply(), summary()).prop_map(|(reply, summary)| Happening::Reply(reply, summary)),
        60 => (0_usize..5, length())
            .prop_map(|(some, length)| Happening::Results(some, length)),
        8 => failure().prop_map(Happening::Failure),
        1 => fatal().prop_map(Happening::Failure),
        4 => (0_u64..50).prop_map(Happening::Spent),
        6 => Just(Happening::Steer),
        3 => Just(Happening::Interrupt),
        1 => Just(Happening::Abort),
        10 => Just(Happening::Move),
    ]
}

/// What the run is made of.
fn settings_of_any_kind() -> impl Strategy<Value = Settings> {
    let ladder = prop_oneof![
        Just(Ladder::coding()),
        Just(Ladder::attended()),
        Just(Ladder::agent()),
        Just(Ladder { retries: 0, ..Ladder::agent() }),
        Just(Ladder::unattended()),
    ];
    let window = prop_oneof![2 => Just(128_000_u64), 9 => 3_000..20_000_u64, 1 => Just(100)];
    let fallback = option::of(Just("plan-b".to_owned()));
    let empty = prop_oneof![Just(EmptyReply::Ends), Just(EmptyReply::AskOnce)];
    let repeat = prop_oneof![
        2 => Just(Repeat::default()),
        1 => Just(Repeat { hint_after: 1, halt_after: 3 }),
        3 => Just(Repeat { hint_after: 0, halt_after: 0 }),
    ];
    let schema = json!({
        "type": "object", "properties": {"due": {"type": "integer"}}, "required": ["due"],
    });
    let output = option::weighted(0.3, Just(OutputSchema::new(schema).unwrap()));
    let budget = option::weighted(0.2, 100_u64..40_000);
    (ladder, window, fallback, empty, repeat, output, budget).prop_map(
        |(ladder, context_window, fallback_model, empty, repeat, output, budget_tokens)| Settings {
            ladder,
            context_window,
            fallback_model,
            empty,
            repeat,
            output,
            limits: Limits { max_turns: MOST_TURNS, budget_tokens },
            max_output_tokens: 300,
            ..settings()
        },
    )
}

fn tools() -> Vec<Arc<Tool>> {
    let nothing = || Does(|_| Ok(String::new()));
    let hidden = tool("hidden", Effect::Read, nothing());
    let finish = tool("finish", Effect::Write, nothing());
    vec![
        echo(),
        Arc::new(Tool::clone(&hidden).deferred()),
        Arc::new(Tool::clone(&finish).ending_the_run()),
    ]
}

/// A run, and what a host would know of it.
struct Watched {
    run: Run,
    /// Entries as they were told.
    told: Vec<Entry>,
    /// Usage of all that was fed while it was waited for.
    fed: Usage,
    /// The last request for a turn, and the log's length at it.
    sent: Option<(ModelCall, usize)>,
}

impl Watched {
    fn new(settings: Settings) -> Self {
        let run = run_with(settings, tools());
        Self { run, told: Vec::new(), fed: Usage::default(), sent: None }
    }

    /// Looks at what the run wants now; every request is lawful and grows by the last one.
    fn look(&mut self) -> Step {
        let step = self.run.step(NOW);
        self.told.extend(self.run.take_new_entries());
        drop(self.run.take_notes());
        assert_eq!(self.told, self.run.log(), "an entry was lost or told twice");
        if let Step::CallModel(call) = &step {
            assert_acceptable(&call.request.messages);
            if call.purpose == Purpose::Turn {
                self.assert_same_beginning(call);
                self.sent = Some((call.clone(), self.run.log().len()));
            }
        }
        step
    }

    fn assert_same_beginning(&self, call: &ModelCall) {
        let Some((before, length)) = &self.sent else { return };
        let was_compacted = self.run.log()[*length..]
            .iter()
            .any(|entry| matches!(entry, Entry::Fold { .. } | Entry::Stubs { .. }));
        if was_compacted || before.request.model != call.request.model {
            return;
        }
        let beginning = &before.request.messages;
        assert!(call.request.messages.starts_with(beginning), "not the same beginning");
        assert_eq!(call.request.system, before.request.system);
    }

    fn befall(&mut self, happening: &Happening) {
        let wants = self.run.step(NOW);
        let run = &mut self.run;
        match happening {
            Happening::Reply(reply, summary) => {
                if let Step::CallModel(call) = wants {
                    let reply = match call.purpose {
                        Purpose::Turn => reply.clone(),
                        Purpose::Summary => summary.reply(),
                    };
                    self.fed.add(reply.usage);
                    run.replied(Ok(reply));
                } else {
                    run.replied(Ok(reply.clone())); // nobody waits for it
                }
            }
            Happening::Failure(kind) => run.replied(Err(error(*kind))),
            Happening::Results(some, length) => {
                run.ran(vec![Settled::output("x".repeat(*length)); *some]);
            }
            Happening::Spent(tokens) => {
                let spent = Usage { output_tokens: *tokens, ..Usage::default() };
                self.fed.add(spent);
                run.spent(spent);
            }
            Happening::Steer => run.steer(UserInput::from("more")),
            Happening::Interrupt => run.interrupt(),
            Happening::Abort => run.abort(),
            Happening::Move => self.move_elsewhere(),
        }
    }

    fn move_elsewhere(&mut self) {
        let stored = serde_json::to_string(self.run.state()).unwrap();
        let before = format!("{:?}", self.run.step(NOW));
        let state: RunState = serde_json::from_str(&stored).unwrap();
        let may_have_written = match self.run.step(NOW) {
            Step::CallTools(batch) => {
                batch.calls.iter().any(|call| call.tool.effect == Effect::Write)
            }
            Step::CallModel(_) | Step::Done(_) => false,
        };
        self.run = Run::resume(state, tools()).unwrap();
        if !may_have_written {
            assert_eq!(format!("{:?}", self.run.step(NOW)), before);
        }
    }

    /// The end, however it came.
    fn assert_over(mut self) {
        let Step::Done(outcome) = self.look() else { panic!("not over") };
        assert_every_call_has_its_result(self.run.log());
        assert_eq!(outcome.entries, self.run.log());
        assert_eq!(outcome.usage, self.fed);
        assert!(outcome.turns <= MOST_TURNS, "{} turns", outcome.turns);
        assert!(!outcome.answer().is_empty());
        assert!(outcome.output.is_none() || outcome.stop == Stop::EndTurn, "{:?}", outcome.stop);
    }
}

/// Each case is long; `PROPTEST_CASES` asks for more of them.
fn cases() -> ProptestConfig {
    let set = ProptestConfig::default();
    ProptestConfig { cases: if set.cases == 256 { 48 } else { set.cases }, ..set }
}

proptest! {
    #![proptest_config(cases())]

    /// KERN-07, KERN-24: whatever happens, at whatever step, no request breaks a rule, each
    /// begins with the one before where nothing was shortened between, no entry is lost or
    /// told twice, the usage adds up, and the end leaves no call open.
    #[test]
    fn no_chain_of_events_breaks_a_conversation(
        settings in settings_of_any_kind(),
        happenings in vec(happening(), 0..90),
    ) {
        let mut watched = Watched::new(settings);
        for happening in &happenings {
            watched.look();
            watched.befall(happening);
        }
        watched.look();
        watched.run.abort();
        watched.assert_over();
    }

    /// KERN-01: a host that gives every step an answer comes to an end, whatever the answers
    /// are, and without anybody's abort.
    #[test]
    fn every_run_ends(
        settings in settings_of_any_kind(),
        replies in vec((reply(), summary()), 1..16),
        lengths in vec(length(), 1..8),
        failures in vec(option::weighted(0.15, failure()), 1..12),
    ) {
        let mut watched = Watched::new(settings);
        let mut steps = 0_usize;
        loop {
            steps += 1;
            prop_assert!(steps < 500, "no end in sight: {:#?}", watched.run.state().phase);
            let happening = match watched.look() {
                Step::Done(_) => break,
                Step::CallTools(batch) => {
                    Happening::Results(batch.calls.len(), lengths[steps % lengths.len()])
                }
                Step::CallModel(call) => match failures[steps % failures.len()] {
                    // An outage ends some time: an unlimited ladder would rightly wait for ever.
                    Some(kind) if call.attempt < 8 => Happening::Failure(kind),
                    Some(_) | None => {
                        let (reply, summary) = replies[steps % replies.len()].clone();
                        Happening::Reply(reply, summary)
                    }
                },
            };
            watched.befall(&happening);
        }
        watched.assert_over();
    }
}
