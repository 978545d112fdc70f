//! What a task has come to so far: told to whoever watches, and carried from one attempt
//! to the next.

use std::sync::{Mutex, MutexGuard, PoisonError};

use foundry_client::{CheckView, CodingResult, PullRequestView};
use foundry_kernel::policy::todos::{Status, TodoError, Todos};
use tokio::sync::watch;

use super::stage::Plan;

/// Most checks that are told of; the oldest go first.
const CHECKS: usize = foundry_client::MAX_CHECKS;

/// Most answers that are noted; the oldest go first. A model that answers its own questions
/// has no end of them, and later attempts are told of all that are noted.
const ANSWERS: usize = 20;

/// What is told of a task while it runs.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Progress {
    /// Branch the work is on.
    pub branch: Option<String>,
    /// Commit the branch started from.
    pub base_commit: Option<String>,
    /// Newest commit on the branch.
    pub head_commit: Option<String>,
    /// Digest of the plan that the agent approved itself.
    pub approved_plan_sha256: Option<String>,
    /// The newest result of each check, in the order of their last runs.
    pub checks: Vec<CheckView>,
    /// Attempts at a phase so far.
    pub attempts: u32,
    /// Model turns so far.
    pub turns: u32,
    /// The pull request.
    pub pull_request: Option<PullRequestView>,
}

/// What the parts of a task note down.
#[derive(Debug)]
pub struct Ledger {
    progress: watch::Sender<Progress>,
    notes: Mutex<Notes>,
}

/// What nobody outside the task is told.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Notes {
    /// The newest questions and their answers, oldest first.
    pub answers: Vec<(String, String)>,
    /// The model's own task list.
    pub todos: Todos,
    /// Checks whose newest run failed, with the end of what they said.
    pub failed: Vec<FailedCheck>,
    /// The plan that was saved in this phase.
    plan: Option<Plan>,
    /// The end that was accepted in this phase.
    verdict: Option<CodingResult>,
}

/// A check whose newest run failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FailedCheck {
    /// The command.
    pub name: String,
    /// How what it said ends.
    pub said: String,
}

impl Default for Ledger {
    fn default() -> Self {
        Self { progress: watch::Sender::new(Progress::default()), notes: Mutex::default() }
    }
}

impl Ledger {
    /// Hears of every change of what is told.
    pub fn watch(&self) -> watch::Receiver<Progress> {
        self.progress.subscribe()
    }

    /// What is told now.
    pub fn progress(&self) -> Progress {
        self.progress.borrow().clone()
    }

    /// What is noted now.
    pub fn notes(&self) -> Notes {
        self.lock().clone()
    }

    /// The branch was made, at this commit.
    pub fn began(&self, branch: &str, base_commit: &str) {
        self.tell(|progress| {
            progress.branch = Some(branch.to_owned());
            progress.base_commit = Some(base_commit.to_owned());
            progress.head_commit = Some(base_commit.to_owned());
        });
    }

    /// This is the newest commit.
    pub fn head(&self, commit: &str) {
        self.tell(|progress| progress.head_commit = Some(commit.to_owned()));
    }

    /// The agent approved its own plan.
    pub fn approved_itself(&self, sha256: &str) {
        self.tell(|progress| progress.approved_plan_sha256 = Some(sha256.to_owned()));
    }

    /// An attempt at a phase begins.
    pub fn attempt_began(&self) {
        let mut notes = self.lock();
        (notes.plan, notes.verdict) = (None, None);
        drop(notes);
        self.tell(|progress| progress.attempts += 1);
    }

    /// A model turn was taken.
    pub fn turn(&self) {
        self.tell(|progress| progress.turns += 1);
    }

    /// The pull request is open.
    pub fn pull_request(&self, pull_request: PullRequestView) {
        self.tell(|progress| progress.pull_request = Some(pull_request));
    }

    /// A check ran, and said this.
    pub fn checked(&self, name: &str, passed: bool, said: &str) {
        let mut notes = self.lock();
        notes.failed.retain(|failed| failed.name != name);
        if !passed {
            notes.failed.push(FailedCheck { name: name.to_owned(), said: said.to_owned() });
            let extra = notes.failed.len().saturating_sub(CHECKS);
            notes.failed.drain(..extra);
        }
        drop(notes);
        self.tell(|progress| {
            progress.checks.retain(|check| check.name != name);
            progress.checks.push(CheckView { name: name.to_owned(), passed });
            let extra = progress.checks.len().saturating_sub(CHECKS);
            progress.checks.drain(..extra);
        });
    }

    /// A question was answered.
    pub fn answered(&self, question: &str, answer: &str) {
        let mut notes = self.lock();
        notes.answers.push((question.to_owned(), answer.to_owned()));
        let extra = notes.answers.len().saturating_sub(ANSWERS);
        notes.answers.drain(..extra);
    }

    /// Adds to the model's task list; its number, from 1.
    pub fn add_todo(&self, title: &str) -> Result<usize, TodoError> {
        self.lock().todos.add(title)
    }

    /// Changes the state of a task of the model's list.
    pub fn set_todo(&self, number: usize, status: Status) -> Result<(), TodoError> {
        self.lock().todos.set(number, status)
    }

    /// The plan of this phase was saved.
    pub fn planned(&self, plan: Plan) {
        self.lock().plan = Some(plan);
    }

    /// The end of the task was accepted.
    pub fn finished(&self, result: CodingResult) {
        self.lock().verdict = Some(result);
    }

    /// Whether the attempt just over has reached the end of its phase.
    pub fn is_phase_done(&self) -> bool {
        let notes = self.lock();
        notes.plan.is_some() || notes.verdict.is_some()
    }

    /// Takes the plan that the attempt just over has saved.
    pub fn take_plan(&self) -> Option<Plan> {
        self.lock().plan.take()
    }

    /// Takes the end that the attempt just over has reached.
    pub fn take_verdict(&self) -> Option<CodingResult> {
        self.lock().verdict.take()
    }

    fn tell(&self, change: impl FnOnce(&mut Progress)) {
        self.progress.send_if_modified(|progress| {
            let before = progress.clone();
            change(progress);
            *progress != before
        });
    }

    fn lock(&self) -> MutexGuard<'_, Notes> {
        self.notes.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn the_newest_result_of_each_check_is_told_and_what_failed_last_is_noted() {
        let ledger = Ledger::default();
        ledger.checked("go test ./...", false, "FAIL greeting");
        ledger.checked("go vet ./...", true, "");
        ledger.checked("go test ./...", true, "ok");
        let check = |name: &str, passed| CheckView { name: name.to_owned(), passed };
        let told = ledger.progress().checks;
        assert_eq!(told, [check("go vet ./...", true), check("go test ./...", true)]);
        assert_eq!(ledger.notes().failed, []);

        ledger.checked("go vet ./...", false, "unreachable code");
        assert_eq!(ledger.notes().failed[0].said, "unreachable code");
    }

    #[test]
    fn checks_are_bounded() {
        let ledger = Ledger::default();
        for number in 0..150 {
            ledger.checked(&format!("npx eslint {number}"), false, "");
        }
        assert_eq!(ledger.progress().checks.len(), CHECKS);
        assert_eq!(ledger.progress().checks[0].name, "npx eslint 50");
        assert_eq!(ledger.notes().failed.len(), CHECKS);
    }

    /// CODE-25
    #[test]
    fn answers_are_bounded_so_that_no_attempt_opens_with_more_than_fits_a_window() {
        let ledger = Ledger::default();
        for number in 0..150 {
            ledger.answered(&format!("Question {number}?"), "Decide it yourself.");
        }
        let answers = ledger.notes().answers;
        assert_eq!(answers.len(), ANSWERS);
        assert_eq!(answers[0].0, "Question 130?");
    }

    #[test]
    fn a_change_that_changes_nothing_is_not_told() {
        let ledger = Ledger::default();
        let mut watch = ledger.watch();
        ledger.head("c0ffee");
        assert!(watch.has_changed().unwrap());
        watch.mark_unchanged();
        ledger.head("c0ffee");
        assert!(!watch.has_changed().unwrap());
    }
}
