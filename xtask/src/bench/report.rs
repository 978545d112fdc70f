//! What a bench found: a table for a person, a JSON file for a machine.

use std::io::Write as _;

use anyhow::Context as _;
use serde::Serialize;

use crate::repository;

/// One figure.
#[derive(Serialize)]
pub struct Figure {
    /// What was measured.
    pub name: String,
    /// Unit of `value` and `bar`.
    pub unit: &'static str,
    /// What came out.
    pub value: f64,
    /// What we aim at; `None` for a figure without a bar.
    pub bar: Option<f64>,
    /// Whether the value is within the bar.
    pub holds: bool,
}

impl Figure {
    /// A figure that must not be above its bar.
    pub fn at_most(name: impl Into<String>, unit: &'static str, value: f64, bar: f64) -> Self {
        Self { name: name.into(), unit, value, bar: Some(bar), holds: value <= bar }
    }

    /// A figure that nothing is demanded of.
    pub fn plain(name: impl Into<String>, unit: &'static str, value: f64) -> Self {
        Self { name: name.into(), unit, value, bar: None, holds: true }
    }
}

#[derive(Serialize)]
struct Report<'a> {
    machine: Machine,
    figures: &'a [Figure],
}

#[derive(Serialize)]
struct Machine {
    cores: usize,
    memory_mib: u64,
    rustc: String,
    commit: String,
}

/// Prints the figures and writes `target/bench/<name>.json`.
pub fn publish(name: &str, figures: &[Figure]) -> anyhow::Result<()> {
    let mut out = std::io::stdout().lock();
    writeln!(out, "{:<58} {:>12} {:<8} {:>10}  holds", name, "value", "unit", "bar")?;
    for Figure { name, unit, value, bar, holds } in figures {
        let bar = bar.map_or_else(|| "-".to_owned(), |bar| format!("{bar:.2}"));
        let holds = if *holds { "yes" } else { "NO" };
        writeln!(out, "{name:<58} {value:>12.2} {unit:<8} {bar:>10}  {holds}")?;
    }
    let folder = repository::root().join("target/bench");
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("failed to make {}", folder.display()))?;
    let file = folder.join(format!("{name}.json"));
    let report = Report { machine: machine()?, figures };
    std::fs::write(&file, serde_json::to_vec_pretty(&report)?)
        .with_context(|| format!("failed to write {}", file.display()))?;
    writeln!(out, "wrote {}", file.display())?;
    Ok(())
}

fn machine() -> anyhow::Result<Machine> {
    let meminfo = std::fs::read_to_string("/proc/meminfo").unwrap_or_default();
    let memory_kib = field(&meminfo, "MemTotal").unwrap_or_default();
    Ok(Machine {
        cores: std::thread::available_parallelism()?.get(),
        memory_mib: memory_kib / 1024,
        rustc: repository::capture("rustc", &["--version"])?.trim().to_owned(),
        commit: repository::capture("git", &["rev-parse", "--short", "HEAD"])?.trim().to_owned(),
    })
}

/// A `Name: 123 kB` line of a file in /proc.
fn field(text: &str, name: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'))?;
    line.split_whitespace().next()?.parse().ok()
}

/// A memory figure of a process from /proc, in MiB: `VmRSS` now, `VmHWM` at peak.
pub fn memory_mib(pid: u32, name: &str) -> anyhow::Result<f64> {
    let file = format!("/proc/{pid}/status");
    let text = std::fs::read_to_string(&file).with_context(|| format!("failed to read {file}"))?;
    let kib = field(&text, name).with_context(|| format!("{file} has no {name}"))?;
    #[expect(clippy::cast_precision_loss, reason = "kibibytes of one process fit a f64 exactly")]
    Ok(kib as f64 / 1024.0)
}

/// The value below which a share of the sorted samples lies.
pub fn percentile(samples: &mut [f64], share: f64) -> f64 {
    samples.sort_by(f64::total_cmp);
    #[expect(
        clippy::cast_precision_loss,
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "an index into a slice of samples"
    )]
    let index = ((samples.len().saturating_sub(1)) as f64 * share).round() as usize;
    samples.get(index).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_are_taken_from_sorted_samples() {
        let mut samples = [5.0, 1.0, 4.0, 2.0, 3.0];
        assert_eq!(percentile(&mut samples, 0.5).to_bits(), 3.0_f64.to_bits());
        assert_eq!(percentile(&mut samples, 0.99).to_bits(), 5.0_f64.to_bits());
    }

    #[test]
    fn a_proc_field_is_read_by_its_whole_name() {
        assert_eq!(field("VmPeak:\t  9 kB\nVmRSS:\t 7040 kB\n", "VmRSS"), Some(7040));
    }
}
