//! Performs a plan and says what the cluster refused.

use std::collections::BTreeMap;

use foundry_crds::meta::manager::OPERATOR_RUNS;

use super::plan::{Action, Plan};
use crate::agent::apply::Applied;
use crate::apply;
use crate::context::Context;
use crate::error::Error;

/// Makes or edits the run's agent.
#[tracing::instrument(target = "foundry_operator::spans", name = "apply", skip_all)]
pub async fn apply(context: &Context, plan: &Plan) -> Result<Applied, Error> {
    match perform(context, plan).await {
        Ok(()) => Ok(Applied::Done),
        Err(error) => match error.refusal() {
            Some(words) => Ok(Applied::Refused(words.to_owned())),
            None => Err(error),
        },
    }
}

async fn perform(context: &Context, plan: &Plan) -> Result<(), Error> {
    let verb = match &plan.action {
        None => return Ok(()),
        Some(Action::Create(agent)) => {
            apply::create_agent(&context.client, OPERATOR_RUNS, agent).await?;
            "create"
        }
        Some(Action::Edit(version, edit)) => {
            let annotations = BTreeMap::new();
            apply::edit_agent(&context.client, OPERATOR_RUNS, version, &annotations, &**edit)
                .await?;
            "edit"
        }
    };
    context.metrics.written(verb, "Agent");
    Ok(())
}
