//! Where a test ends because its surroundings do.

use anyhow::Result;

/// The value, or a test that fails here with the whole chain of causes.
#[track_caller]
pub(crate) fn or_fail<T>(result: Result<T>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => fail(&format!("{error:#}")),
    }
}

/// Fails the test.
#[track_caller]
#[expect(clippy::panic, reason = "a test without its surroundings fails here, in plain words")]
pub(crate) fn fail(message: &str) -> ! {
    panic!("{message}")
}
