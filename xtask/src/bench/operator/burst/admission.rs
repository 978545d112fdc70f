//! Which runs were admitted, when, and in which turn: read from what the API server logged
//! and holds. A run is admitted when the API server holds its Job.

use std::collections::BTreeMap;

use k8s_openapi::jiff::Timestamp;
use testenv::Request;

use crate::bench::operator::process::float;

/// The UID of its owner for the UID of each object.
pub type Owners = BTreeMap<String, String>;

/// What became of the runs of a burst.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Admission {
    /// Runs that have a Job.
    pub admitted: usize,
    /// Runs without one.
    pub lost: usize,
    /// Runs with more than one, by what is there or what was ever made.
    pub doubled: usize,
    /// Seconds from the first creation of a run to the last of a Job.
    pub seconds: f64,
    /// The longest wait of a run in each namespace, in seconds.
    pub longest_waits: BTreeMap<String, f64>,
}

/// Counts by UID how many Jobs lead to each run: `jobs` are the owners of the Jobs, which
/// are agents.
pub fn jobs_of_runs(runs: &[String], jobs: &[String], agents: &Owners) -> Counts {
    let mut counts: BTreeMap<&String, usize> = runs.iter().map(|run| (run, 0)).collect();
    for agent in jobs {
        if let Some(count) = agents.get(agent).and_then(|run| counts.get_mut(run)) {
            *count += 1;
        }
    }
    Counts {
        lost: counts.values().filter(|count| **count == 0).count(),
        doubled: counts.values().filter(|count| **count > 1).count(),
    }
}

/// How many runs have no Job, and how many have several.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    /// Runs without a Job.
    pub lost: usize,
    /// Runs with several.
    pub doubled: usize,
}

/// The Job of a run's first start.
pub fn job(run: &str) -> String {
    format!("foundry-agent-{run}-1")
}

/// Reads the log of a burst. Only what was carried out counts.
pub fn admission(requests: &[Request], counts: Counts) -> Admission {
    let mut asked: BTreeMap<(&str, String), Timestamp> = BTreeMap::new();
    let mut made: BTreeMap<(&str, &str), Vec<Timestamp>> = BTreeMap::new();
    for request in requests.iter().filter(|request| (200..300).contains(&request.status)) {
        let Request { verb, resource, namespace, name, received, answered, .. } = request;
        match (verb.as_str(), resource.as_str()) {
            ("create", "codingruns") => {
                asked.insert((namespace, job(name)), *received);
            }
            // An apply that answers 201 has made it.
            ("create" | "patch", "jobs") if request.status == 201 => {
                made.entry((namespace, name)).or_default().push(*answered);
            }
            _ => {}
        }
    }
    let mut longest_waits = BTreeMap::new();
    let (mut admitted, mut again) = (0, 0);
    for ((namespace, job), created) in &asked {
        let Some(instants) = made.get(&(*namespace, job.as_str())) else { continue };
        admitted += 1;
        again += usize::from(instants.len() > 1);
        let wait = instants.iter().min().map_or(0.0, |instant| seconds(*created, *instant));
        let longest = longest_waits.entry((*namespace).to_owned()).or_insert(0.0_f64);
        *longest = longest.max(wait);
    }
    let first = asked.values().min();
    let last = made.values().flatten().max();
    Admission {
        admitted,
        lost: counts.lost,
        doubled: counts.doubled.max(again),
        seconds: first.zip(last).map_or(f64::NAN, |(first, last)| seconds(*first, *last)),
        longest_waits,
    }
}

impl Admission {
    /// Runs admitted in a second.
    pub fn rate(&self) -> f64 {
        float(self.admitted) / self.seconds
    }

    /// The longest wait of the namespace that had it best, and of the one that had it worst.
    pub fn spread(&self) -> (f64, f64) {
        let waits = self.longest_waits.values().copied();
        (waits.clone().fold(f64::NAN, f64::min), waits.fold(f64::NAN, f64::max))
    }
}

fn seconds(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::operator::ledger::tests::write;

    fn created(namespace: &str, run: &str, at: i64) -> Request {
        Request {
            verb: "create".to_owned(),
            status: 201,
            ..write("codingruns", namespace, run, at)
        }
    }

    fn applied(namespace: &str, run: &str, at: i64, status: u16) -> Request {
        Request { status, ..write("jobs", namespace, &job(run), at) }
    }

    #[test]
    fn a_run_is_admitted_when_its_job_is_made_and_waits_from_its_creation() {
        let log = [
            created("a", "one", 0),
            created("b", "one", 100),
            created("a", "two", 200),
            Request { status: 409, ..created("a", "three", 300) },
            applied("a", "one", 500, 201),
            applied("a", "one", 700, 200),
            applied("b", "one", 2_000, 201),
            applied("b", "one", 2_100, 500),
        ];
        let Admission { admitted, lost, doubled, seconds, longest_waits } =
            admission(&log, Counts { lost: 1, doubled: 0 });
        assert_eq!((admitted, lost, doubled), (2, 1, 0));
        assert!((seconds - 2.0).abs() < 1e-9, "{seconds}");
        let waits: Vec<_> = longest_waits.iter().map(|(it, wait)| format!("{it} {wait}")).collect();
        assert_eq!(waits, ["a 0.5", "b 1.9"]);
    }

    #[test]
    fn a_job_made_twice_is_doubled_even_when_one_of_the_two_is_gone() {
        let log =
            [created("a", "one", 0), applied("a", "one", 1, 201), applied("a", "one", 2, 201)];
        assert_eq!(admission(&log, Counts::default()).doubled, 1);
    }

    #[test]
    fn jobs_lead_to_runs_by_the_uids_of_their_owners() {
        let uids = |pairs: &[(&str, &str)]| -> Owners {
            pairs.iter().map(|(one, other)| ((*one).to_owned(), (*other).to_owned())).collect()
        };
        let runs = ["run-1", "run-2", "run-3"].map(str::to_owned);
        let agents = uids(&[("agent-1", "run-1"), ("agent-3", "run-3"), ("agent-x", "another")]);
        let jobs = ["agent-1", "agent-1", "agent-3", "agent-x", "nobody"].map(str::to_owned);
        assert_eq!(jobs_of_runs(&runs, &jobs, &agents), Counts { lost: 1, doubled: 1 });
    }
}
