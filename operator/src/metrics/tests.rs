//! What is exposed is documented, and what is documented is exposed.

use std::collections::BTreeSet;

use pretty_assertions::assert_eq;

use super::*;

fn documents(name: &str) -> String {
    let path = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs").join(name);
    std::fs::read_to_string(path).unwrap()
}

/// Metrics that have counted one of everything.
fn used() -> Metrics {
    let metrics = Metrics::new();
    let error = Error::CachesNotReady;
    metrics.came("agent", "uid");
    metrics.began("agent", "uid");
    metrics.reconciled("agent", Pass::Idle, Some(&error), Duration::ZERO);
    metrics.watch_failed("agent");
    metrics.written("status", "Agent");
    metrics.run_ended("Succeeded", "Succeeded");
    metrics.fenced(None);
    metrics.mailbox_called("registered");
    metrics.process_started();
    metrics.leads(true);
    metrics.lost_the_lease();
    metrics.count_by(Some(Box::new(census::sample)));
    metrics
}

/// Names as a query has them, of the series in the text of `/metrics`.
fn exposed(metrics: &Metrics) -> BTreeSet<String> {
    let text = metrics.encode().unwrap();
    let series = text.lines().filter(|line| !line.starts_with('#'));
    series
        .filter_map(|line| line.split(['{', ' ']).next())
        .map(|name| base(name).to_owned())
        .collect()
}

/// A histogram is documented once, by its own name.
fn base(name: &str) -> &str {
    let suffixes = ["_bucket", "_sum", "_count"];
    suffixes.iter().find_map(|suffix| name.strip_suffix(suffix)).unwrap_or(name)
}

#[test]
fn every_metric_stands_in_the_documents_and_the_other_way_round() {
    let text = documents("metrics.md");
    let rows = text.lines().filter_map(|line| line.strip_prefix("| `foundry_operator_"));
    let documented: BTreeSet<_> = rows
        .filter_map(|row| row.split_once('`'))
        .map(|(name, _)| format!("foundry_operator_{name}"))
        .collect();
    assert_eq!(documented, exposed(&used()));
}

#[test]
fn alerts_speak_of_metrics_that_there_are() {
    let exposed = exposed(&used());
    let text = documents("metrics.md");
    let (_, rules) = text.split_once("```yaml").unwrap();
    let (rules, _) = rules.split_once("```").unwrap();
    let named: BTreeSet<_> = rules
        .split(|c: char| !c.is_ascii_alphanumeric() && c != '_')
        .filter(|word| word.starts_with("foundry_operator_"))
        .map(|name| base(name).to_owned())
        .collect();
    assert!(named.len() > 5, "{named:?}");
    assert_eq!(named.difference(&exposed).collect::<Vec<_>>(), Vec::<&String>::new());
}

#[test]
fn an_operator_that_does_not_lead_counts_no_objects() {
    let metrics = used();
    assert!(exposed(&metrics).contains("foundry_operator_agents"));
    metrics.leads(false);
    let exposed = exposed(&metrics);
    assert!(!exposed.contains("foundry_operator_agents"), "{exposed:?}");
    assert!(exposed.contains("foundry_operator_terms_total"), "{exposed:?}");
}

#[test]
fn a_term_is_counted_once_however_often_it_is_told() {
    let metrics = Metrics::new();
    for leads in [false, true, true, false, true] {
        metrics.leads(leads);
    }
    assert!(metrics.encode().unwrap().contains("foundry_operator_terms_total 2\n"));
}

#[test]
fn an_object_waits_from_its_first_event_to_its_reconcile() {
    let arrivals = Arrivals::default();
    let first = Instant::now();
    arrivals.note("agent", "a", first);
    arrivals.note("agent", "a", first + Duration::from_secs(9));
    arrivals.note("codingrun", "a", first + Duration::from_secs(5));
    assert_eq!(arrivals.take("agent", "a"), Some(first));
    assert_eq!(arrivals.take("agent", "a"), None, "a requeue is no wait");
    for number in 0..=MOST_WAITS {
        arrivals.note("agent", &number.to_string(), first);
    }
    assert!(arrivals.since.lock().unwrap().len() <= MOST_WAITS);
}
