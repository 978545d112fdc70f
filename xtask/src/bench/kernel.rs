//! `cargo xtask bench kernel`: what a turn of flowcode costs beside the model's own time.
//!
//! The model is scripted and answers at once, over loopback. What is left between the end
//! of a reply and the arrival of the next request is ours: reading the reply, running the
//! call (a process), and writing the request.

mod against;
mod example;
mod figures;
mod peers;
mod ping;
mod play;
mod requests;
mod sample;
mod table;

use std::path::PathBuf;

use anyhow::Result;
use serde_json::{Value, json};

use super::report::Figure;
use play::{Case, Play, Wire};
use sample::{Ground, Sample};

/// Samples of each play, after one that warms up.
const SAMPLES: usize = 5;

/// What came out, and what is told beside it.
pub struct Measured {
    /// The figures.
    pub figures: Vec<Figure>,
    /// The peers, and the other revision's samples.
    pub beside: Value,
    /// Lines for a person, after the table.
    pub lines: Vec<String>,
}

/// A flowcode that is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Side {
    /// `working tree`, or a revision.
    name: String,
    /// The release executable.
    flowcode: PathBuf,
}

/// The samples of one play.
struct Played {
    play: Play,
    /// One list for each side.
    samples: Vec<Vec<Sample>>,
}

/// Plays everything with the flowcode of the working tree, in turns with that of another
/// revision when one is named.
pub async fn measure(against: Option<&str>) -> Result<Measured> {
    let folder = super::release_folder()?;
    let mut sides =
        vec![Side { name: "working tree".to_owned(), flowcode: folder.join("flowcode") }];
    if let Some(revision) = against {
        sides.push(against::build(revision)?);
    }
    let ground = Ground::lay(folder.join("scripted-model"))?;
    let mut all = Vec::new();
    for play in plays() {
        all.push(sample(&ground, play, &sides).await?);
    }
    let bare = ping::bare_command(&ground.note(1))?;

    let mut figures = Vec::new();
    for played in &all {
        figures.extend(figures::of(played.play, &played.samples[0], bare));
    }
    figures.extend(example::parsing()?);
    figures.extend(example::compacting()?);
    let ratios = sides.get(1).map(|other| {
        all.iter().flat_map(|played| against::ratios(played, &other.name)).collect::<Vec<_>>()
    });
    let mut lines = table::lines(&all, &sides[0])?;
    for ratio in ratios.iter().flatten() {
        figures.push(ratio.figure());
        lines.extend(ratio.explanation());
    }
    Ok(Measured { figures, beside: json!({"peers": peers::MEASURED, "against": ratios}), lines })
}

/// Every case, over both wires.
fn plays() -> Vec<Play> {
    let on = |case| [Wire::OpenAi, Wire::Anthropic].map(|wire| Play { case, wire });
    Case::ALL.into_iter().flat_map(on).collect()
}

/// Samples of one play, the sides in turns, so that whatever else the machine does falls
/// on both.
async fn sample(ground: &Ground, play: Play, sides: &[Side]) -> Result<Played> {
    let mut samples = vec![Vec::new(); sides.len()];
    for round in 0..=SAMPLES {
        for (side, samples) in sides.iter().zip(&mut samples) {
            let sample = sample::take(ground, play, &side.flowcode).await?;
            if round > 0 {
                samples.push(sample);
            }
        }
    }
    Ok(Played { play, samples })
}
