//! Verbs: start, stop, restart, expire, archive. Each writes intent to the resource
//! and then waits a little for the operator to act on it.

mod intent;

use std::{sync::Arc, time::Duration};

use foundry_crds::{Agent, agent::DesiredState, condition, meta::manager};
use tokio_util::{sync::CancellationToken, task::TaskTracker};
use tracing::Instrument;

use self::intent::Intent;
pub use self::intent::Verb;
use crate::{
    app::Clock,
    cluster::{Cluster, apply::ApplyError},
    problem::Problem,
};

/// How long a verb waits for the operator.
const WAIT: Duration = Duration::from_secs(10);
/// How often a verb decides anew because the agent changed between read and write.
const ATTEMPTS: usize = 6;

/// Moves agents through their life.
#[derive(Clone)]
pub struct Verbs {
    cluster: Arc<Cluster>,
    clock: Clock,
    tasks: TaskTracker,
    shutdown: CancellationToken,
}

impl Verbs {
    /// Verbs on this cluster.
    pub fn new(
        cluster: Arc<Cluster>,
        clock: Clock,
        tasks: TaskTracker,
        shutdown: CancellationToken,
    ) -> Self {
        Self { cluster, clock, tasks, shutdown }
    }

    /// Writes what the verb means, waits for the operator, and gives the agent as it
    /// then is. When the cluster refuses, a start is put back and the caller is told
    /// in the cluster's words (LIFE-15). A silent operator is no error: the intent is
    /// kept and the agent shows as pending.
    pub async fn perform(&self, verb: Verb, workspace: &str, id: &str) -> Result<Agent, Problem> {
        let (verbs, workspace, id) = (self.clone(), workspace.to_owned(), id.to_owned());
        // A task of its own: a caller who hangs up must not keep a refused start from
        // being put back.
        let all = async move { verbs.see_through(verb, &workspace, &id).await };
        self.tasks.spawn(all.in_current_span()).await.map_err(Problem::bug)?
    }

    async fn see_through(&self, verb: Verb, workspace: &str, id: &str) -> Result<Agent, Problem> {
        let (written, changed) = self.write(verb, workspace, id).await?;
        if !changed {
            return Ok(written);
        }
        let Some(seen) = self.await_operator(workspace, id, &written).await else {
            return self.cluster.read_agent(workspace, id).await;
        };
        match refusal(verb, &seen, &written) {
            None => Ok(seen),
            Some(words) => {
                if verb.starts()
                    && let Err(problem) = self.put_back(workspace, id, &written).await
                {
                    // The caller is told what the cluster refused; that comes first.
                    tracing::warn!(
                        agent.name = id,
                        cause = problem.detail(),
                        "failed to put a refused start back"
                    );
                }
                Err(Problem::unavailable("ClusterRefused", words)
                    .remedy("change what the cluster refuses, then try again"))
            }
        }
    }

    async fn write(&self, verb: Verb, workspace: &str, id: &str) -> Result<(Agent, bool), Problem> {
        for _ in 0..ATTEMPTS {
            let read = self.cluster.read_agent(workspace, id).await?;
            let intent = match verb.on(&read, self.clock.now())? {
                Intent::Nothing => return Ok((read, false)),
                Intent::Write(change) => change,
            };
            let applied = self
                .cluster
                .change_spec(&read, manager::API_VERBS, |spec| intent.apply(spec))
                .await;
            match applied {
                Ok(written) => return Ok((written, true)),
                Err(ApplyError::Stale) => {}
                Err(error) => return Err(error.into_problem()),
            }
        }
        Err(ApplyError::Stale.into_problem())
    }

    async fn await_operator(&self, workspace: &str, id: &str, written: &Agent) -> Option<Agent> {
        let seen = self.cluster.await_agent(workspace, id, WAIT, |agent| acted(agent, written));
        self.shutdown.run_until_cancelled(seen).await.flatten()
    }

    /// `desiredState` goes back to `stopped`, if the start is still this one.
    async fn put_back(&self, workspace: &str, id: &str, written: &Agent) -> Result<(), Problem> {
        for _ in 0..ATTEMPTS {
            let read = self.cluster.read_agent(workspace, id).await?;
            let still_ours = read.spec.starts == written.spec.starts
                && read.spec.desired_state() == DesiredState::Running;
            if !still_ours {
                return Ok(());
            }
            let stop = |spec: &mut foundry_crds::AgentSpec| {
                spec.desired_state = Some(DesiredState::Stopped);
            };
            match self.cluster.change_spec(&read, manager::API_VERBS, stop).await {
                Ok(_) => return Ok(()),
                Err(ApplyError::Stale) => {}
                Err(error) => return Err(error.into_problem()),
            }
        }
        Err(ApplyError::Stale.into_problem())
    }
}

/// Whether the operator has acted on what was written.
fn acted(agent: &Agent, written: &Agent) -> bool {
    let Some(status) = &agent.status else { return false };
    let starts = written.spec.starts.unwrap_or(0);
    let generation = written.metadata.generation.unwrap_or(0);
    status.observed_generation.is_some_and(|observed| observed >= generation)
        && status.observed_starts.unwrap_or(0) >= starts
}

/// What the cluster said when it refused what was written (LIFE-15). A refusal stays
/// with the start it met, so of a verb that starts nothing only the condition tells
/// whether it was refused as well.
fn refusal(verb: Verb, seen: &Agent, written: &Agent) -> Option<String> {
    let status = seen.status.as_ref()?;
    let last = status.last_start.as_ref()?;
    let refused = if verb.starts() {
        last.starts.is_none_or(|starts| Some(starts) >= written.spec.starts)
    } else {
        status.conditions.iter().any(|told| {
            told.type_ == condition::kind::READY
                && told.reason == condition::reason::REFUSED
                && told.observed_generation >= written.metadata.generation
        })
    };
    last.refused.clone().filter(|_| refused)
}

#[cfg(test)]
mod tests;
