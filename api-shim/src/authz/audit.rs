//! One record for each decision, on the log target `audit`.

use super::{Action, Decision};
use crate::{identity::Principal, request_id};

/// Log target of audit records; the log filter cannot switch it off.
pub const TARGET: &str = "audit";

pub fn record(caller: &Principal, action: Action, resource: &str, decision: &Decision) {
    tracing::info!(
        target: TARGET,
        actor = caller.actor.kind(),
        subject = %caller.subject,
        agent = caller.actor.agent(),
        workspace = %caller.workspace,
        action = %action,
        resource = %resource,
        allowed = decision.allowed,
        because = %decision.because,
        request_id = request_id::current(),
        "decided"
    );
}
