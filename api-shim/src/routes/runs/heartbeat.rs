//! `POST /v1/agents/{id}/heartbeat`.

use axum::extract::{Path, State};
use foundry_client::{Heartbeat, Problem as ProblemDocument};
use foundry_store::{AgentKey, Beat};
use http::StatusCode;

use crate::{
    app::App,
    authz::Action,
    extract::{Caller, Payload},
    problem::Problem,
    reported::must_show,
};

/// Takes a sign of life. Every beat is kept in one row; the resource's status follows
/// when there is something to tell.
#[utoipa::path(
    post, path = "/v1/agents/{id}/heartbeat", tag = "runs",
    params(("id" = String, Path, description = "the agent")),
    request_body = Heartbeat,
    responses(
        (status = 204),
        (status = 404, body = ProblemDocument),
        (status = 422, body = ProblemDocument),
    )
)]
pub async fn send_heartbeat(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    payload: Payload,
) -> Result<StatusCode, Problem> {
    let agent = app.authorize_agent(&caller, Action::SendHeartbeat, &id).await?;
    let Heartbeat { at: _, process_id, generation, context_percent } = payload.parse()?;
    if context_percent.is_some_and(|percent| percent > 100) {
        let detail = "context_percent is above 100";
        return Err(Problem::invalid("context_percent", "TooLarge", detail));
    }
    let key = AgentKey::new(&caller.0.workspace, &id);
    let beat = Beat {
        // Liveness is judged by one clock, ours: a harness' may be wrong.
        at: app.clock.now(),
        process_id,
        generation,
        context_percent: context_percent.map(i64::from),
    };
    let before = app.store.heartbeat(&key, beat).await?;
    if must_show(&agent.status.unwrap_or_default(), before, &beat) {
        app.reporter.request(&key).await?;
    }
    Ok(StatusCode::NO_CONTENT)
}
