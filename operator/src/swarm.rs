//! Swarms: observe, plan, apply, report.
//!
//! A swarm is carried out by one ephemeral agent a member. The operator makes those
//! agents, keeps them as the swarm says, and reads from them where the swarm stands.

pub mod apply;
pub mod child;
pub mod observe;
pub mod phase;
pub mod plan;
pub mod report;
pub mod standing;

use std::sync::Arc;

use foundry_crds::Swarm;
use kube::Resource as _;
use kube::runtime::controller::Action;

use crate::apply::Version;
use crate::caches::Guard;
use crate::context::Context;
use crate::error::Error;
use crate::invalid;

/// Which swarm: what its agents are named and owned by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct SwarmId {
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.name`.
    pub name: String,
    /// `metadata.uid`.
    pub uid: String,
}

/// Brings a swarm one step nearer to what its spec says, and says where it stands.
pub async fn reconcile(swarm: Arc<Guard<Swarm>>, context: Arc<Context>) -> Result<Action, Error> {
    let swarm = match &swarm.0 {
        Ok(swarm) => swarm,
        Err(invalid) => return invalid::report::<Swarm>(&context, invalid).await,
    };
    if swarm.metadata.deletion_timestamp.is_some() {
        // Its agents, and all that is theirs, go with it.
        return Ok(Action::await_change());
    }
    let version = Version::of("Swarm", swarm.meta())?;
    let observed = observe::observe(&context, swarm, &version).await?;
    let now = context.clock.now();
    let plan = plan::plan(&observed, now);
    let applied = apply::apply(&context, &plan).await;
    let again = report::report(&context, swarm, &observed, &plan, &applied, version, now).await?;
    // One member that could not be written has held up no other; only now is it an error.
    applied.failed.map_or(Ok(Action::requeue(again)), Err)
}
