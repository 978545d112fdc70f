//! What a process costs, as `/proc` tells it.

use std::fs;

use anyhow::{Context as _, Result};

use crate::bench::report::memory_mib;

/// Ticks a second of the times in `/proc/<pid>/stat`: 100 on every Linux that we build for.
const TICKS: f64 = 100.0;

/// One look at a process.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Look {
    /// Seconds of CPU time used so far.
    pub cpu: f64,
    /// Resident memory now, in MiB.
    pub resident: f64,
    /// Resident memory at its peak, in MiB.
    pub peak: f64,
    /// Threads.
    pub threads: f64,
    /// Open descriptors: connections, mostly.
    pub descriptors: f64,
}

/// Looks at a process.
pub fn look(pid: u32) -> Result<Look> {
    let read = |name: &str| {
        let path = format!("/proc/{pid}/{name}");
        fs::read_to_string(&path).with_context(|| format!("failed to read {path}"))
    };
    let stat = stat(&read("stat")?).with_context(|| format!("/proc/{pid}/stat is strange"))?;
    let folder = format!("/proc/{pid}/fd");
    let open = fs::read_dir(&folder).with_context(|| format!("failed to read {folder}"))?.count();
    Ok(Look {
        cpu: stat.ticks / TICKS,
        resident: memory_mib(pid, "VmRSS")?,
        peak: memory_mib(pid, "VmHWM")?,
        threads: stat.threads,
        descriptors: float(open),
    })
}

/// A count as a figure.
pub fn float(count: usize) -> f64 {
    u32::try_from(count).map_or(f64::INFINITY, f64::from)
}

/// Thousandths of a core that were used between two looks so many seconds apart.
pub fn millicores(first: &Look, last: &Look, seconds: f64) -> f64 {
    (last.cpu - first.cpu) / seconds * 1000.0
}

/// By how much the least of the second half exceeds the least of the first: what comes and
/// goes is no growth.
pub fn growth(samples: &[f64]) -> f64 {
    let least = |half: &[f64]| half.iter().copied().fold(f64::INFINITY, f64::min);
    let (first, second) = samples.split_at(samples.len() / 2);
    if first.is_empty() { f64::NAN } else { least(second) - least(first) }
}

struct Stat {
    ticks: f64,
    threads: f64,
}

/// Fields are counted behind the name, which may hold anything.
fn stat(text: &str) -> Option<Stat> {
    let fields: Vec<&str> = text.rsplit_once(')')?.1.split_whitespace().collect();
    let field = |number: usize| fields.get(number - 3)?.parse::<f64>().ok();
    Some(Stat { ticks: field(14)? + field(15)?, threads: field(20)? })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_and_threads_are_read_behind_a_name_with_blanks() {
        let text = "7 (a ) b) S 1 7 7 0 -1 4194560 9 0 0 0 150 50 0 0 20 0 12 0 100 0 0\n";
        let Stat { ticks, threads } = stat(text).unwrap();
        assert_eq!((ticks.to_bits(), threads.to_bits()), (200_f64.to_bits(), 12_f64.to_bits()));
    }

    #[test]
    fn growth_is_what_stays_and_not_what_comes_and_goes() {
        for (samples, grown) in [
            (&[5.0, 9.0, 5.0, 5.0, 12.0, 5.0][..], 0.0),
            (&[5.0, 5.0, 7.0, 8.0], 2.0),
            (&[5.0, 5.0, 4.0, 9.0], -1.0),
        ] {
            assert!((growth(samples) - grown).abs() < 1e-9, "{samples:?}");
        }
        assert!(growth(&[1.0]).is_nan());
    }

    #[test]
    fn this_very_process_can_be_looked_at() {
        let look = look(std::process::id()).unwrap();
        assert!(look.resident > 0.0 && look.peak >= look.resident && look.threads >= 1.0);
        assert!(look.descriptors >= 3.0);
    }
}
