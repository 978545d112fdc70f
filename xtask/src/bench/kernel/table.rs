//! Flowcode beside the others, for a person.

use anyhow::{Context as _, Result};

use super::figures::{first_kb, gap};
use super::peers::{self, Peer};
use super::play::{Case, Wire};
use super::sample::Sample;
use super::{Played, Side};
use crate::bench::report::percentile;

/// The lines of the table.
pub fn lines(all: &[Played], ours: &Side) -> Result<Vec<String>> {
    let row = |[name, installed, first, request, turns_50, turns_200]: [&str; 6]| {
        format!(
            "{name:<28} {installed:>5} {first:>10} {request:>13} {turns_50:>19} {turns_200:>16}"
        )
    };
    let mut lines = vec![
        String::new(),
        row(["", "MB", "first, s", "its size, tools", "50 turns", "200 of 2 KB"]),
    ];
    let cells = own_cells(all, ours)?;
    lines.push(row(std::array::from_fn(|cell| cells[cell].as_str())));
    for Peer { name, installed, first, request, turns_50, turns_200 } in peers::MEASURED {
        lines.push(row([
            &format!("{name} (quoted)"),
            installed,
            first,
            request,
            turns_50,
            turns_200,
        ]));
    }
    lines.push(
        "Quoted figures are from an earlier measurement of the same cases on two cores, with one \
         echo a turn in the 50; only flowcode was measured in this run."
            .to_owned(),
    );
    lines.push(String::new());
    Ok(lines)
}

fn own_cells(all: &[Played], ours: &Side) -> Result<[String; 6]> {
    let samples = |case| {
        let played = all.iter().find(|one| one.play.case == case && one.play.wire == Wire::OpenAi);
        played.and_then(|one| one.samples.first()).with_context(|| format!("{case:?} is missing"))
    };
    let (short, long) = (samples(Case::Commands(50))?, samples(Case::Commands(200))?);
    let middle = |samples: &[Sample], of: fn(&Sample) -> f64| {
        percentile(&mut samples.iter().map(of).collect::<Vec<_>>(), 0.5)
    };
    let turns = |samples: &[Sample]| {
        let (gap, peak) =
            (middle(samples, |one| gap(one, 0.5)), middle(samples, |one| one.peak_mb));
        format!("{gap:.1} ms, {peak:.0} MB")
    };
    let size = std::fs::metadata(&ours.flowcode).context("failed to look at flowcode")?.len();
    #[expect(clippy::cast_precision_loss, reason = "an executable has far fewer bytes than 2^52")]
    let installed = size as f64 / 1e6;
    let tools = short.first().map_or(0, |sample| sample.first_tools);
    Ok([
        "flowcode (measured)".to_owned(),
        format!("{installed:.0}"),
        format!("{:.3}", middle(short, |one| one.first_ms) / 1000.0),
        format!("{:.1} KB, {tools}", middle(short, first_kb)),
        turns(short),
        turns(long),
    ])
}
