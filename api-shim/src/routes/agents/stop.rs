//! `POST /v1/agents/{id}/stop`.

use axum::{
    Json,
    extract::{Path, State},
};
use foundry_client::{AgentView, Problem as ProblemDocument};

use super::perform;
use crate::{agents::verbs::Verb, app::App, authz::Action, extract::Caller, problem::Problem};

/// Lets an agent rest; it stays active (ROUTE-05).
#[utoipa::path(
    post, path = "/v1/agents/{id}/stop", tag = "agents",
    params(("id" = String, Path, description = "the agent")),
    responses(
        (status = 200, body = AgentView),
        (status = 404, body = ProblemDocument),
        (status = 409, body = ProblemDocument, description = "Git owns the field"),
        (status = 503, body = ProblemDocument, description = "the cluster refused; its words are in the detail"),
    )
)]
pub async fn stop_agent(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<AgentView>, Problem> {
    perform(&app, &caller, Action::StopAgent, Verb::Stop, &id).await
}
