//! The operator's `/metrics`: histograms, what they grew by, and their quantiles.

use std::collections::BTreeMap;

/// A page of metrics: each sample by its name and labels.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Page(Vec<Sample>);

#[derive(Clone, Debug, PartialEq)]
struct Sample {
    name: String,
    labels: BTreeMap<String, String>,
    value: f64,
}

/// Counts at or below each bound, as a histogram shows them.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Histogram(Vec<(f64, f64)>);

impl Page {
    /// Reads a page; a line that is no sample is passed over.
    pub fn parse(text: &str) -> Self {
        Self(text.lines().filter_map(sample).collect())
    }

    /// The sum of all samples of this name that carry these labels.
    pub fn sum(&self, name: &str, labels: &[(&str, &str)]) -> f64 {
        self.of(name, labels).map(|sample| sample.value).sum()
    }

    /// All histograms of this name that carry these labels, as one; empty when there is none.
    pub fn histogram(&self, name: &str, labels: &[(&str, &str)]) -> Histogram {
        let mut counts: Vec<(f64, f64)> = Vec::new();
        let name = format!("{name}_bucket");
        for sample in self.of(&name, labels) {
            let Some(bound) = sample.labels.get("le").and_then(|le| bound(le)) else { continue };
            match counts.iter_mut().find(|(known, _)| known.total_cmp(&bound).is_eq()) {
                Some((_, count)) => *count += sample.value,
                None => counts.push((bound, sample.value)),
            }
        }
        counts.sort_by(|(one, _), (other, _)| one.total_cmp(other));
        Histogram(counts)
    }

    fn of<'a>(
        &'a self,
        name: &'a str,
        labels: &'a [(&'a str, &'a str)],
    ) -> impl Iterator<Item = &'a Sample> {
        self.0.iter().filter(move |sample| {
            let carries = |(key, value): &(&str, &str)| {
                sample.labels.get(*key).is_some_and(|found| found == value)
            };
            sample.name == name && labels.iter().all(carries)
        })
    }
}

impl Histogram {
    /// What came since an earlier look at the same process.
    pub fn since(&self, earlier: &Self) -> Self {
        let before = |bound: f64| {
            let found = earlier.0.iter().find(|(known, _)| known.total_cmp(&bound).is_eq());
            found.map_or(0.0, |(_, count)| *count)
        };
        Self(self.0.iter().map(|(bound, count)| (*bound, count - before(*bound))).collect())
    }

    /// How many there were.
    pub fn count(&self) -> f64 {
        self.0.last().map_or(0.0, |(_, count)| *count)
    }

    /// The value below which this share lies: even within its bucket, and infinite beyond the
    /// last bound; not a number when there were none.
    pub fn quantile(&self, share: f64) -> f64 {
        let wanted = self.count() * share;
        if self.count() <= 0.0 {
            return f64::NAN;
        }
        let (mut low, mut below) = (0.0, 0.0);
        for (bound, count) in &self.0 {
            if *count >= wanted {
                let within = if *count > below { (wanted - below) / (count - below) } else { 1.0 };
                return if bound.is_infinite() { *bound } else { low + (bound - low) * within };
            }
            (low, below) = (*bound, *count);
        }
        f64::INFINITY
    }
}

fn bound(text: &str) -> Option<f64> {
    if text == "+Inf" { Some(f64::INFINITY) } else { text.parse().ok() }
}

fn sample(line: &str) -> Option<Sample> {
    if line.starts_with('#') {
        return None;
    }
    let (head, value) = line.rsplit_once(' ')?;
    let value = value.parse().ok()?;
    let (name, labels) = head.split_once('{').unwrap_or((head, "}"));
    let labels = labels.strip_suffix('}')?.split_terminator(',').filter_map(|pair| {
        let (key, value) = pair.split_once('=')?;
        Some((key.to_owned(), value.trim_matches('"').to_owned()))
    });
    Some(Sample { name: name.to_owned(), labels: labels.collect(), value })
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = "# TYPE foundry_operator_reconcile_seconds histogram\n\
        t_bucket{le=\"0.001\",kind=\"agent\",pass=\"idle\"} 5\n\
        t_bucket{le=\"0.004\",kind=\"agent\",pass=\"idle\"} 9\n\
        t_bucket{le=\"+Inf\",kind=\"agent\",pass=\"idle\"} 10\n\
        t_bucket{le=\"0.001\",kind=\"model\",pass=\"writing\"} 1\n\
        t_bucket{le=\"0.004\",kind=\"model\",pass=\"writing\"} 1\n\
        t_bucket{le=\"+Inf\",kind=\"model\",pass=\"writing\"} 10\n\
        reconciles_total{kind=\"agent\",outcome=\"ok\"} 7\n\
        reconciles_total{kind=\"agent\",outcome=\"WriteFailed\"} 2\n\
        foundry_operator_leader 1\n# EOF\n";

    fn close(one: f64, other: f64) -> bool {
        (one - other).abs() < 1e-9
    }

    #[test]
    fn samples_are_summed_over_the_labels_that_were_not_asked_for() {
        let page = Page::parse(PAGE);
        for (labels, sum) in
            [(&[("kind", "agent")][..], 9.0), (&[("outcome", "ok")], 7.0), (&[("kind", "x")], 0.0)]
        {
            assert!(close(page.sum("reconciles_total", labels), sum), "{labels:?}");
        }
        assert!(close(page.sum("foundry_operator_leader", &[]), 1.0));
    }

    #[test]
    fn histograms_are_joined_and_subtracted_and_read_evenly_within_a_bucket() {
        let page = Page::parse(PAGE);
        let idle = page.histogram("t", &[("pass", "idle")]);
        assert!(close(idle.quantile(0.25), 0.000_5), "half of the first bucket");
        assert!(close(idle.quantile(0.7), 0.002_5), "half of the second");
        assert!(idle.quantile(0.99).is_infinite(), "beyond the last bound");
        assert!(close(page.histogram("t", &[]).count(), 20.0));
        let later = Page::parse(&PAGE.replace("idle\"} 10", "idle\"} 14").replace("} 9", "} 13"));
        let grown = later.histogram("t", &[("pass", "idle")]).since(&idle);
        assert!(close(grown.count(), 4.0) && close(grown.quantile(0.5), 0.002_5), "{grown:?}");
        assert!(page.histogram("none", &[]).quantile(0.5).is_nan());
    }

    #[test]
    fn a_bucket_that_ends_at_the_bar_is_within_the_bar() {
        let histogram = Histogram(vec![(0.004, 10.0), (f64::INFINITY, 10.0)]);
        assert!(histogram.quantile(1.0) <= 0.004);
    }
}
