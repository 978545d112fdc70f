//! Tells the API how a task stands: a few reports while it runs, and its result last.

use std::sync::Arc;
use std::time::Duration;

use foundry_client::{
    ClientError, CodingReport, CodingResult, MAX_CHECK_NAME_BYTES, MAX_SUMMARY_BYTES,
};
use foundry_platform::api::Api;
use foundry_platform::events::EventLog;
use foundry_platform::retry::Backoff;
use foundry_platform::text::cut;
use tokio::sync::watch;
use tokio::time::{Instant, sleep_until, timeout_at};
use tokio_util::sync::CancellationToken;

use crate::task::ledger::Progress;

/// Changes gather so long before they are told together.
const GATHER: Duration = Duration::from_millis(500);
/// Turns alone are told no more often than this.
const TURNS_EVERY: Duration = Duration::from_secs(30);
/// First and longest wait while the API does not take a report.
const WAITS: (Duration, Duration) = (Duration::from_millis(500), Duration::from_secs(30));
/// How long the API may be away before a result is given up.
const RESULT_WITHIN: Duration = Duration::from_mins(10);
/// How long a process that is told to stop still tries to bring its result away.
const LAST_MOMENTS: Duration = Duration::from_secs(5);

/// Reports of one task.
pub(crate) struct Reporter {
    api: Arc<dyn Api>,
    log: EventLog,
    generation: i64,
    /// What the API knows.
    told: Progress,
    backoff: Backoff,
    /// The API has said that this task is no longer ours to report.
    is_over: bool,
}

/// What became of a result.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Delivered {
    /// The API has it.
    Taken,
    /// A later start of the agent began, or the task has ended already: the result
    /// counts for nothing.
    Superseded,
    /// The API did not take it in time.
    Lost,
}

impl Reporter {
    pub(crate) fn new(api: Arc<dyn Api>, log: EventLog, generation: i64) -> Self {
        Self {
            api,
            log,
            generation,
            told: Progress::default(),
            backoff: Backoff::new(WAITS.0, WAITS.1),
            is_over: false,
        }
    }

    /// Whether the API has said that this task is no longer ours to report.
    pub(crate) fn is_over(&self) -> bool {
        self.is_over
    }

    /// Tells what changes, until `until`. What is not told by then goes with the result.
    pub(crate) async fn follow(
        &mut self,
        watch: &mut watch::Receiver<Progress>,
        until: &CancellationToken,
    ) {
        until.run_until_cancelled(self.follow_for_ever(watch)).await;
    }

    async fn follow_for_ever(&mut self, watch: &mut watch::Receiver<Progress>) {
        let mut told_at = Instant::now();
        let mut alone_until = Instant::now();
        let mut noticed_at = None;
        while !self.is_over {
            let now = watch.borrow_and_update().clone();
            let due = match weigh(&self.told, &now) {
                Weight::Nothing => None,
                Weight::Turns => Some(told_at + TURNS_EVERY),
                Weight::Matters => Some(*noticed_at.get_or_insert_with(Instant::now) + GATHER),
            };
            let is_due = async {
                match due {
                    Some(at) => sleep_until(at.max(alone_until)).await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                () = is_due => {
                    alone_until = self.tell(now).await.map_or(alone_until, |wait| Instant::now() + wait);
                    told_at = Instant::now();
                    noticed_at = None;
                }
                changed = watch.changed() => {
                    if changed.is_err() {
                        return; // nobody is left to change anything
                    }
                }
            }
        }
    }

    /// Reports once; how long the API is to be left alone, when it did not take it.
    async fn tell(&mut self, now: Progress) -> Option<Duration> {
        let report = changes(self.generation, &self.told, &now);
        match self.api.report_coding(&report).await {
            Ok(()) => {
                self.backoff.succeeded();
                self.told = now;
                None
            }
            Err(error) if may_pass(&error) => {
                if !self.backoff.is_failing() {
                    self.log.error(&error.to_string());
                }
                Some(self.backoff.failed())
            }
            Err(error) => {
                self.log.error(&error.to_string());
                self.is_over = is_superseded(&error);
                // The same again would be refused again.
                self.told = now;
                None
            }
        }
    }

    /// Tells how the task ended, with all that was so far, until the API took it.
    pub(crate) async fn end(
        &mut self,
        progress: &Progress,
        result: &CodingResult,
        stop: &CancellationToken,
    ) -> Delivered {
        let report = whole(self.generation, progress, result);
        let patience = Instant::now() + RESULT_WITHIN;
        let delivery = self.deliver(&report);
        let mut delivery = std::pin::pin!(delivery);
        tokio::select! {
            delivered = timeout_at(patience, &mut delivery) => delivered.unwrap_or(Delivered::Lost),
            () = stop.cancelled() => {
                let patience = Instant::now() + LAST_MOMENTS;
                timeout_at(patience, delivery).await.unwrap_or(Delivered::Lost)
            }
        }
    }

    async fn deliver(&mut self, report: &CodingReport) -> Delivered {
        let mut backoff = Backoff::new(WAITS.0, WAITS.1);
        loop {
            match self.api.report_coding(report).await {
                Ok(()) => return Delivered::Taken,
                Err(error) if is_superseded(&error) => {
                    self.log.warn(&error.to_string());
                    return Delivered::Superseded;
                }
                Err(error) => {
                    if !backoff.is_failing() {
                        self.log.error(&error.to_string());
                    }
                    if !may_pass(&error) {
                        return Delivered::Lost;
                    }
                    tokio::time::sleep(backoff.failed()).await;
                }
            }
        }
    }
}

/// How much a change matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Weight {
    Nothing,
    Turns,
    Matters,
}

fn weigh(told: &Progress, now: &Progress) -> Weight {
    let but_turns = Progress { turns: told.turns, ..now.clone() };
    if *told != but_turns {
        Weight::Matters
    } else if told.turns != now.turns {
        Weight::Turns
    } else {
        Weight::Nothing
    }
}

/// A report of what changed; what is absent stays as it was reported before.
fn changes(generation: i64, told: &Progress, now: &Progress) -> CodingReport {
    let all = all(generation, now);
    CodingReport {
        generation,
        branch: all.branch.filter(|_| told.branch != now.branch),
        base_commit: all.base_commit.filter(|_| told.base_commit != now.base_commit),
        head_commit: all.head_commit.filter(|_| told.head_commit != now.head_commit),
        approved_plan_sha256: all
            .approved_plan_sha256
            .filter(|_| told.approved_plan_sha256 != now.approved_plan_sha256),
        checks: all.checks.filter(|_| told.checks != now.checks),
        attempts: all.attempts.filter(|_| told.attempts != now.attempts),
        turns: all.turns.filter(|_| told.turns != now.turns),
        pull_request: all.pull_request.filter(|_| told.pull_request != now.pull_request),
        result: None,
    }
}

/// The report that ends a task: it says all again, so that nothing depends on those before.
fn whole(generation: i64, now: &Progress, result: &CodingResult) -> CodingReport {
    let CodingResult { outcome, summary } = result;
    let result = CodingResult { outcome: *outcome, summary: cut(summary, MAX_SUMMARY_BYTES) };
    CodingReport { result: Some(result), ..all(generation, now) }
}

fn all(generation: i64, now: &Progress) -> CodingReport {
    let Progress {
        branch,
        base_commit,
        head_commit,
        approved_plan_sha256,
        mut checks,
        attempts,
        turns,
        pull_request,
    } = now.clone();
    for check in &mut checks {
        check.name = cut(&check.name, MAX_CHECK_NAME_BYTES);
    }
    CodingReport {
        generation,
        branch,
        base_commit,
        head_commit,
        approved_plan_sha256,
        checks: Some(checks),
        attempts: Some(attempts),
        turns: Some(turns),
        pull_request,
        result: None,
    }
}

/// Access comes and goes with tokens and policies, and a new agent may not be seen yet.
fn may_pass(error: &ClientError) -> bool {
    error.is_transient() || matches!(error.status(), Some(401 | 403 | 404))
}

/// Whether a later start of the agent has taken over, or the task has ended already.
fn is_superseded(error: &ClientError) -> bool {
    match &error.failure {
        foundry_client::Failure::Status { status: 409, reason, .. } => {
            matches!(reason.as_deref(), Some("Superseded" | "TaskEnded"))
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests;
