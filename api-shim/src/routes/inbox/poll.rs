//! `GET /v1/agents/{id}/inbox`.

use std::time::Duration;

use axum::{
    Json,
    extract::{Path, State},
};
use foundry_client::{MAX_INBOX_WAIT_SECONDS, Problem as ProblemDocument, WakeList};
use foundry_store::AgentKey;
use serde::Deserialize;
use tokio::time::Instant;
use utoipa::IntoParams;

use crate::{
    app::App,
    authz::Action,
    extract::{Caller, Params},
    problem::Problem,
};

/// How long a wake that was handed out stays with whoever got it. Without a run record
/// that names it, it is handed out again after that.
const LEASE: Duration = Duration::from_mins(1);
/// Most wakes handed out at once.
const MAX_WAKES: u32 = 20;
/// How often the store is asked while no bell rings: a wake may have been recorded by
/// another replica, or its lease may have ended.
const LOOK: Duration = Duration::from_secs(1);

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PollQuery {
    /// How long to hold the request open while nothing is pending; 12 at most.
    wait_seconds: Option<u64>,
}

/// Hands out pending wakes, oldest first, and waits a while when there are none
/// (ROUTE-10).
#[utoipa::path(
    get, path = "/v1/agents/{id}/inbox", tag = "inbox",
    params(("id" = String, Path, description = "the agent"), PollQuery),
    responses((status = 200, body = WakeList), (status = 404, body = ProblemDocument))
)]
pub async fn poll_inbox(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    params: Params,
) -> Result<Json<WakeList>, Problem> {
    let key = app.authorize_rows(&caller, Action::PollInbox, &id).await?;
    let query: PollQuery = params.parse()?;
    let seconds = query.wait_seconds.unwrap_or(MAX_INBOX_WAIT_SECONDS).min(MAX_INBOX_WAIT_SECONDS);
    let deadline = Instant::now() + Duration::from_secs(seconds);
    let _waiting = app.metrics.wait();
    let bell = app.bells.listen(&key);
    loop {
        // Listening begins before the look, or a ring between the two would be missed.
        let mut rung = std::pin::pin!(bell.notified());
        rung.as_mut().enable();
        let wakes = claim(&app, &key).await?;
        let over = Instant::now() >= deadline || app.shutdown.is_cancelled();
        if !wakes.wakes.is_empty() || over {
            return Ok(Json(wakes));
        }
        let look = deadline.min(Instant::now() + LOOK);
        tokio::select! {
            () = rung => {}
            () = tokio::time::sleep_until(look) => {}
            () = app.shutdown.cancelled() => {}
        }
    }
}

async fn claim(app: &App, key: &AgentKey) -> Result<WakeList, Problem> {
    let rows = app.store.claim_wakes(key, app.clock.now(), LEASE, MAX_WAKES).await?;
    let wakes = rows.into_iter().map(super::wake).collect::<Result<_, _>>()?;
    Ok(WakeList { wakes })
}
