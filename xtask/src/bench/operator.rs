//! The operator beside a real control plane whose nodes KWOK plays: memory, times and writes
//! at several sizes, a burst of runs, hand-over and rest. A figure beyond its bar is an error.

mod burst;
mod exposition;
mod figures;
mod ground;
mod ledger;
mod mix;
mod process;
mod scale;
mod standing;
mod versions;

use std::collections::BTreeMap;

use anyhow::Result;
use serde_json::{Value, json};

use super::report::Figure;

/// What is measured.
#[derive(Clone, Debug)]
pub struct Options {
    /// Objects in the cluster, one measurement each.
    pub sizes: Vec<usize>,
    /// Runs of the burst; 0 leaves it out.
    pub runs: usize,
    /// Minutes in which nothing may be written.
    pub quiet_minutes: u64,
}

/// What came out.
pub struct Measured {
    /// The figures, with their bars.
    pub figures: Vec<Figure>,
    /// Versions, load, and writes by field manager.
    pub beside: Value,
}

/// Measures everything.
pub async fn measure(options: &Options) -> Result<Measured> {
    let versions = versions::read()?;
    let (mut figures, mut writes) = (Vec::new(), BTreeMap::new());
    let mut scales = Vec::new();
    for size in &options.sizes {
        let scale = scale::measure(*size, options.quiet_minutes).await?;
        writes.insert(format!("{size} objects"), scale.by_manager.clone());
        figures.extend(scale.figures());
        scales.push(scale);
    }
    figures.extend(figures::growth(&scales));
    if options.runs > 0 {
        let burst = burst::measure(options.runs).await?;
        writes.insert(format!("{} runs", options.runs), burst.by_manager);
        figures.extend(burst.figures);
    }
    figures.extend(standing::measure().await?);
    Ok(Measured { figures, beside: json!({ "versions": versions, "writes": writes }) })
}
