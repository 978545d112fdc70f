//! The flowcode of another revision, played in turns with the one of the working tree.

use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde::Serialize;

use super::figures::{first_kb, gap, gap_at};
use super::sample::Sample;
use super::{Played, Side};
use crate::bench::report::{Figure, percentile};
use crate::printer::complain;
use crate::repository;

/// A ratio above this is to be explained or mended.
const BAR: f64 = 1.15;

/// Builds flowcode of a revision in a work tree of its own below the target folder.
pub fn build(revision: &str) -> Result<Side> {
    let object = format!("{revision}^{{commit}}");
    let commit = repository::capture("git", &["rev-parse", "--verify", "--quiet", &object]);
    let commit = commit.with_context(|| format!("there is no revision {revision}"))?;
    let commit = commit.trim();
    let target = crate::bench::target_folder()?;
    let folder = target.join("bench/against").join(commit);
    if !folder.join("Cargo.toml").is_file() {
        let shown = folder.display().to_string();
        // By force: the folder of an earlier one may be gone with its target folder.
        repository::run(
            "git",
            &["worktree", "add", "--quiet", "--force", "--detach", &shown, commit],
        )?;
    }
    complain(&format!("bench: building flowcode of {revision}"));
    let built = target.join("bench/against/target");
    release(&folder, &built)?;
    // The next revision goes to the same target folder, which spares most of its build.
    let flowcode = target.join("bench/against").join(format!("flowcode-{commit}"));
    std::fs::copy(built.join("release/flowcode"), &flowcode)
        .with_context(|| format!("{revision} builds no flowcode"))?;
    Ok(Side { name: revision.to_owned(), flowcode })
}

fn release(folder: &Path, target: &Path) -> Result<()> {
    let mut cargo = Command::new("cargo");
    cargo.args(["build", "--release", "--package", "foundry-coding", "--bin", "flowcode"]);
    let status = cargo.current_dir(folder).env("CARGO_TARGET_DIR", target).status();
    let status = status.context("failed to run cargo")?;
    ensure!(status.success(), "flowcode in {} does not build ({status})", folder.display());
    Ok(())
}

/// One quantity of one play, here and at the other revision.
#[derive(Debug, Serialize)]
pub struct Ratio {
    name: String,
    unit: &'static str,
    here: Vec<f64>,
    there: Vec<f64>,
    times: f64,
    /// What may have moved it: the same for all quantities of a play.
    about: String,
}

/// A name, its unit, and how it is read from a sample.
type Quantity<'a> = (&'static str, &'static str, &'a dyn Fn(&Sample) -> f64);

/// The quantities of a play that are compared.
pub fn ratios(played: &Played, other: &str) -> Vec<Ratio> {
    let [here, there] = played.samples.as_slice() else { return Vec::new() };
    let last = played.play.case.turns();
    let quantities: [Quantity<'_>; 4] = [
        ("exec to first request", "ms", &|one| one.first_ms),
        ("gap p50", "ms", &|one| gap(one, 0.5)),
        ("gap at its last turns", "ms", &|one| gap_at(one, last)),
        ("peak resident", "MB", &|one| one.peak_mb),
    ];
    let about = about(here, there);
    quantities
        .into_iter()
        .map(|(what, unit, of)| {
            let name = format!("{}: {what}, against {other}", played.play.name());
            Ratio::new(name, unit, [here, there].map(|side| side.iter().map(of).collect()), &about)
        })
        .collect()
}

impl Ratio {
    fn new(name: String, unit: &'static str, [here, there]: [Vec<f64>; 2], about: &str) -> Self {
        let times = middle(&here) / middle(&there);
        Self { name, unit, here, there, times, about: about.to_owned() }
    }

    /// As a figure that must not be above the bar.
    pub fn figure(&self) -> Figure {
        Figure::at_most(self.name.clone(), "x", self.times, BAR)
    }

    /// Why a ratio above the bar may be so, in lines for a person.
    pub fn explanation(&self) -> Vec<String> {
        if self.times <= BAR {
            return Vec::new();
        }
        let Self { name, unit, here, there, times, about } = self;
        let [(low, high), (other_low, other_high)] = [range(here), range(there)];
        let verdict = if low > other_high {
            "no sample of this tree was as good as the worst of the other: the tree is slower or larger"
        } else {
            "the samples overlap: the machine may have moved them; measure again before you look for a cause"
        };
        vec![
            format!("{name}: {times:.2}"),
            format!(
                "  here {:.2} {unit} ({low:.2} to {high:.2}), there {:.2} {unit} ({other_low:.2} to {other_high:.2})",
                middle(here),
                middle(there)
            ),
            format!("  {verdict}"),
            format!("  {about}"),
        ]
    }
}

fn about(here: &[Sample], there: &[Sample]) -> String {
    let of =
        |side: &[Sample], of: fn(&Sample) -> f64| middle(&side.iter().map(of).collect::<Vec<_>>());
    let tools = |side: &[Sample]| side.first().map_or(0, |sample| sample.first_tools);
    format!(
        "first request here {:.1} KB with {} tools, there {:.1} KB with {}; ping-pong here {:.3} ms, there {:.3} ms",
        of(here, first_kb),
        tools(here),
        of(there, first_kb),
        tools(there),
        of(here, |one| one.pong_ms),
        of(there, |one| one.pong_ms),
    )
}

fn middle(samples: &[f64]) -> f64 {
    percentile(&mut samples.to_vec(), 0.5)
}

fn range(samples: &[f64]) -> (f64, f64) {
    let low = samples.iter().copied().fold(f64::INFINITY, f64::min);
    (low, samples.iter().copied().fold(f64::NEG_INFINITY, f64::max))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ratio(here: &[f64], there: &[f64]) -> Ratio {
        let sides = [here.to_vec(), there.to_vec()];
        Ratio::new("openai, 50 commands: gap p50".to_owned(), "ms", sides, "first request …")
    }

    #[test]
    fn a_ratio_within_the_bar_holds_and_needs_no_words() {
        let ratio = ratio(&[1.1, 1.0, 1.2], &[1.0, 0.9, 1.1]);
        assert!(ratio.figure().holds);
        assert!(ratio.explanation().is_empty());
    }

    #[test]
    fn a_ratio_above_the_bar_is_told_with_both_ranges_and_whether_they_overlap() {
        let apart = ratio(&[2.0, 2.1, 1.9], &[1.0, 1.2, 1.1]);
        assert!(!apart.figure().holds);
        let words = apart.explanation().join("\n");
        assert!(
            words.contains("here 2.00 ms (1.90 to 2.10), there 1.10 ms (1.00 to 1.20)"),
            "{words}"
        );
        assert!(words.contains("slower or larger"), "{words}");
        let close = ratio(&[1.0, 1.4, 1.5], &[1.1, 1.2, 1.0]).explanation().join("\n");
        assert!(close.contains("measure again"), "{close}");
    }
}
