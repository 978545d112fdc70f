//! `DELETE /v1/agents/{id}/memories`.

use axum::extract::{Path, State};
use foundry_client::Problem as ProblemDocument;
use http::StatusCode;

use crate::{app::App, authz::Action, extract::Caller, problem::Problem};

/// Deletes every memory of an agent; only a person may (MEM-06).
#[utoipa::path(
    delete, path = "/v1/agents/{id}/memories", tag = "memories",
    params(("id" = String, Path, description = "the agent")),
    responses(
        (status = 204),
        (status = 403, body = ProblemDocument),
        (status = 404, body = ProblemDocument),
    )
)]
pub async fn purge_memories(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<StatusCode, Problem> {
    let key = app.authorize_rows(&caller, Action::DeleteMemory, &id).await?;
    app.store.purge_memories(&key).await?;
    Ok(StatusCode::NO_CONTENT)
}
