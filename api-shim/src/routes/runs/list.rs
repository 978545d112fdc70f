//! `GET /v1/agents/{id}/runs`.

use axum::{
    Json,
    extract::{Path, State},
};
use foundry_client::{Problem as ProblemDocument, RunPage};

use crate::{
    app::App,
    authz::Action,
    extract::{Caller, Params},
    problem::Problem,
    routes::Paging,
};

/// Lists an agent's runs, newest first.
#[utoipa::path(
    get, path = "/v1/agents/{id}/runs", tag = "runs",
    params(("id" = String, Path, description = "the agent"), Paging),
    responses((status = 200, body = RunPage), (status = 404, body = ProblemDocument))
)]
pub async fn list_runs(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    params: Params,
) -> Result<Json<RunPage>, Problem> {
    let key = app.authorize_rows(&caller, Action::ReadRuns, &id).await?;
    let paging: Paging = params.parse()?;
    let page = app.store.list_runs(&key, &paging.into()).await?;
    let items = page.items.into_iter().map(super::run).collect::<Result<_, _>>()?;
    Ok(Json(RunPage { items, next_cursor: page.next_cursor }))
}
