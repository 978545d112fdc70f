//! Coding runs: observe, plan, apply, report.
//!
//! A run is carried out by one ephemeral agent of its own name. The operator makes that
//! agent, keeps it as the run says, and reads from it, and from what its harness
//! reports, where the run stands.

pub mod apply;
pub mod child;
pub mod observe;
pub mod phase;
pub mod plan;
pub mod report;

use std::sync::Arc;

use foundry_crds::CodingRun;
use kube::Resource as _;
use kube::runtime::controller::Action;

use crate::agent::apply::failing;
use crate::apply::Version;
use crate::caches::Guard;
use crate::context::Context;
use crate::error::{Error, chain};
use crate::invalid;

/// Which run: what its agent is named and owned by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct RunId {
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`, of the run and of its agent.
    pub name: String,
    /// `metadata.uid`.
    pub uid: String,
}

/// Brings a run one step nearer to its end, and says where it stands.
pub async fn reconcile(run: Arc<Guard<CodingRun>>, context: Arc<Context>) -> Result<Action, Error> {
    let run = match &run.0 {
        Ok(run) => run,
        Err(invalid) => return invalid::report::<CodingRun>(&context, invalid).await,
    };
    if run.metadata.deletion_timestamp.is_some() {
        // Its agent, and all that is the agent's, goes with it.
        return Ok(Action::await_change());
    }
    let version = Version::of("CodingRun", run.meta())?;
    let observed = observe::observe(&context, run, &version).await?;
    let now = context.clock.now();
    let plan = plan::plan(&observed, now);
    let applied = match apply::apply(&context, &plan).await {
        Ok(applied) => applied,
        Err(error) => {
            if let Some(failing) = failing(&context, &observed.run.uid, &error) {
                let told = report::report(&context, run, &observed, &plan, &failing, version, now);
                if let Err(untold) = told.await {
                    tracing::debug!(error = chain(&untold), "a failure could not be told either");
                }
            }
            return Err(error);
        }
    };
    report::report(&context, run, &observed, &plan, &applied, version, now).await?;
    Ok(Action::requeue(applied.at_most(plan.standing.look_again)))
}
