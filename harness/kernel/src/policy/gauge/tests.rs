use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;

fn used(input_tokens: u64) -> Usage {
    Usage { input_tokens, output_tokens: 900, ..Usage::default() }
}

/// CODE-39
#[test]
fn before_any_report_four_bytes_are_a_token_of_128000() {
    let gauge = Gauge::new(DEFAULT_WINDOW);
    assert_eq!(gauge.tokens(4_000), 1_000);
    assert_eq!(gauge.bytes(1_000), 4_000);
    assert_eq!(gauge.percent(256_000), 50);
}

#[test]
fn a_reported_size_is_that_size_and_what_came_since_goes_by_its_rate() {
    let mut gauge = Gauge::new(DEFAULT_WINDOW);
    gauge.calibrate(200_000, used(100_000)); // two bytes a token
    assert_eq!(gauge.tokens(200_000), 100_000);
    let added = gauge.tokens(300_000) - 100_000;
    assert!((49_000..=50_000).contains(&added), "{added}");
    assert_eq!(gauge.tokens(20_000), 10_000, "after a fold");
}

#[test]
fn cache_reads_and_writes_fill_the_window_too_and_output_does_not() {
    let mut gauge = Gauge::new(1_000);
    let usage =
        Usage { input_tokens: 100, cache_read_tokens: 200, cache_write_tokens: 300, ..used(100) };
    gauge.calibrate(2_400, usage);
    assert_eq!(gauge.tokens(2_400), 600);
}

/// The frame that a provider puts around a tiny prompt says nothing about a large result.
#[test]
fn a_short_prompt_hardly_changes_the_rate() {
    let mut gauge = Gauge::new(DEFAULT_WINDOW);
    gauge.calibrate(1_000, used(600));
    let tokens = gauge.tokens(301_000) - 600;
    assert!((80_000..=90_000).contains(&tokens), "{tokens}");
}

#[test]
fn a_report_that_cannot_be_true_is_not_believed() {
    let mut gauge = Gauge::new(DEFAULT_WINDOW);
    gauge.calibrate(160_000, used(0));
    assert_eq!(gauge.tokens(160_000), 40_000, "no report at all");
    gauge.calibrate(160_000, used(7));
    assert_eq!(gauge.tokens(160_000), 10_000);
    gauge.calibrate(160_000, used(u64::MAX));
    assert_eq!(gauge.tokens(160_000), 165_000);
}

#[test]
fn a_stated_window_lowers_the_window_and_never_raises_it() {
    let mut gauge = Gauge::new(100_000);
    gauge.lower(200_000);
    assert_eq!(gauge.window(), 100_000);
    gauge.lower(8_000);
    assert_eq!(gauge.window(), 8_000);
}

#[test]
fn the_percentage_ends_at_100_and_a_window_of_nothing_divides_nothing() {
    assert_eq!(Gauge::new(10).percent(1_000_000), 100);
    assert_eq!(Gauge::new(0).percent(4), 100);
    assert_eq!(Gauge::new(0).percent(0), 0);
}

proptest! {
    #[test]
    fn more_bytes_are_never_fewer_tokens(
        bytes in 0..u64::MAX,
        tokens in 0..u64::MAX,
        mut sizes in [0..u64::MAX, 0..u64::MAX],
    ) {
        let mut gauge = Gauge::new(DEFAULT_WINDOW);
        gauge.calibrate(bytes, used(tokens));
        sizes.sort_unstable();
        prop_assert!(gauge.tokens(sizes[0]) <= gauge.tokens(sizes[1]));
        prop_assert!(gauge.bytes(sizes[0]) <= gauge.bytes(sizes[1]));
    }

    #[test]
    fn bytes_of_tokens_make_about_so_many_tokens(
        known in (1_000..2_000_000_u64, 300..500_000_u64),
        tokens in 0..1_000_000_u64,
    ) {
        let mut gauge = Gauge::new(DEFAULT_WINDOW);
        gauge.calibrate(known.0, used(known.1));
        let back = gauge.tokens(gauge.bytes(tokens));
        prop_assert!(back.abs_diff(tokens) <= 2 + tokens / 1_000, "{} for {}", back, tokens);
    }
}
