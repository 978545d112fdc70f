//! Measures what the kernel itself takes: a turn at growing transcripts, and making a
//! long conversation fit. Prints one JSON object, which `cargo xtask bench kernel` reads.
//!
//! No model and no tool is asked; what they would say is fed.

use std::error::Error;
use std::io::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use async_trait::async_trait;
use foundry_kernel::policy::limits::Limits;
use foundry_kernel::{
    CallResult, Effect, Entry, Execute, ModelCall, Purpose, Run, RunOptions, Settings, Settled,
    Step, Tool, ToolError, UserInput,
};
use foundry_llm::{ErrorKind, LlmError, Message, Reply, StopReason, ToolCall, ToolSpec, Usage};
use jiff::Timestamp;
use serde_json::{Map, Value, json};

/// Bytes of one result.
const RESULT_BYTES: usize = 2048;
/// Transcripts at which a turn is measured, in bytes.
const SIZES: [usize; 4] = [250_000, 500_000, 1_000_000, 2_000_000];
/// Turns whose middle speaks for a size.
const AROUND: usize = 17;
/// The transcript that is made to fit, in bytes.
const LONG: usize = 2_000_000;
/// How often that is measured.
const TIMES: usize = 9;
/// A window that nothing here outgrows, in tokens.
const ENDLESS: u64 = 1_000_000_000;
/// A window that the long transcript outgrows before its results are stubbed, and not after.
const WIDE: u64 = 200_000;
/// One that it outgrows even then.
const NARROW: u64 = 40_000;

type Failure = Box<dyn Error>;

fn main() -> Result<(), Failure> {
    let turns = turns()?;
    let micro = compaction(WIDE, &read_notes(LONG), &[Purpose::Turn])?;
    let structural = compaction(NARROW, &talk(LONG), &[Purpose::Summary, Purpose::Turn])?;
    let ((first, small), (last, large)) = match turns.as_slice() {
        [first, .., last] => (*first, *last),
        _ => return Err("fewer than two sizes were measured".into()),
    };
    let growth = (large.as_secs_f64() / small.as_secs_f64()) / (mb(last) / mb(first));
    let shown: Vec<Value> = turns
        .iter()
        .map(|(bytes, took)| json!({"transcript_mb": mb(*bytes), "turn_ms": ms(*took)}))
        .collect();
    let measured = json!({
        "transcript_mb": mb(LONG),
        "micro_ms": ms(micro),
        "structural_ms": ms(structural),
        "turns": shown,
        "growth": growth,
    });
    writeln!(std::io::stdout(), "{measured}")?;
    Ok(())
}

/// What a whole turn takes of the kernel's time, at each size: from one request to the next.
fn turns() -> Result<Vec<(usize, Duration)>, Failure> {
    let mut run = run(ENDLESS, Vec::new())?;
    let mut call = ask(&mut run)?;
    let mut measured = Vec::new();
    for size in SIZES {
        let mut took = Vec::new();
        while took.len() < AROUND {
            let is_there = bytes(&call) >= size;
            let reply = calling(run.turns());
            let result = Settled::output(result(run.turns()));
            let start = Instant::now();
            run.replied(Ok(reply));
            let Step::CallTools(batch) = run.step(Timestamp::UNIX_EPOCH) else {
                return Err("the run does not ask for its calls".into());
            };
            run.ran(vec![result; batch.calls.len()]);
            call = ask(&mut run)?;
            let elapsed = start.elapsed();
            run.take_new_entries();
            if is_there {
                took.push(elapsed);
            }
        }
        measured.push((size, middle(took)));
    }
    Ok(measured)
}

/// What the kernel takes until a conversation that is too long fits, the model's answers
/// to these calls not counted; a summary is refused.
fn compaction(window: u64, history: &[Entry], expected: &[Purpose]) -> Result<Duration, Failure> {
    let mut took = Vec::new();
    for _ in 0..TIMES {
        let mut run = run(window, history.to_vec())?;
        let mut elapsed = Duration::ZERO;
        for purpose in expected {
            let start = Instant::now();
            let call = ask(&mut run)?;
            elapsed += start.elapsed();
            if call.purpose != *purpose {
                return Err(format!("asked for a {:?}, not a {purpose:?}", call.purpose).into());
            }
            match purpose {
                Purpose::Summary => run.replied(Err(refused())),
                Purpose::Turn if bytes(&call) * 2 > LONG => {
                    return Err(format!("still {} bytes", bytes(&call)).into());
                }
                Purpose::Turn => {}
            }
        }
        took.push(elapsed);
    }
    Ok(middle(took))
}

fn run(context_window: u64, history: Vec<Entry>) -> Result<Run, Failure> {
    let limits = Limits { max_turns: u32::MAX, budget_tokens: None };
    let settings = Settings { limits, context_window, ..Settings::new("auto", "You read notes.") };
    let input = UserInput::from("Read the notes.");
    Ok(Run::new(RunOptions { settings, history, input, tools: vec![Arc::new(read_note())] })?)
}

fn ask(run: &mut Run) -> Result<ModelCall, Failure> {
    match run.step(Timestamp::UNIX_EPOCH) {
        Step::CallModel(call) => Ok(call),
        Step::CallTools(_) => Err("the run wants a tool run".into()),
        Step::Done(outcome) => Err(format!("the run has ended: {}", outcome.answer()).into()),
    }
}

/// A conversation in which notes were read, so long.
fn read_notes(bytes: usize) -> Vec<Entry> {
    let mut entries = vec![Entry::User { input: UserInput::from("Read the older notes.") }];
    for number in 0..u32::try_from(bytes / RESULT_BYTES).unwrap_or(u32::MAX) {
        let reply = calling(number);
        let results = reply
            .calls
            .iter()
            .map(|call| CallResult {
                call_id: call.id.clone(),
                name: call.name.clone(),
                settled: Settled::output(result(number)),
            })
            .collect();
        entries.push(Entry::Assistant { reply });
        entries.push(Entry::Results { results });
    }
    entries.push(Entry::Assistant { reply: saying("These are all.".to_owned()) });
    entries
}

/// A conversation of words alone, so long: there is nothing in it to be stubbed.
fn talk(bytes: usize) -> Vec<Entry> {
    let said = |number| {
        let input = UserInput::from(format!("And the day after {number}?"));
        [Entry::User { input }, Entry::Assistant { reply: saying(result(number)) }]
    };
    let number = u32::try_from(bytes / RESULT_BYTES).unwrap_or(u32::MAX);
    (0..number).flat_map(said).collect()
}

fn calling(number: u32) -> Reply {
    let call = ToolCall {
        id: format!("call_{number}"),
        name: "read_note".to_owned(),
        arguments: format!("{{\"number\":{number}}}"),
    };
    Reply { calls: vec![call], stop: StopReason::ToolUse, text: None, ..saying(String::new()) }
}

fn saying(text: String) -> Reply {
    Reply {
        text: Some(text),
        reasoning: Vec::new(),
        calls: Vec::new(),
        stop: StopReason::EndTurn,
        // Nothing is reported, so sizes are estimated, which costs the most.
        usage: Usage::default(),
        model: "auto".to_owned(),
    }
}

fn refused() -> LlmError {
    LlmError {
        kind: ErrorKind::BadRequest,
        status: Some(400),
        message: "HTTP 400: no summaries here".to_owned(),
        retry_after: None,
    }
}

/// Lines about a note, as long as a result is here.
fn result(number: u32) -> String {
    let line = format!("Note {number}: the tide was seen to turn at the third hour.\n");
    let mut text = line.repeat(RESULT_BYTES / line.len() + 1);
    text.truncate(RESULT_BYTES);
    text
}

/// Bytes of what the messages of a request say.
fn bytes(call: &ModelCall) -> usize {
    let of = |message: &Message| match message {
        Message::User { content } => {
            content.iter().map(|foundry_llm::Content::Text { text }| text.len()).sum()
        }
        Message::Assistant { text, reasoning: _, calls } => {
            text.as_ref().map_or(0, String::len)
                + calls.iter().map(|call| call.arguments.len()).sum::<usize>()
        }
        Message::ToolResults { results } => results.iter().map(|one| one.content.len()).sum(),
    };
    call.request.messages.iter().map(of).sum()
}

fn middle(mut took: Vec<Duration>) -> Duration {
    took.sort_unstable();
    took.get(took.len() / 2).copied().unwrap_or_default()
}

fn ms(took: Duration) -> f64 {
    took.as_secs_f64() * 1e3
}

fn mb(bytes: usize) -> f64 {
    f64::from(u32::try_from(bytes).unwrap_or(u32::MAX)) / 1e6
}

/// A tool that is never run: its results are fed.
struct Fed;

#[async_trait]
impl Execute for Fed {
    async fn execute(&self, _arguments: Map<String, Value>) -> Result<String, ToolError> {
        Err(ToolError::Failed("nothing is run here".to_owned()))
    }
}

fn read_note() -> Tool {
    let spec = ToolSpec {
        name: "read_note".to_owned(),
        description: "Reads a note.".to_owned(),
        input_schema: json!({
            "type": "object",
            "properties": {"number": {"type": "integer"}},
            "required": ["number"],
        }),
    };
    Tool::new(spec, Effect::Read, Arc::new(Fed))
}
