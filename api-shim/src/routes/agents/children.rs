//! `GET /v1/agents/{id}/children`.

use axum::{
    Json,
    extract::{Path, State},
};
use foundry_client::{AgentPage, Problem as ProblemDocument};

use super::list::page;
use crate::{app::App, authz::Action, extract::Caller, problem::Problem};

/// More agents than one may spawn.
const MAX_CHILDREN: usize = 10_000;

/// Lists every agent that this one spawned, archived ones included (ROUTE-09).
#[utoipa::path(
    get, path = "/v1/agents/{id}/children", tag = "agents",
    params(("id" = String, Path, description = "the parent")),
    responses((status = 200, body = AgentPage), (status = 404, body = ProblemDocument))
)]
pub async fn list_children(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<AgentPage>, Problem> {
    app.authorize_agent(&caller, Action::ListChildren, &id).await?;
    let children = app
        .cluster
        .agents
        .sorted(&caller.0.workspace, |agent| agent.spec.parent.as_deref() == Some(&id));
    page(&app, &caller, children, MAX_CHILDREN).await.map(Json)
}
