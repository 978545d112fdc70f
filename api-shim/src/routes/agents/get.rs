//! `GET /v1/agents/{id}`.

use axum::{
    Json,
    extract::{Path, State},
};
use foundry_client::{AgentView, Problem as ProblemDocument};

use super::show;
use crate::{app::App, authz::Action, extract::Caller, problem::Problem};

/// Reads one agent as the cluster has it now, with the document of its newest plan
/// (ROUTE-03).
#[utoipa::path(
    get, path = "/v1/agents/{id}", tag = "agents",
    params(("id" = String, Path, description = "the agent")),
    responses((status = 200, body = AgentView), (status = 404, body = ProblemDocument))
)]
pub async fn get_agent(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<AgentView>, Problem> {
    app.authorize_agent(&caller, Action::ReadAgent, &id).await?;
    let agent = app.cluster.read_agent(&caller.0.workspace, &id).await?;
    show(&app, &agent).await
}
