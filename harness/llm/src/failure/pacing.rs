//! When a server wants to be asked again, in each form that servers use (KERN-16).
//!
//! A time that has passed is a wait of nothing, a number beyond sense is cut to
//! [`LONGEST`], and what cannot be read is as if it had not been sent.

use std::time::{Duration, UNIX_EPOCH};

use http::HeaderMap;
use jiff::Timestamp;

/// Nobody waits longer than this for a model.
const LONGEST: Duration = Duration::from_hours(366 * 24);

/// Numbers above this are instants in seconds since 1970, and no spans.
const INSTANTS: f64 = 1e9;
/// Numbers above this are instants in milliseconds.
const MILLISECONDS: f64 = 1e11;

/// Pairs of headers that say how much of an allowance is left and when it is full again:
/// OpenAI and its kin, Anthropic, and what gateways make of them.
const ALLOWANCES: &[(&str, &str)] = &[
    ("x-ratelimit-remaining-requests", "x-ratelimit-reset-requests"),
    ("x-ratelimit-remaining-tokens", "x-ratelimit-reset-tokens"),
    ("x-ratelimit-remaining", "x-ratelimit-reset"),
    ("ratelimit-remaining", "ratelimit-reset"),
    ("x-ratelimit-remaining-requests-day", "x-ratelimit-reset-requests-day"), // Cerebras
    ("x-ratelimit-remaining-tokens-minute", "x-ratelimit-reset-tokens-minute"),
    ("anthropic-ratelimit-requests-remaining", "anthropic-ratelimit-requests-reset"),
    ("anthropic-ratelimit-tokens-remaining", "anthropic-ratelimit-tokens-reset"),
    ("anthropic-ratelimit-input-tokens-remaining", "anthropic-ratelimit-input-tokens-reset"),
    ("anthropic-ratelimit-output-tokens-remaining", "anthropic-ratelimit-output-tokens-reset"),
];

/// What a server asks for outright.
pub(super) fn stated(status: u16, headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let server_now = server_now(headers, now);
    let milliseconds = || {
        let value: f64 = text(headers, "retry-after-ms")?.parse().ok()?;
        seconds(value / 1000.0)
    };
    let retry_after = || {
        let value = text(headers, "retry-after")?;
        http_date(value)
            .map(|at| between(at, server_now))
            .or_else(|| instant(value, server_now)) // some write the instant itself
            .or_else(|| span(value))
    };
    // Every response of Anthropic's names the reset; only a limited one means it.
    let unified_reset = || {
        let value = text(headers, "anthropic-ratelimit-unified-reset");
        instant(value.filter(|_| status == 429)?, server_now)
    };
    milliseconds().or_else(retry_after).or_else(unified_reset)
}

/// When the last of the spent allowances of a limited call is full again.
pub(super) fn spent(status: u16, headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    if status != 429 {
        return None;
    }
    let server_now = server_now(headers, now);
    let reset = |(remaining, reset): &(&str, &str)| {
        let left: f64 = text(headers, remaining)?.parse().ok()?;
        let value = text(headers, reset).filter(|_| left <= 0.0)?;
        instant(value, server_now).or_else(|| span(value))
    };
    ALLOWANCES.iter().filter_map(reset).max()
}

fn text<'h>(headers: &'h HeaderMap, name: &str) -> Option<&'h str> {
    headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim)
}

/// Two clocks disagree; the difference of two times of one clock is true.
fn server_now(headers: &HeaderMap, now: Timestamp) -> i64 {
    text(headers, "date").and_then(http_date).unwrap_or_else(|| now.as_second())
}

/// A number of seconds, if it is one.
pub(super) fn seconds(value: f64) -> Option<Duration> {
    if value.is_nan() {
        return None;
    }
    let sensible = value.clamp(0.0, LONGEST.as_secs_f64());
    Duration::try_from_secs_f64(sensible).ok()
}

/// From now until an instant: Unix seconds or milliseconds, or RFC 3339. A small number
/// is a span already.
pub(super) fn instant(value: &str, now: i64) -> Option<Duration> {
    if let Ok(number) = value.parse::<f64>() {
        return moment(number, now);
    }
    let at = value.parse::<Timestamp>().ok()?;
    Some(between(at.as_second(), now))
}

/// As [`instant`], for a number.
pub(super) fn moment(number: f64, now: i64) -> Option<Duration> {
    if number.is_nan() || number < INSTANTS {
        return seconds(number);
    }
    let at = if number < MILLISECONDS { number } else { number / 1000.0 };
    #[expect(clippy::cast_possible_truncation, reason = "saturates, and is cut to LONGEST")]
    let at = at as i64;
    Some(between(at, now))
}

/// A span as `6m0s`, `7.66s`, `250ms`, `2 minutes` or `1h30m`; reads as far as it is one.
pub(super) fn span(text: &str) -> Option<Duration> {
    let mut rest = text.trim_start();
    let mut total = None;
    loop {
        let digits = rest.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(rest.len());
        let (number, after) = rest.split_at(digits);
        let Ok(number) = number.parse::<f64>() else { return total.and_then(seconds) };
        let after = after.trim_start();
        let letters = after.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(after.len());
        let (unit, next) = after.split_at(letters);
        let scale = match unit.to_ascii_lowercase().as_str() {
            "ms" | "milliseconds" | "millisecond" => 0.001,
            "s" | "sec" | "secs" | "second" | "seconds" => 1.0,
            "m" | "min" | "mins" | "minute" | "minutes" => 60.0,
            "h" | "hr" | "hrs" | "hour" | "hours" => 3600.0,
            "d" | "day" | "days" => 86400.0,
            _ => return total.and_then(seconds),
        };
        total = Some(total.unwrap_or(0.0) + number * scale);
        rest = next.trim_start();
    }
}

/// A span in a sentence: `Please try again in 6m0s.`
pub(super) fn told(sentence: &str) -> Option<Duration> {
    const BEFORE: &[&str] = &[
        "try again in ",
        "retry in ",
        "retry after ",
        "try again after ",
        "available in ",
        "reset after ", // Gemini, of a quota
        "resets in ",
    ];
    let lower = sentence.to_lowercase();
    BEFORE.iter().find_map(|before| span(&lower[lower.find(before)? + before.len()..]))
}

fn between(at: i64, now: i64) -> Duration {
    let wait = u64::try_from(at.saturating_sub(now)).unwrap_or(0);
    Duration::from_secs(wait).min(LONGEST)
}

fn http_date(value: &str) -> Option<i64> {
    let time = httpdate::parse_http_date(value).ok()?;
    let seconds = time.duration_since(UNIX_EPOCH).ok()?.as_secs();
    i64::try_from(seconds).ok()
}
