//! Bounds of a run, and what holds where one is not said.

use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::form;

/// Turns of an attempt at a phase where nobody says (CODE-23).
const TURNS_PER_ATTEMPT: i64 = 60;
/// Time of a task where nobody says (CODE-24), as people write it …
const WALL_CLOCK: &str = "30m";
/// … and as clocks count it.
const WALL_CLOCK_TIME: Duration = Duration::from_mins(30);

/// Bounds of a run.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, PartialEq, Eq, Default)]
#[serde(rename_all = "camelCase")]
pub struct Limits {
    /// Model turns in one attempt at a phase, from 10 to 500; 60 by default.
    // CODE-23; with five turns left the run is told to come to an end (CODE-26).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::whole::<10, 500>")]
    pub turns_per_attempt: Option<i64>,
    /// Time for planning and building together, such as `30m` or `2h`, from 1m to 24h;
    /// 30m by default. It stands still while the run waits for a person.
    // CODE-24
    #[serde(default, skip_serializing_if = "Option::is_none")]
    #[schemars(schema_with = "form::duration")]
    pub wall_clock: Option<String>,
}

impl Limits {
    /// Model turns in one attempt at a phase.
    pub fn turns_per_attempt(&self) -> i64 {
        self.turns_per_attempt.unwrap_or(TURNS_PER_ATTEMPT)
    }

    /// Time for planning and building together.
    pub fn wall_clock(&self) -> Duration {
        // What admission would refuse bounds nothing: the default does.
        self.wall_clock.as_deref().and_then(parse).unwrap_or(WALL_CLOCK_TIME)
    }

    /// The same bounds with nothing left to a default.
    #[must_use]
    pub fn in_full(self) -> Self {
        let Self { turns_per_attempt, wall_clock } = self;
        Self {
            turns_per_attempt: Some(turns_per_attempt.unwrap_or(TURNS_PER_ATTEMPT)),
            wall_clock: Some(wall_clock.unwrap_or_else(|| WALL_CLOCK.to_owned())),
        }
    }
}

/// Hours, minutes and seconds, in this order and at least one of them: the form that
/// admission lets in.
pub(crate) fn parse(text: &str) -> Option<Duration> {
    let mut rest = text;
    let mut seconds = 0_u64;
    for (unit, each) in [('h', 3_600), ('m', 60), ('s', 1)] {
        if let Some((number, after)) = rest.split_once(unit) {
            if number.is_empty() || !number.bytes().all(|byte| byte.is_ascii_digit()) {
                return None;
            }
            let amount = number.parse::<u64>().ok()?.checked_mul(each)?;
            seconds = seconds.checked_add(amount)?;
            rest = after;
        }
    }
    (rest.is_empty() && !text.is_empty()).then(|| Duration::from_secs(seconds))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_duration_is_hours_minutes_and_seconds_in_this_order() {
        for (text, seconds) in
            [("30m", 1_800), ("2h", 7_200), ("1h30m", 5_400), ("90s", 90), ("1h1m1s", 3_661)]
        {
            assert_eq!(parse(text), Some(Duration::from_secs(seconds)), "{text}");
        }
        for text in
            ["", "30", "30m1h", "1.5h", "-1h", "h", "1h ", "30m30m", "99999999999999999999h"]
        {
            assert_eq!(parse(text), None, "{text}");
        }
    }

    /// CODE-23, CODE-24
    #[test]
    fn a_run_without_limits_has_sixty_turns_an_attempt_and_thirty_minutes() {
        let none = Limits::default();
        assert_eq!((none.turns_per_attempt(), none.wall_clock()), (60, Duration::from_mins(30)));
        let full = none.in_full();
        assert_eq!((full.turns_per_attempt(), full.wall_clock()), (60, Duration::from_mins(30)));
        assert_eq!(full.wall_clock.as_deref(), Some("30m"));
        let own = Limits { turns_per_attempt: Some(12), wall_clock: Some("2h".to_owned()) };
        assert_eq!((own.turns_per_attempt(), own.wall_clock()), (12, Duration::from_hours(2)));
        assert_eq!(own.clone().in_full(), own);
    }
}
