//! Performs a plan and says what the cluster refused.

use std::collections::BTreeMap;

use foundry_crds::meta;
use foundry_crds::meta::manager::OPERATOR_SWARMS;
use futures::future::join_all;

use super::plan::{Action, Plan, Planned};
use crate::apply;
use crate::context::Context;
use crate::error::Error;

/// What came of a plan.
#[derive(Debug, Default)]
pub struct Applied {
    /// What the cluster refused, in its own words, by member.
    pub refused: BTreeMap<String, String>,
    /// The members for which nothing could be written now.
    pub unwritten: Vec<String>,
    /// The first error of those.
    pub failed: Option<Error>,
}

/// Makes, edits and expires the members' agents, all at once: none waits for another.
pub async fn apply(context: &Context, plan: &Plan) -> Applied {
    let mut applied = Applied::default();
    let outcomes = join_all(plan.members.iter().map(|member| perform(context, member))).await;
    for (member, outcome) in plan.members.iter().zip(outcomes) {
        let Err(error) = outcome else { continue };
        if let Some(words) = error.refusal() {
            applied.refused.insert(member.name.clone(), words.to_owned());
        } else {
            applied.unwritten.push(member.name.clone());
            applied.failed.get_or_insert(error);
        }
    }
    applied
}

async fn perform(context: &Context, member: &Planned) -> Result<(), Error> {
    let client = &context.client;
    let verb = match &member.action {
        None => return Ok(()),
        Some(Action::Create(agent)) => {
            apply::create_agent(client, OPERATOR_SWARMS, agent).await?;
            "create"
        }
        Some(Action::Edit(version, edit)) => {
            let ttl = edit.ttl_seconds.map(|ttl| (meta::annotation::SWARM_TTL, ttl.to_string()));
            let annotations = ttl.into_iter().collect();
            apply::edit_agent(client, OPERATOR_SWARMS, version, &annotations, &edit.fields).await?;
            "edit"
        }
        Some(Action::Expire(version)) => {
            apply::expire(client, version.clone()).await?;
            "expire"
        }
    };
    context.metrics.written(verb, "Agent");
    Ok(())
}
