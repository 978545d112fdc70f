//! From what was measured at each size to figures, bars and growth.

use std::collections::BTreeMap;

use super::process::float;
use crate::bench::report::Figure;

/// What the operator was with so many objects.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Scale {
    /// How many objects there were.
    pub objects: usize,
    /// What was measured.
    pub measures: Vec<Measure>,
    /// Writes until all had settled, by field manager, verb and kind.
    pub by_manager: BTreeMap<String, usize>,
}

/// One thing that was measured.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Measure {
    /// What it is.
    pub what: What,
    /// What came out.
    pub value: f64,
}

/// What is measured at each size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    /// Peak of resident memory, over both processes.
    Peak,
    /// The same of the process that found everything there.
    PeakAfterRestart,
    /// Median of a reconcile while objects are edited.
    P50,
    /// 99 of a hundred are below.
    P99,
    /// Median of those that wrote.
    WritingP50,
    /// 99 of a hundred that wrote are below.
    WritingP99,
    /// Median of those that only looked.
    IdleP50,
    /// 99 of a hundred that only looked are below.
    IdleP99,
    /// Median of the passes after a restart, which only look.
    RestartP50,
    /// Median wait of an object that is due.
    QueueP50,
    /// 99 of a hundred waits are below.
    QueueP99,
    /// From the first creation to the last write.
    SettlingAfterCreation,
    /// From the start of a new operator until it has looked at every object.
    SettlingAfterRestart,
    /// Writes an object until it had settled.
    WritesAnObject,
    /// Writes that a new operator made although nothing had changed.
    WritesAfterRestart,
    /// Writes in the quiet minutes.
    WritesAtRest,
    /// CPU in the quiet minutes.
    MillicoresAtRest,
    /// Open descriptors.
    Descriptors,
}

/// KiB of memory that one more object may cost.
const KIB_AN_OBJECT: f64 = 22.0;
/// How much slower than the smallest size the median may be.
const P50_RATIO: f64 = 1.5;

impl What {
    fn name(self) -> &'static str {
        match self {
            Self::Peak => "peak resident",
            Self::PeakAfterRestart => "peak resident of a new operator",
            Self::P50 => "reconcile p50",
            Self::P99 => "reconcile p99",
            Self::WritingP50 => "reconcile p50, writing",
            Self::WritingP99 => "reconcile p99, writing",
            Self::IdleP50 => "reconcile p50, idle",
            Self::IdleP99 => "reconcile p99, idle",
            Self::RestartP50 => "reconcile p50, after a restart",
            Self::QueueP50 => "queue wait p50",
            Self::QueueP99 => "queue wait p99",
            Self::SettlingAfterCreation => "settled after creation",
            Self::SettlingAfterRestart => "settled after a restart",
            Self::WritesAnObject => "writes an object",
            Self::WritesAfterRestart => "writes after a restart",
            Self::WritesAtRest => "writes at rest",
            Self::MillicoresAtRest => "CPU at rest",
            Self::Descriptors => "open descriptors",
        }
    }

    fn unit(self) -> &'static str {
        match self {
            Self::Peak | Self::PeakAfterRestart => "MiB",
            Self::P50
            | Self::P99
            | Self::WritingP50
            | Self::WritingP99
            | Self::IdleP50
            | Self::IdleP99
            | Self::RestartP50
            | Self::QueueP50
            | Self::QueueP99 => "ms",
            Self::SettlingAfterCreation | Self::SettlingAfterRestart => "s",
            Self::WritesAnObject | Self::WritesAfterRestart | Self::WritesAtRest => "writes",
            Self::MillicoresAtRest => "mcores",
            Self::Descriptors => "files",
        }
    }

    /// What it must not be above with so many objects.
    fn bar(self, objects: usize) -> Option<f64> {
        match self {
            Self::Peak if objects <= 1_000 => Some(64.0),
            Self::Peak if objects <= 10_000 => Some(256.0),
            Self::P50 => Some(4.0),
            Self::P99 => Some(50.0),
            Self::WritesAtRest => Some(0.0),
            Self::Peak
            | Self::PeakAfterRestart
            | Self::WritingP50
            | Self::WritingP99
            | Self::IdleP50
            | Self::IdleP99
            | Self::RestartP50
            | Self::QueueP50
            | Self::QueueP99
            | Self::SettlingAfterCreation
            | Self::SettlingAfterRestart
            | Self::WritesAnObject
            | Self::WritesAfterRestart
            | Self::MillicoresAtRest
            | Self::Descriptors => None,
        }
    }
}

impl Scale {
    fn value(&self, what: What) -> Option<f64> {
        self.measures.iter().find(|measure| measure.what == what).map(|measure| measure.value)
    }

    /// All that was measured, with its bars.
    pub fn figures(&self) -> Vec<Figure> {
        let objects = self.objects;
        let figure = |measure: &Measure| {
            let Measure { what, value } = *measure;
            let name = format!("{objects} objects: {}", what.name());
            match what.bar(objects) {
                Some(bar) => Figure::at_most(name, what.unit(), value, bar),
                None => Figure::plain(name, what.unit(), value),
            }
        };
        self.measures.iter().map(figure).collect()
    }
}

/// What more objects cost: the largest size beside the one before it, memory an object, and
/// the median beside that of the smallest size. None with one size.
pub fn growth(scales: &[Scale]) -> Vec<Figure> {
    let mut scales: Vec<&Scale> = scales.iter().collect();
    scales.sort_by_key(|scale| scale.objects);
    let [.., before, largest] = scales[..] else { return Vec::new() };
    let smallest = scales.first().copied().unwrap_or(before);
    let sizes = format!("{} : {}", largest.objects, before.objects);
    let mut figures = Vec::new();
    for Measure { what, value } in &largest.measures {
        let Some(earlier) = before.value(*what).filter(|earlier| *earlier > 0.0) else { continue };
        figures.push(Figure::plain(format!("{sizes}, {}", what.name()), "ratio", value / earlier));
    }
    if let Some((more, less)) = largest.value(What::Peak).zip(before.value(What::Peak)) {
        let objects = float(largest.objects) - float(before.objects);
        let kib = (more - less) * 1024.0 / objects;
        figures.push(Figure::at_most("memory of one more object", "KiB", kib, KIB_AN_OBJECT));
    }
    if let Some((large, small)) = largest.value(What::P50).zip(smallest.value(What::P50)) {
        let name = format!("{} : {}, reconcile p50", largest.objects, smallest.objects);
        figures.push(Figure::at_most(name, "ratio", large / small, P50_RATIO));
    }
    figures
}

#[cfg(test)]
mod tests {
    use super::*;

    fn scale(objects: usize, values: &[(What, f64)]) -> Scale {
        let measures = values.iter().map(|(what, value)| Measure { what: *what, value: *value });
        Scale { objects, measures: measures.collect(), ..Scale::default() }
    }

    #[test]
    fn bars_are_those_of_the_size() {
        for (objects, what, value, holds) in [
            (1_000, What::Peak, 64.0, true),
            (1_000, What::Peak, 64.1, false),
            (10_000, What::Peak, 200.0, true),
            (10_000, What::Peak, 257.0, false),
            (100, What::P50, 4.1, false),
            (100, What::P99, f64::INFINITY, false),
            (100, What::P50, f64::NAN, false),
            (100, What::WritesAtRest, 1.0, false),
            (100, What::WritesAtRest, 0.0, true),
            (100, What::SettlingAfterRestart, 1e9, true),
        ] {
            let figures = scale(objects, &[(what, value)]).figures();
            assert_eq!(figures[0].holds, holds, "{objects} {what:?} {value}");
        }
    }

    #[test]
    fn growth_is_between_the_two_largest_sizes_and_the_median_is_held_against_the_smallest() {
        let at = |objects, peak, p50| {
            scale(objects, &[(What::Peak, peak), (What::P50, p50), (What::WritesAtRest, 0.0)])
        };
        let scales = [at(10_000, 212.0, 4.0), at(100, 16.0, 2.0), at(1_000, 32.0, 2.0)];
        let told: Vec<_> = growth(&scales)
            .into_iter()
            .map(|it| (it.name, format!("{:.2}", it.value), it.holds))
            .collect();
        let expected = [
            ("10000 : 1000, peak resident", "6.62", true),
            ("10000 : 1000, reconcile p50", "2.00", true),
            ("memory of one more object", "20.48", true),
            ("10000 : 100, reconcile p50", "2.00", false),
        ];
        let expected =
            expected.map(|(name, value, holds)| (name.to_owned(), value.to_owned(), holds));
        assert_eq!(told, expected);
        assert!(growth(&scales[..1]).is_empty());
    }
}
