//! `GET /v1/agents/{id}/memories/recall`.

use axum::{
    Json,
    extract::{Path, State},
};
use foundry_client::{Problem as ProblemDocument, Recalled};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::{
    app::App,
    authz::Action,
    extract::{Caller, Params},
    problem::Problem,
};

/// Memories given when a request names no limit.
const DEFAULT_LIMIT: u32 = 10;

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct RecallQuery {
    /// Words that a memory must contain, in any case and order.
    q: String,
    /// Memories to give; 10 by default, 50 at most.
    limit: Option<u32>,
}

/// Finds memories of either tier that contain every word, newest first.
#[utoipa::path(
    get, path = "/v1/agents/{id}/memories/recall", tag = "memories",
    params(("id" = String, Path, description = "the agent"), RecallQuery),
    responses((status = 200, body = Recalled), (status = 404, body = ProblemDocument))
)]
pub async fn recall(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    params: Params,
) -> Result<Json<Recalled>, Problem> {
    let key = app.authorize_rows(&caller, Action::ReadMemories, &id).await?;
    let RecallQuery { q, limit } = params.parse()?;
    let found = app.store.recall(&key, &q, limit.unwrap_or(DEFAULT_LIMIT)).await?;
    Ok(Json(Recalled { items: super::memories(found)? }))
}
