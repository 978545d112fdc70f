//! The clone and what is done in it: files, commands, checks, commits, push, pull request.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foundry_git::{
    ChangedFile, Class, GitError, Identity, NewPullRequest, ObjectId, PullRequestError,
    PullRequests, RefName, Repository, chain, describe,
};
use foundry_kernel::Tool;
use foundry_platform::retry::Backoff;
use foundry_platform::tell::Lines;
use foundry_workspace::commands::Policy;
use foundry_workspace::gate::{Event, Gate};
use foundry_workspace::{EditLog, Workspace, tools};
use tokio::sync::OnceCell;
use tokio::time::sleep;

use crate::prompt::Delivery;
use crate::task::finish::{Need, Standing, list};
use crate::task::ledger::Ledger;

/// First and longest wait before what did not work at a remote is tried again, and how
/// often that is; then the model hears of it. The task's clock bounds all of it.
const WAITS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(15));
const TRIES: u32 = 4;
/// A host that wants to be left alone for longer is not waited for either.
const LONGEST_PAUSE: Duration = Duration::from_mins(2);

/// What a site is made of.
pub struct SiteParts {
    /// The clone, on its branch.
    pub repository: Repository,
    /// Its files, as far as they may be touched.
    pub workspace: Workspace,
    /// Which commands may run.
    pub policy: Policy,
    /// What becomes of the commits.
    pub delivery: Delivery,
    /// Who commits; absent where that is the person at whose machine this runs.
    pub identity: Option<Identity>,
    /// The branch that the pull request goes to; absent where nothing is delivered.
    pub target: Option<RefName>,
    /// Pull requests at the remote's host, or why there are none.
    pub pull_requests: Result<Box<dyn PullRequests>, PullRequestError>,
    /// Where lines go.
    pub lines: Arc<dyn Lines>,
}

/// The clone of one task.
pub struct Site {
    parts: SiteParts,
    edits: EditLog,
    /// Begun when it is first needed: taking the tree in costs two calls of git, which the
    /// first model request need not wait for.
    gate: OnceCell<Mutex<Gate>>,
    /// The commit that was pushed last.
    pushed: Mutex<Option<ObjectId>>,
}

/// Why a push or a pull request did not come about; the model reads this.
#[derive(Debug, thiserror::Error)]
pub enum DeliveryError {
    /// Nothing is delivered in this run.
    #[error("nothing is pushed in this run: the work stays on its branch")]
    NotAsked,
    /// There are changes that are not committed, and so would not be delivered.
    #[error("the branch has no commit beyond its base: commit the work first")]
    NoCommit,
    /// Something else than the branch is checked out, so the work may be elsewhere.
    #[error(
        "the commit that is checked out is not the newest of {0}: git switch {0}, and bring the \
         work there (git merge, git cherry-pick)"
    )]
    Astray(String),
    /// The branch would bring changes that are not permitted.
    #[error(
        "the commits change files outside the permitted paths; put them back and commit that: {0}"
    )]
    Forbidden(String),
    /// The newest commit is not at the remote.
    #[error("the newest commit is not pushed: call git_push first")]
    NotPushed,
    /// Git refused.
    #[error("{}", chain(.0))]
    Git(#[from] GitError),
    /// The host refused.
    #[error("{}", chain(.0))]
    Host(PullRequestError),
}

impl Site {
    /// A site whose task begins now.
    pub fn new(parts: SiteParts) -> Self {
        let edits = EditLog::default();
        Self { parts, edits, gate: OnceCell::new(), pushed: Mutex::default() }
    }

    /// The clone.
    pub fn repository(&self) -> &Repository {
        &self.parts.repository
    }

    /// Its files.
    pub fn workspace(&self) -> &Workspace {
        &self.parts.workspace
    }

    /// Which commands may run.
    pub fn policy(&self) -> &Policy {
        &self.parts.policy
    }

    /// What becomes of the commits.
    pub fn delivery(&self) -> Delivery {
        self.parts.delivery
    }

    /// Where lines go.
    pub fn lines(&self) -> &dyn Lines {
        &*self.parts.lines
    }

    /// The tools that change nothing.
    pub fn reading_tools(&self) -> Vec<Arc<Tool>> {
        tools::reading(&self.parts.workspace)
    }

    /// The tools that change files.
    pub fn editing_tools(&self) -> Vec<Arc<Tool>> {
        tools::editing(&self.parts.workspace, &self.edits)
    }

    /// The fingerprint of the work tree now; nothing when it cannot be read.
    pub async fn tree(&self) -> Option<String> {
        match self.parts.repository.snapshot().await {
            Ok(snapshot) => Some(snapshot.tree().to_string()),
            Err(error) => {
                tracing::warn!(error = chain(&error), "failed to read the work tree");
                None
            }
        }
    }

    /// The gate of checks, with all edits so far taken in.
    pub async fn gate(&self) -> MutexGuard<'_, Gate> {
        let begun = self.gate.get_or_init(|| async { Mutex::new(Gate::new(self.tree().await)) });
        let mut gate = begun.await.lock().unwrap_or_else(PoisonError::into_inner);
        gate.catch_up(&self.edits);
        gate
    }

    /// Pushes the branch (CODE-05).
    pub async fn push(&self, ledger: &Ledger) -> Result<String, DeliveryError> {
        let target = match (self.parts.delivery, &self.parts.target) {
            (Delivery::Push | Delivery::PullRequest, Some(target)) => target,
            (Delivery::Push | Delivery::PullRequest, None) | (Delivery::Commit, _) => {
                return Err(DeliveryError::NotAsked);
            }
        };
        let repository = &self.parts.repository;
        let branch = repository.branch().ok_or(DeliveryError::NotAsked)?.as_str().to_owned();
        if repository.head().await? != repository.branch_head().await? {
            return Err(DeliveryError::Astray(branch));
        }
        if repository.commits_since_base().await? == 0 {
            return Err(DeliveryError::NoCommit);
        }
        let committed = paths_of(&repository.committed_files().await?);
        let forbidden: Vec<String> = self.forbidden(&committed).collect();
        if !forbidden.is_empty() {
            return Err(DeliveryError::Forbidden(list(&forbidden))); // CODE-10
        }
        let mut backoff = Backoff::new(WAITS.0, WAITS.1);
        let pushed = loop {
            match repository.push(&branch, target).await {
                Err(error) if error.class() == Class::Transient && backoff.failures() < TRIES => {
                    sleep(backoff.failed()).await;
                }
                pushed => break pushed?,
            }
        };
        ledger.head(pushed.commit.as_str());
        *self.lock_pushed() = Some(pushed.commit.clone());
        let uncommitted = repository.status().await?.changed;
        let rest = match uncommitted.len() {
            0 => String::new(),
            1 => "; 1 changed file is not committed and not pushed".to_owned(),
            many => format!("; {many} changed files are not committed and not pushed"),
        };
        Ok(format!("{} is at the remote at commit {}{rest}", pushed.branch, pushed.commit))
    }

    /// Opens the pull request, or brings the open one up to date (CODE-06, CODE-07).
    pub async fn open_pull_request(
        &self,
        title: &str,
        description: &str,
        ledger: &Ledger,
    ) -> Result<String, DeliveryError> {
        let (Some(branch), Some(target)) = (self.parts.repository.branch(), &self.parts.target)
        else {
            return Err(DeliveryError::NotAsked);
        };
        let pull_requests = match &self.parts.pull_requests {
            Ok(pull_requests) => pull_requests,
            Err(error) => return Err(DeliveryError::Host(error.clone())),
        };
        if self.is_at_remote(&self.parts.repository.branch_head().await?) != Need::Met {
            return Err(DeliveryError::NotPushed);
        }
        let body = match &self.parts.identity {
            Some(identity) => describe(identity, description),
            None => description.trim().to_owned(),
        };
        let new = NewPullRequest {
            title: title.trim().to_owned(),
            body,
            head: branch.as_str().to_owned(),
            base: target.as_str().to_owned(),
        };
        let mut backoff = Backoff::new(WAITS.0, WAITS.1);
        let opened = loop {
            match pull_requests.open(&new).await {
                Err(error)
                    if error.class() == Class::Transient
                        && error.retry_after().unwrap_or_default() <= LONGEST_PAUSE
                        && backoff.failures() < TRIES =>
                {
                    sleep(backoff.failed().max(error.retry_after().unwrap_or_default())).await;
                }
                opened => break opened.map_err(DeliveryError::Host)?,
            }
        };
        let pull_request = opened.pull_request();
        ledger.pull_request(foundry_client::PullRequestView {
            url: pull_request.url.clone(),
            number: i64::try_from(pull_request.number).unwrap_or(i64::MAX),
        });
        let what = match &opened {
            foundry_git::Opened::Created(_) => "opened",
            foundry_git::Opened::Updated(_) => "brought up to date",
        };
        Ok(format!("pull request {} is {what}: {}", pull_request.number, pull_request.url))
    }

    /// How clone and branch stand, for a finish.
    pub async fn standing(&self, ledger: &Ledger) -> Result<Standing, GitError> {
        let repository = &self.parts.repository;
        let snapshot = repository.snapshot().await?;
        let changed = paths_of(&snapshot.changed_files().await?);
        let tree = snapshot.tree().to_string();
        let verdict = {
            let mut gate = self.gate().await;
            gate.take(Event::TreeNow(Some(tree)));
            gate.verdict(&changed)
        };
        let status = repository.status().await?;
        if let Some(head) = &status.head {
            ledger.head(head.as_str());
        }
        let branch_head = repository.branch_head().await?;
        let is_astray = status.head.as_ref() != Some(&branch_head);
        let branch = repository.branch().map(ToString::to_string);
        // What was brought to the remote once must be there as it is here in the end, too.
        let delivers = !changed.is_empty() || self.lock_pushed().is_some();
        let (pushed, pull_request) = match self.parts.delivery {
            Delivery::Push | Delivery::PullRequest if !delivers => {
                (Need::NotNeeded, Need::NotNeeded)
            }
            Delivery::Commit => (Need::NotNeeded, Need::NotNeeded),
            Delivery::Push => (self.is_at_remote(&branch_head), Need::NotNeeded),
            Delivery::PullRequest => {
                let is_open = ledger.progress().pull_request.is_some();
                let pull_request = match (is_open, changed.is_empty()) {
                    (true, _) => Need::Met,
                    (false, true) => Need::NotNeeded,
                    (false, false) => Need::Missing,
                };
                (self.is_at_remote(&branch_head), pull_request)
            }
        };
        Ok(Standing {
            forbidden: self.forbidden(&changed).collect(),
            uncommitted: status.changed.iter().map(|path| shown(path)).collect(),
            gate: verdict.err().map(|closed| closed.to_string()),
            astray: branch.filter(|_| is_astray),
            pushed,
            pull_request,
        })
    }

    fn forbidden(&self, changed: &[PathBuf]) -> impl Iterator<Item = String> {
        changed.iter().filter(|path| !self.parts.workspace.permits(path)).map(|path| shown(path))
    }

    fn is_at_remote(&self, commit: &ObjectId) -> Need {
        if self.lock_pushed().as_ref() == Some(commit) { Need::Met } else { Need::Missing }
    }

    fn lock_pushed(&self) -> MutexGuard<'_, Option<ObjectId>> {
        self.pushed.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Both sides of a rename have changed.
fn paths_of(changed: &[ChangedFile]) -> Vec<PathBuf> {
    changed.iter().flat_map(|file| [Some(file.path.clone()), file.from.clone()]).flatten().collect()
}

fn shown(path: &Path) -> String {
    path.display().to_string()
}
