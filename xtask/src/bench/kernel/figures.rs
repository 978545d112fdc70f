//! From samples to figures.

use super::play::{Case, GREAT_TURN, Play};
use super::sample::Sample;
use crate::bench::report::{Figure, percentile};

/// Turns around the one that is asked for, whose middle speaks for it.
const WINDOW: usize = 10;

/// Bars of the first request, in ms and KB.
const FIRST_MS: f64 = 60.0;
const FIRST_KB: f64 = 15.0;
/// With fewer tools a small request would be no achievement.
const TOOLS: f64 = 12.0;

/// What the samples of a play say. `bare_ms` is a process that is started and read by
/// nothing but the standard library.
pub fn of(play: Play, samples: &[Sample], bare_ms: f64) -> Vec<Figure> {
    let name = |what: &str| format!("{}: {what}", play.name());
    let each = |of: &dyn Fn(&Sample) -> f64| samples.iter().map(of).collect::<Vec<f64>>();
    let at_most = |what: &str, unit, of: &dyn Fn(&Sample) -> f64, bar| {
        Figure::median(name(what), unit, each(of)).not_above(bar)
    };
    let plain =
        |what: &str, unit, of: &dyn Fn(&Sample) -> f64| Figure::median(name(what), unit, each(of));
    match play.case {
        Case::Commands(50) => vec![
            at_most("exec to first request", "ms", &|one| one.first_ms, FIRST_MS),
            at_most("first request", "KB", &first_kb, FIRST_KB),
            plain("tools in it", "", &|one| count(one.first_tools)),
            at_most("first request of building", "KB", &|one| kb(one.building.0), FIRST_KB),
            Figure::median(name("tools in it"), "", each(&|one| count(one.building.1)))
                .not_below(TOOLS),
            at_most("gap p50", "ms", &|one| gap(one, 0.5), 6.0),
            plain("gap p99", "ms", &|one| gap(one, 0.99)),
            plain("gap at turn 10", "ms", &|one| gap_at(one, 10)),
            plain("gap at turn 50", "ms", &|one| gap_at(one, 50)),
            plain("gap p50 less a bare process", "ms", &|one| gap(one, 0.5) - bare_ms),
            plain("gap p50 to a ping-pong", "x", &|one| gap(one, 0.5) / one.pong_ms),
            at_most("peak resident", "MB", &|one| one.peak_mb, 40.0),
        ],
        Case::Commands(_) => vec![
            plain("gap p50", "ms", &|one| gap(one, 0.5)),
            plain("gap p99", "ms", &|one| gap(one, 0.99)),
            at_most("gap at turn 200", "ms", &|one| gap_at(one, 200), 8.0),
            plain("turn 200 to turn 10", "x", &|one| gap_at(one, 200) / gap_at(one, 10)),
            at_most("peak resident", "MB", &|one| one.peak_mb, 60.0),
        ],
        Case::Files(_) => vec![
            plain("gap p50", "ms", &|one| gap(one, 0.5)),
            plain("gap p50 to a ping-pong", "x", &|one| gap(one, 0.5) / one.pong_ms),
        ],
        Case::Great => vec![
            plain("gap of that turn", "ms", &great),
            at_most("peak resident", "MB", &|one| one.peak_mb, 40.0),
        ],
    }
}

/// A share of all gaps of a run.
pub fn gap(sample: &Sample, share: f64) -> f64 {
    percentile(&mut sample.gaps_ms.clone(), share)
}

/// The gap at a turn, from 1: the middle one of those around it.
pub fn gap_at(sample: &Sample, turn: usize) -> f64 {
    let gaps = &sample.gaps_ms;
    let from = turn.saturating_sub(WINDOW / 2).min(gaps.len().saturating_sub(WINDOW));
    let around = gaps.iter().skip(from).take(WINDOW).copied();
    percentile(&mut around.collect::<Vec<_>>(), 0.5)
}

/// Size of the first request, in KB.
pub fn first_kb(sample: &Sample) -> f64 {
    kb(sample.first_bytes)
}

#[expect(clippy::cast_precision_loss, reason = "a request has far fewer bytes than 2^52")]
fn kb(bytes: u64) -> f64 {
    bytes as f64 / 1000.0
}

#[expect(clippy::cast_precision_loss, reason = "a request has far fewer tools than 2^52")]
fn count(tools: usize) -> f64 {
    tools as f64
}

fn great(sample: &Sample) -> f64 {
    sample.gaps_ms.get(GREAT_TURN - 1).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::super::play::Wire;
    use super::*;

    fn sample(gaps_ms: Vec<f64>) -> Sample {
        Sample {
            first_ms: 30.0,
            first_bytes: 9_000,
            first_tools: 11,
            building: (9_900, 17),
            gaps_ms,
            peak_mb: 20.0,
            pong_ms: 0.02,
        }
    }

    #[test]
    fn the_gap_at_a_turn_is_the_middle_one_of_those_around_it() {
        let rising = sample((1..=200).map(f64::from).collect());
        assert_eq!(
            [gap_at(&rising, 10), gap_at(&rising, 200)].map(f64::to_bits),
            [11.0_f64, 196.0].map(f64::to_bits)
        );
        let few = sample(vec![1.0, 2.0, 3.0]);
        assert_eq!(gap_at(&few, 200).to_bits(), 2.0_f64.to_bits());
    }

    #[test]
    fn a_slow_turn_fails_its_bar_and_a_fast_one_holds_it() {
        let play = Play { case: Case::Commands(50), wire: Wire::OpenAi };
        let holds = |gap: f64| {
            let figures = of(play, &vec![sample(vec![gap; 50]); 3], 1.0);
            figures.iter().all(|figure| figure.holds)
        };
        assert_eq!([holds(5.9), holds(6.1)], [true, false]);
    }

    #[test]
    fn the_turn_with_the_great_output_is_told_apart() {
        let play = Play { case: Case::Great, wire: Wire::Anthropic };
        let figures = of(play, &[sample(vec![1.0, 1.0, 90.0, 1.0, 1.0])], 1.0);
        assert_eq!(figures[0].value.to_bits(), 90.0_f64.to_bits());
    }
}
