//! `GET /v1/coding-runs`.

use axum::{Json, extract::State};
use foundry_client::CodingRunPage;
use foundry_crds::CodingRun;
use kube::ResourceExt;

use crate::{
    app::App,
    authz::Action,
    extract::{Caller, Params},
    problem::Problem,
    routes::{DEFAULT_LIMIT, MAX_LIMIT, Paging},
};

/// Lists the coding runs that the caller may see, by id.
#[utoipa::path(
    get, path = "/v1/coding-runs", tag = "coding", params(Paging),
    responses((status = 200, body = CodingRunPage))
)]
pub async fn list_coding_runs(
    State(app): State<App>,
    caller: Caller,
    params: Params,
) -> Result<Json<CodingRunPage>, Problem> {
    app.authorize(&caller, Action::ListCodingRuns)?;
    let Paging { limit, cursor } = params.parse()?;
    let limit = limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT) as usize;
    let after = cursor.unwrap_or_default();
    let workspace = &caller.0.workspace;
    let later =
        |run: &CodingRun| run.metadata.name.as_deref().is_some_and(|name| name > after.as_str());
    let mut seen = Vec::new();
    for run in app.cluster.coding_runs.sorted(workspace, later) {
        if app.authorizer.may_see_run(&app.cluster, &caller.0, &run).await {
            seen.push(run);
        }
        if seen.len() > limit {
            break;
        }
    }
    let more = seen.len() > limit;
    seen.truncate(limit);
    let mut items = Vec::with_capacity(seen.len());
    for run in &seen {
        let agent = app.cluster.agents.get(workspace, &run.name_any());
        items.push(super::show(&app, run, agent.as_ref()).await?);
    }
    let next_cursor = items.last().filter(|_| more).map(|last| last.id.clone());
    Ok(Json(CodingRunPage { items, next_cursor }))
}
