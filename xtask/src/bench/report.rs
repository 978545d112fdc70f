//! What a bench found: a table for a person, a JSON file for a machine.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::path::Path;

use anyhow::Context as _;
use serde::Serialize;
use serde_json::Value;

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
    /// On which side of the bar the value is to be.
    pub side: Side,
    /// Whether the value is within the bar.
    pub holds: bool,
    /// What `value` is the median of, where it was measured more than once.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub samples: Vec<f64>,
}

/// On which side of its bar a value is to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Side {
    /// Not above it.
    AtMost,
    /// Not below it.
    AtLeast,
}

impl Figure {
    /// A figure that must not be above its bar.
    pub fn at_most(name: impl Into<String>, unit: &'static str, value: f64, bar: f64) -> Self {
        Self::plain(name, unit, value).not_above(bar)
    }

    /// A figure that nothing is demanded of.
    pub fn plain(name: impl Into<String>, unit: &'static str, value: f64) -> Self {
        Self {
            name: name.into(),
            unit,
            value,
            bar: None,
            side: Side::AtMost,
            holds: true,
            samples: Vec::new(),
        }
    }

    /// The median of these samples; nothing is demanded of it.
    pub fn median(name: impl Into<String>, unit: &'static str, samples: Vec<f64>) -> Self {
        let value = percentile(&mut samples.clone(), 0.5);
        Self { samples, ..Self::plain(name, unit, value) }
    }

    /// The same figure, which must not be above this bar.
    #[must_use]
    pub fn not_above(self, bar: f64) -> Self {
        Self { holds: self.value <= bar, bar: Some(bar), side: Side::AtMost, ..self }
    }

    /// The same figure, which must not be below this bar.
    #[must_use]
    pub fn not_below(self, bar: f64) -> Self {
        Self { holds: self.value >= bar, bar: Some(bar), side: Side::AtLeast, ..self }
    }
}

#[derive(Serialize)]
struct Report<'a> {
    machine: Machine,
    figures: &'a [Figure],
    /// What is told beside the figures.
    #[serde(skip_serializing_if = "Value::is_null")]
    beside: &'a Value,
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
    publish_with(name, figures, &Value::Null)
}

/// The same, with more to tell beside the figures, and what the last result was.
pub fn publish_with(name: &str, figures: &[Figure], beside: &Value) -> anyhow::Result<()> {
    let folder = repository::root().join("target/bench");
    let file = folder.join(format!("{name}.json"));
    let last = Last::read(&file);
    let machine = machine()?;
    let mut out = std::io::stdout().lock();
    let Machine { cores, memory_mib, rustc, commit } = &machine;
    writeln!(out, "{cores} cores, {memory_mib} MiB; {rustc}; commit {commit}")?;
    for (what, version) in beside["versions"].as_object().into_iter().flatten() {
        writeln!(out, "{what}: {}", version.as_str().unwrap_or_default())?;
    }
    writeln!(
        out,
        "{:<58} {:>12} {:<8} {:>10}  {:<5} {:>12}",
        name, "value", "unit", "bar", "holds", "last"
    )?;
    for Figure { name, unit, value, bar, side, holds, samples: _ } in figures {
        let last = last.told(name, *value);
        let bar = match (bar, side) {
            (None, _) => "-".to_owned(),
            (Some(bar), Side::AtMost) => format!("{bar:.2}"),
            (Some(bar), Side::AtLeast) => format!(">= {bar:.2}"),
        };
        let holds = if *holds { "yes" } else { "NO" };
        writeln!(out, "{name:<58} {value:>12.2} {unit:<8} {bar:>10}  {holds:<5} {last:>12}")?;
    }
    std::fs::create_dir_all(&folder)
        .with_context(|| format!("failed to make {}", folder.display()))?;
    let report = Report { machine, figures, beside };
    std::fs::write(&file, serde_json::to_vec_pretty(&report)?)
        .with_context(|| format!("failed to write {}", file.display()))?;
    writeln!(out, "wrote {}", file.display())?;
    Ok(())
}

/// The result before this one.
struct Last(BTreeMap<String, f64>);

impl Last {
    /// What is not there, or not of this form, has nothing to be compared with.
    fn read(file: &Path) -> Self {
        let text = std::fs::read(file).unwrap_or_default();
        let report: Value = serde_json::from_slice(&text).unwrap_or_default();
        let figures = report["figures"].as_array().into_iter().flatten();
        let value = |it: &Value| Some((it["name"].as_str()?.to_owned(), it["value"].as_f64()?));
        Self(figures.filter_map(value).collect())
    }

    /// By how much a figure differs from what it was.
    fn told(&self, name: &str, value: f64) -> String {
        match self.0.get(name) {
            None => "-".to_owned(),
            Some(last) if *last == 0.0 => format!("{:+.2}", value - last),
            Some(last) => format!("{:+.1} %", (value / last - 1.0) * 100.0),
        }
    }
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
    fn a_figure_holds_on_its_side_of_the_bar_and_is_the_median_of_its_samples() {
        let speed = |value| Figure::plain("speed", "MB/s", value).not_below(200.0).holds;
        assert_eq!([speed(200.0), speed(199.0), speed(f64::NAN)], [true, false, false]);
        let time = |samples| Figure::median("time", "ms", samples).not_above(2.0);
        assert_eq!([time(vec![9.0, 1.0, 2.0]).holds, time(Vec::new()).holds], [true, false]);
        assert_eq!(time(vec![9.0, 1.0, 2.0]).samples, [9.0, 1.0, 2.0]);
    }

    #[test]
    fn a_figure_is_told_beside_the_last_result() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("operator.json");
        assert_eq!(Last::read(&file).told("time", 1.0), "-");
        let figures = [Figure::plain("time", "ms", 2.0), Figure::plain("lost", "runs", 0.0)];
        std::fs::write(&file, serde_json::json!({ "figures": figures }).to_string()).unwrap();
        let last = Last::read(&file);
        let told = [last.told("time", 3.0), last.told("lost", 1.0), last.told("new", 1.0)];
        assert_eq!(told, ["+50.0 %", "+1.00", "-"]);
    }

    #[test]
    fn a_proc_field_is_read_by_its_whole_name() {
        assert_eq!(field("VmPeak:\t  9 kB\nVmRSS:\t 7040 kB\n", "VmRSS"), Some(7040));
    }
}
