//! When a server wants to be asked again, in each form that servers use (KERN-16).
//!
//! A time that has passed is a wait of nothing, a number beyond sense is cut to
//! [`LONGEST`], and what cannot be read is as if it had not been sent.

use std::time::{Duration, UNIX_EPOCH};

use http::HeaderMap;
use jiff::Timestamp;

/// Nobody waits longer than this for a model.
const LONGEST: Duration = Duration::from_hours(366 * 24);

pub(super) fn from_headers(status: u16, headers: &HeaderMap, now: Timestamp) -> Option<Duration> {
    let text = |name: &str| headers.get(name).and_then(|value| value.to_str().ok()).map(str::trim);
    // Two clocks disagree; the difference of two times of one clock is true.
    let server_now = text("date").and_then(http_date).unwrap_or_else(|| now.as_second());
    let milliseconds = || {
        let value: f64 = text("retry-after-ms")?.parse().ok()?;
        seconds(value / 1000.0)
    };
    let retry_after = || {
        let value = text("retry-after")?;
        match value.parse::<f64>() {
            Ok(value) => seconds(value),
            Err(_) => http_date(value).map(|at| between(at, server_now)),
        }
    };
    // Every response of Anthropic's names the reset; only a limited one means it.
    let unified_reset = || {
        let value = text("anthropic-ratelimit-unified-reset").filter(|_| status == 429)?;
        let at = value
            .parse::<i64>()
            .ok()
            .or_else(|| value.parse::<Timestamp>().ok().map(Timestamp::as_second))?;
        Some(between(at, server_now))
    };
    milliseconds().or_else(retry_after).or_else(unified_reset)
}

/// A number of seconds, if it is one.
pub(super) fn seconds(value: f64) -> Option<Duration> {
    if value.is_nan() {
        return None;
    }
    let sensible = value.clamp(0.0, LONGEST.as_secs_f64());
    Duration::try_from_secs_f64(sensible).ok()
}

/// From now until a time in Unix seconds.
#[expect(clippy::unnecessary_wraps, reason = "stands beside the other forms in or_else chains")]
pub(super) fn until(at: i64, now: Timestamp) -> Option<Duration> {
    Some(between(at, now.as_second()))
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
