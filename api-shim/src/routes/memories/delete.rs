//! `DELETE /v1/agents/{id}/memories/{memory_id}`.

use axum::extract::{Path, State};
use foundry_client::Problem as ProblemDocument;
use http::StatusCode;

use crate::{app::App, authz::Action, extract::Caller, problem::Problem};

/// Deletes one memory; only a person may (MEM-06).
#[utoipa::path(
    delete, path = "/v1/agents/{id}/memories/{memory_id}", tag = "memories",
    params(
        ("id" = String, Path, description = "the agent"),
        ("memory_id" = String, Path, description = "the memory"),
    ),
    responses(
        (status = 204),
        (status = 403, body = ProblemDocument),
        (status = 404, body = ProblemDocument),
    )
)]
pub async fn delete_memory(
    State(app): State<App>,
    caller: Caller,
    Path((id, memory)): Path<(String, String)>,
) -> Result<StatusCode, Problem> {
    let key = app.authorize_rows(&caller, Action::DeleteMemory, &id).await?;
    if app.store.delete_memory(&key, &memory).await? {
        Ok(StatusCode::NO_CONTENT)
    } else {
        Err(Problem::not_found("memory", &memory))
    }
}
