//! The inbox of an agent.

mod poll;
mod record;

use foundry_client::Wake;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{app::App, problem::Problem};

pub fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(poll::poll_inbox, record::record_wake))
}

fn wake(row: foundry_store::Wake) -> Result<Wake, Problem> {
    let foundry_store::Wake { id, source, text, message_id, thread_id, addressed_to, created_at } =
        row;
    let id = id.parse().map_err(|_| Problem::bug("a wake's id is no UUID"))?;
    Ok(Wake { id, source, text, message_id, thread_id, addressed_to, created_at })
}
