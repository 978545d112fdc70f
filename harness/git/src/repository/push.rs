//! Pushing the one branch that may be pushed (CODE-05).

use std::time::Duration;

use super::Repository;
use super::courier::Courier;
use crate::error::{GitError, PushRefusal};
use crate::failure;
use crate::git::Access;
use crate::process::{Captured, Exit};
use crate::reference::{FlowBranch, ObjectId, RefName, meant};
use crate::remote::Remote;

/// How long a push, or a question to a remote, may take.
const PUSH_LIMIT: Duration = Duration::from_mins(5);
const ASK_LIMIT: Duration = Duration::from_mins(1);

/// A branch that is at the remote now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pushed {
    /// The branch.
    pub branch: FlowBranch,
    /// Its newest commit, here and there.
    pub commit: ObjectId,
    /// Whether the remote had exactly that before.
    pub was_there: bool,
}

/// What the remote has on our branch, as far as it is known: the lease of a push.
#[derive(Debug)]
pub(super) struct AtRemote {
    /// Nothing, when there is no such branch.
    has: Option<ObjectId>,
    /// What was sent by a push whose answer never came.
    unsure: Vec<ObjectId>,
}

impl AtRemote {
    pub(super) fn known(has: Option<ObjectId>) -> Self {
        Self { has, unsure: Vec::new() }
    }
}

impl Repository {
    /// Pushes the branch that this run works on, and nothing else.
    ///
    /// `asked` is the branch as somebody asked for it; `target` is the one that the pull
    /// request goes to, which is refused however it is spelt. An earlier start of the same
    /// run may have left commits on the branch: these are replaced, but only while they
    /// are what the remote had when it was cloned. Where the branch was made in an opened
    /// repository, the remote must not have it.
    pub async fn push(&self, asked: &str, target: &RefName) -> Result<Pushed, GitError> {
        let branch = self.own_branch("push")?;
        if let Some(reason) = refusal(asked, branch, target) {
            return Err(GitError::PushRefused { branch: asked.to_owned(), reason });
        }
        let commit = self.branch_head().await?;
        self.check_descent(branch, &commit).await?;
        let (remote_name, remote) = self.named_remote().await?;
        // One push at a time: each changes what the next expects.
        let mut at_remote = self.at_remote.lock().await;
        let expected = self.expected(&mut at_remote, branch, &remote).await?;
        let outcome = self.send(branch, &commit, expected.as_ref(), &remote_name, &remote).await;
        let was_there = match outcome {
            Ok(was_there) => was_there,
            Err(error) => {
                if matches!(error, GitError::Unreachable { .. } | GitError::TimedOut { .. }) {
                    at_remote.unsure.push(commit);
                }
                return Err(error);
            }
        };
        *at_remote = AtRemote::known(Some(commit.clone()));
        Ok(Pushed { branch: branch.clone(), commit, was_there })
    }

    /// Commits that were there before belong to others, and go on under their names.
    async fn check_descent(&self, branch: &FlowBranch, commit: &ObjectId) -> Result<(), GitError> {
        let action = "look at the branch's history";
        let base = &self.base.commit;
        let arguments = ["merge-base", "--is-ancestor", base.as_str(), commit.as_str()];
        let asked = self.git.try_local(self.call(action, arguments)).await?;
        match asked.exit {
            Exit::Status(0) => Ok(()),
            Exit::Status(1) => {
                let reason = PushRefusal::Rewritten { base: base.to_string() };
                Err(GitError::PushRefused { branch: branch.to_string(), reason })
            }
            _ => Err(failure::local(action, &asked.stderr)),
        }
    }

    /// What the remote must have for a push to go on.
    async fn expected(
        &self,
        at_remote: &mut AtRemote,
        branch: &FlowBranch,
        remote: &Remote,
    ) -> Result<Option<ObjectId>, GitError> {
        if !at_remote.unsure.is_empty() {
            // A push may have arrived although its answer did not.
            let action = "look at the remote's branch";
            let answer = self.ask_remote(action, remote, &[], &branch.full()).await?;
            let has = id_of(&answer, &branch.full());
            if has.as_ref().is_some_and(|has| at_remote.unsure.contains(has)) {
                at_remote.has = has;
            }
            at_remote.unsure.clear();
        }
        Ok(at_remote.has.clone())
    }

    async fn send(
        &self,
        branch: &FlowBranch,
        commit: &ObjectId,
        expected: Option<&ObjectId>,
        remote_name: &str,
        remote: &Remote,
    ) -> Result<bool, GitError> {
        let action = "push";
        let full = branch.full();
        // An empty expectation is: the remote has no such branch.
        let expected = expected.map(ObjectId::as_str).unwrap_or_default();
        let lease = format!("--force-with-lease={full}:{expected}");
        let refspec = format!("{commit}:{full}");
        let options = ["push", "--porcelain", "--no-verify", "--no-follow-tags", "--no-signed"];
        let mut arguments = options.to_vec();
        arguments.extend([lease.as_str(), "--"]);
        let pushed = match self.git.access() {
            Access::Keys(_) => {
                arguments.extend([remote.url(), &refspec]);
                let courier = Courier::new(commit)?;
                let call = courier.call(action, &arguments, &self.objects)?;
                self.git.remote(call, remote, PUSH_LIMIT).await?
            }
            Access::Persons => {
                arguments.extend([remote_name, &refspec]);
                self.git.remote(self.call(action, arguments), remote, PUSH_LIMIT).await?
            }
        };
        match outcome(&pushed.stdout, &full) {
            Some(Outcome::Done) if pushed.exit.passed() => Ok(false),
            Some(Outcome::WasThere) if pushed.exit.passed() => Ok(true),
            Some(Outcome::Rejected(words)) => {
                let reason = rejection(&words, &pushed);
                Err(GitError::PushRefused { branch: branch.to_string(), reason })
            }
            Some(Outcome::Done | Outcome::WasThere) | None => {
                Err(self.git.remote_failure(action, remote, &pushed))
            }
        }
    }

    /// Asks a remote what it has, by `git ls-remote`.
    pub(super) async fn ask_remote(
        &self,
        action: &'static str,
        remote: &Remote,
        options: &[&str],
        name: &str,
    ) -> Result<String, GitError> {
        let mut arguments = vec!["ls-remote", "--quiet"];
        arguments.extend(options);
        arguments.push("--");
        let asked = match self.git.access() {
            Access::Keys(_) => {
                arguments.extend([remote.url(), name]);
                let courier = Courier::new(&self.base.commit)?;
                let call = courier.call(action, &arguments, &self.objects)?;
                self.git.remote(call, remote, ASK_LIMIT).await?
            }
            Access::Persons => {
                arguments.extend([remote.url(), name]);
                self.git.remote(self.call(action, arguments), remote, ASK_LIMIT).await?
            }
        };
        if !asked.exit.passed() {
            return Err(self.git.remote_failure(action, remote, &asked));
        }
        Ok(String::from_utf8_lossy(&asked.stdout).into_owned())
    }
}

/// Whether this may be pushed at all.
fn refusal(asked: &str, own: &FlowBranch, target: &RefName) -> Option<PushRefusal> {
    let own_name = || own.to_string();
    // Some hosts and file systems take Main for main.
    if meant(asked).eq_ignore_ascii_case(meant(target.as_str())) {
        return Some(PushRefusal::TargetBranch { own: own_name() });
    }
    let own_spelt = [own.as_str(), &own.full()].contains(&asked.trim());
    (!own_spelt).then(|| PushRefusal::NotOwnBranch { own: own_name() })
}

/// The id before a name in lines of id and name.
fn id_of(lines: &str, name: &str) -> Option<ObjectId> {
    let pairs = lines.lines().filter_map(|line| line.split_once([' ', '\t']));
    pairs.filter(|(_, one)| *one == name).find_map(|(id, _)| ObjectId::parse(id))
}

/// What git says became of one ref.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Outcome {
    Done,
    WasThere,
    Rejected(String),
}

/// Reads the line of `git push --porcelain` for one ref: a flag, the refs and a summary,
/// parted by tabs.
fn outcome(stdout: &[u8], full: &str) -> Option<Outcome> {
    let text = String::from_utf8_lossy(stdout);
    text.lines().find_map(|line| {
        let mut fields = line.splitn(3, '\t');
        let (flag, refs, summary) = (fields.next()?, fields.next()?, fields.next()?);
        if refs.rsplit(':').next() != Some(full) {
            return None;
        }
        Some(match flag {
            "=" => Outcome::WasThere,
            "!" => Outcome::Rejected(summary.to_owned()),
            _ => Outcome::Done,
        })
    })
}

/// Why a ref was rejected: by git here, which compares, or by the other side.
fn rejection(summary: &str, pushed: &Captured) -> PushRefusal {
    let moved = ["stale info", "fetch first", "non-fast-forward", "remote ref updated since"];
    if moved.iter().any(|words| summary.contains(words)) {
        return PushRefusal::Moved;
    }
    let said = failure::remote_words(&pushed.stderr);
    let words = match said {
        Some(said) => format!("{said} ({summary})"),
        None => summary.to_owned(),
    };
    PushRefusal::Host { words: crate::error::quoted(&words) }
}

#[cfg(test)]
mod tests;
