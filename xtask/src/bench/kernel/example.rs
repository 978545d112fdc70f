//! The parts that can be measured alone: reading a stream, and making a conversation fit.
//! Each is an example of its crate, built in release, that prints what it measured as JSON.

use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;
use serde::de::DeserializeOwned;

use crate::bench::report::Figure;

/// The slowest a stream may be read, in MB a second.
const PARSER: f64 = 200.0;
/// How much faster than the transcript the cost of a turn may grow: what a machine with
/// other work to do makes of it.
const GROWTH: f64 = 1.2;
/// What compacting 2 MB may take, in ms.
const COMPACTION: f64 = 20.0;

#[derive(Deserialize)]
struct Parsed {
    stream: String,
    mb_per_second: f64,
    allocations_per_delta: f64,
}

/// How fast streams are read, and what a piece of one costs.
pub fn parsing() -> Result<Vec<Figure>> {
    let parsed: Vec<Parsed> = run("foundry-llm", "parse")?;
    ensure!(!parsed.is_empty(), "the example parse measured nothing");
    Ok(parsed
        .into_iter()
        .flat_map(|Parsed { stream, mb_per_second, allocations_per_delta }| {
            let read = format!("{stream}: read");
            let cost = format!("{stream}: allocations a piece");
            [
                Figure::plain(read, "MB/s", mb_per_second).not_below(PARSER),
                Figure::plain(cost, "", allocations_per_delta),
            ]
        })
        .collect())
}

#[derive(Deserialize)]
struct Compacted {
    transcript_mb: f64,
    micro_ms: f64,
    structural_ms: f64,
    /// Cost of a turn at growing transcripts.
    turns: Vec<Turn>,
    /// How much faster the cost of a turn grows than the transcript; 1 is as fast.
    growth: f64,
}

#[derive(Deserialize)]
struct Turn {
    transcript_mb: f64,
    turn_ms: f64,
}

/// What the kernel itself takes for a turn, and for making a long conversation fit.
pub fn compacting() -> Result<Vec<Figure>> {
    let Compacted { transcript_mb, micro_ms, structural_ms, turns, growth } =
        run("foundry-kernel", "compact")?;
    let name = |stage| format!("kernel, {stage} compaction of {transcript_mb:.0} MB");
    let turn = |Turn { transcript_mb, turn_ms }| {
        Figure::plain(format!("kernel, a turn at {transcript_mb:.2} MB"), "ms", turn_ms)
    };
    let mut figures = vec![
        Figure::at_most(name("micro"), "ms", micro_ms, COMPACTION),
        Figure::at_most(name("structural"), "ms", structural_ms, COMPACTION),
    ];
    figures.extend(turns.into_iter().map(turn));
    figures.push(Figure::at_most(
        "kernel, growth of a turn to the transcript's",
        "x",
        growth,
        GROWTH,
    ));
    Ok(figures)
}

fn run<T: DeserializeOwned>(package: &str, example: &str) -> Result<T> {
    let program = crate::bench::example(package, example)?;
    let output = Command::new(&program).output();
    let output = output.with_context(|| format!("failed to run {}", program.display()))?;
    let words = String::from_utf8_lossy(&output.stderr).trim().to_owned();
    ensure!(output.status.success(), "the example {example} failed: {words}");
    serde_json::from_slice(&output.stdout)
        .with_context(|| format!("the example {example} printed something else than its figures"))
}
