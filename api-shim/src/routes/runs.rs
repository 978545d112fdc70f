//! What a harness reports of itself: runs, heartbeats; and what its calls used.

mod heartbeat;
mod list;
mod record;
mod usage;

use foundry_client::RunRecord;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{app::App, problem::Problem};

pub fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(record::record_run, list::list_runs))
        .routes(routes!(heartbeat::send_heartbeat))
        .routes(routes!(usage::read_usage))
}

fn run(row: foundry_store::Run) -> Result<RunRecord, Problem> {
    let foundry_store::Run {
        id,
        wake_id,
        reason,
        started_at,
        finished_at,
        turns,
        input_tokens,
        output_tokens,
        outcome,
    } = row;
    let wake_id = wake_id
        .map(|id| id.parse().map_err(|_| Problem::bug("a run's wake is no UUID")))
        .transpose()?;
    Ok(RunRecord {
        id,
        wake_id,
        reason,
        started_at,
        finished_at,
        turns: u32::try_from(turns).unwrap_or(0),
        input_tokens: u64::try_from(input_tokens).unwrap_or(0),
        output_tokens: u64::try_from(output_tokens).unwrap_or(0),
        outcome,
    })
}
