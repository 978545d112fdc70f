//! `GET /v1/agents/{id}/memories`.

use axum::{
    Json,
    extract::{Path, State},
};
use foundry_client::{MemoryPage, Problem as ProblemDocument, Tier};
use foundry_store::PageRequest;
use serde::Deserialize;
use utoipa::IntoParams;

use crate::{
    app::App,
    authz::Action,
    extract::{Caller, Params},
    problem::Problem,
    routes::DEFAULT_LIMIT,
};

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct MemoryQuery {
    /// Only memories of this tier.
    #[param(inline)]
    tier: Option<Tier>,
    /// Memories in the page; 50 by default, 200 at most.
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// Lists an agent's memories, newest first.
#[utoipa::path(
    get, path = "/v1/agents/{id}/memories", tag = "memories",
    params(("id" = String, Path, description = "the agent"), MemoryQuery),
    responses((status = 200, body = MemoryPage), (status = 404, body = ProblemDocument))
)]
pub async fn list_memories(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    params: Params,
) -> Result<Json<MemoryPage>, Problem> {
    let key = app.authorize_rows(&caller, Action::ReadMemories, &id).await?;
    let MemoryQuery { tier, limit, cursor } = params.parse()?;
    let tier = tier.map(|tier| match tier {
        Tier::Core => foundry_store::Tier::Core,
        Tier::Archive => foundry_store::Tier::Archive,
    });
    let request = PageRequest { limit: limit.unwrap_or(DEFAULT_LIMIT), cursor };
    let page = app.store.list_memories(&key, tier, &request).await?;
    let items = super::memories(page.items)?;
    Ok(Json(MemoryPage { items, next_cursor: page.next_cursor }))
}
