//! Agents: observe, plan, apply, report.

pub mod apply;
pub mod observe;
pub mod outlook;
pub mod plan;
pub mod report;
pub mod revisions;
pub mod start;
pub mod workloads;

use std::sync::Arc;

use foundry_crds::Agent;
use kube::Resource as _;
use kube::runtime::controller::Action;

use crate::apply::Version;
use crate::caches::Guard;
use crate::context::Context;
use crate::error::{Error, chain};
use crate::invalid;

/// Which agent: what its workloads are named, labelled and owned by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct AgentId {
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`.
    pub uid: String,
}

/// Brings the cluster one step nearer to what an agent's spec says.
pub async fn reconcile(agent: Arc<Guard<Agent>>, context: Arc<Context>) -> Result<Action, Error> {
    let agent = match &agent.0 {
        Ok(agent) => agent,
        Err(invalid) => return invalid::report::<Agent>(&context, invalid).await,
    };
    if agent.metadata.deletion_timestamp.is_some() {
        // What the agent owns goes with it; there is nothing else to undo.
        return Ok(Action::await_change());
    }
    let observed = observe::observe(&context, agent).await?;
    let now = context.clock.now();
    let plan = plan::plan(&observed, &context.config.template, now);

    let version = Version::of("Agent", agent.meta())?;
    let version = apply::intend(&context, &plan, version).await?;
    // The number is stored before the workload is made: a crash in between repeats
    // the workload, never the number.
    let (version, ledger_status) =
        report::record_start(&context, agent, &observed, &plan, version).await?;
    let applied = match apply::apply(&context, &observed, &plan).await {
        Ok(applied) => applied,
        Err(error) => {
            if let Some(failing) = apply::failing(&context, &observed.agent.uid, &error) {
                let told = report::report(
                    &context,
                    agent,
                    ledger_status,
                    &observed,
                    &plan,
                    &failing,
                    version,
                    now,
                );
                if let Err(untold) = told.await {
                    tracing::debug!(error = chain(&untold), "a failure could not be told either");
                }
            }
            return Err(error);
        }
    };
    report::report(&context, agent, ledger_status, &observed, &plan, &applied, version, now)
        .await?;
    // Last: a version that cannot be stored yet holds up neither workload nor report, and its
    // number is the report's. Were it stored before, and the report refused because of the
    // next edit, that edit would get the same number.
    let again = revisions::keep(&context, agent, &observed, &plan).await?;
    Ok(Action::requeue(applied.at_most(plan.look_again).min(again)))
}
