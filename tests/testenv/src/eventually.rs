//! Waiting on conditions.

use std::fmt::Display;
use std::future::Future;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};

use crate::fail::or_fail;

/// Waits until `probe` gives a value; fails the test when the deadline passes
/// first, saying what was awaited and what was last seen.
pub async fn eventually<T, E, F, Fut>(what: &str, deadline: Duration, probe: F) -> T
where
    E: Display,
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    or_fail(within(what, deadline, probe).await)
}

/// Waits until `probe` gives a value; an error when the deadline passes first.
pub async fn within<T, E, F, Fut>(what: &str, deadline: Duration, mut probe: F) -> Result<T>
where
    E: Display,
    F: FnMut() -> Fut,
    Fut: Future<Output = Result<T, E>>,
{
    let start = Instant::now();
    let mut pause = Duration::from_millis(20);
    let mut last_seen = "nothing".to_owned();
    loop {
        let left = deadline.saturating_sub(start.elapsed());
        match tokio::time::timeout(left, probe()).await {
            Ok(Ok(value)) => return Ok(value),
            Ok(Err(seen)) => last_seen = format!("{seen:#}"),
            Err(_) => {}
        }
        if start.elapsed() >= deadline {
            bail!("{what}: not within {}s; last seen: {last_seen}", deadline.as_secs_f32());
        }
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(Duration::from_millis(200));
    }
}
