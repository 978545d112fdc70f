//! The rhythm: an evaluation every 15 seconds, from start to start (LOOP-03).

use std::time::Duration;

use foundry_platform::events::kind;
use foundry_platform::retry::Backoff;
use tokio::time::{Instant, sleep_until};

use crate::agent::{Agent, NotReady};
use crate::prompt;
use crate::think::Purpose;

/// The longest wait while the API cannot be read.
const LONGEST_WAIT: Duration = Duration::from_mins(1);

/// What an evaluation came to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Evaluated {
    /// The rhythm goes on.
    InTime,
    /// The API could not be read: leave it alone for a little longer each time.
    Unread,
}

impl Agent {
    /// Evaluates until the process stops. One evaluation at a time: one that takes
    /// longer than the rhythm is not made up for.
    pub(crate) async fn keep_evaluating(&self, every: Duration) {
        let mut backoff = Backoff::new(every, every.max(LONGEST_WAIT));
        let mut next = Instant::now();
        while self.stop.run_until_cancelled(sleep_until(next)).await.is_some() {
            let began = Instant::now();
            let wait = match self.evaluate().await {
                Evaluated::InTime => {
                    backoff.succeeded();
                    next_beat(began.elapsed(), every)
                }
                Evaluated::Unread => backoff.failed(),
            };
            next = began + wait;
        }
    }

    async fn evaluate(&self) -> Evaluated {
        let ready = match self.stop.run_until_cancelled(self.ready()).await {
            Some(Ok(ready)) => ready,
            Some(Err(NotReady::Unread)) => return Evaluated::Unread,
            Some(Err(NotReady::Resting | NotReady::Blocked)) | None => return Evaluated::InTime,
        };
        let start = &ready.start;
        let what = format!("evaluation {} of start {}", start.evaluations() + 1, start.number());
        self.log.info(kind::EVALUATION, &what);
        let now = self.clock.now();
        let purpose = Purpose {
            what,
            reason: "evaluation",
            input: prompt::evaluation(now, ready.who(), start, &ready.cycles),
        };
        if let Some(thought) = self.think(&ready, purpose).await {
            self.count(start.number(), thought.called_a_tool);
            self.runs.push(thought.record);
            // What cannot be stored now is stored after the next evaluation.
            drop(self.stop.run_until_cancelled(self.runs.store()).await);
        }
        Evaluated::InTime
    }

    /// Counts the evaluation in the start it was made for.
    fn count(&self, number: i64, called_a_tool: bool) {
        if let Some(start) = &mut self.mind().start
            && start.number() == number
        {
            start.evaluated(called_a_tool);
        }
    }
}

/// From the start of an evaluation that took this long to the start of the next: the
/// first beat of the rhythm that is still to come.
fn next_beat(took: Duration, every: Duration) -> Duration {
    let beats = took.as_nanos().div_ceil(every.as_nanos().max(1)).max(1);
    every.saturating_mul(u32::try_from(beats).unwrap_or(u32::MAX))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// LOOP-03
    #[rstest]
    #[case(0, 15)]
    #[case(3, 15)]
    #[case(15, 15)]
    #[case(16, 30)]
    #[case(300, 300)]
    fn the_next_evaluation_starts_on_the_rhythm(#[case] took: u64, #[case] wait: u64) {
        let every = Duration::from_secs(15);
        assert_eq!(next_beat(Duration::from_secs(took), every), Duration::from_secs(wait));
    }
}
