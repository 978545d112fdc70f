//! `GET /v1/agents/{id}/thoughts`.

use axum::{
    Json,
    extract::{Path, State},
};
use foundry_client::{Problem as ProblemDocument, Thoughts};

use crate::{app::App, authz::Action, extract::Caller, problem::Problem};

/// The agent's thoughts as its prompt carries them, by the renderer that harnesses use
/// too (MEM-03).
#[utoipa::path(
    get, path = "/v1/agents/{id}/thoughts", tag = "memories",
    params(("id" = String, Path, description = "the agent")),
    responses((status = 200, body = Thoughts), (status = 404, body = ProblemDocument))
)]
pub async fn read_thoughts(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<Thoughts>, Problem> {
    let key = app.authorize_rows(&caller, Action::ReadThoughts, &id).await?;
    let rows = app.store.thoughts_rows(&key).await?;
    let core = super::memories(rows.core)?;
    let recent = super::memories(rows.recent)?;
    Ok(Json(Thoughts { text: foundry_platform::thoughts::render(&core, &recent) }))
}
