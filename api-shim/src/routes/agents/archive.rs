//! `POST /v1/agents/{id}/archive`.

use axum::{
    Json,
    extract::{Path, State},
};
use foundry_client::{AgentView, Problem as ProblemDocument};

use super::perform;
use crate::{agents::verbs::Verb, app::App, authz::Action, extract::Caller, problem::Problem};

/// Puts an agent away for good; no harness of it is left running (ROUTE-08).
#[utoipa::path(
    post, path = "/v1/agents/{id}/archive", tag = "agents",
    params(("id" = String, Path, description = "the agent")),
    responses(
        (status = 200, body = AgentView),
        (status = 404, body = ProblemDocument),
        (status = 409, body = ProblemDocument, description = "Git owns the field"),
        (status = 503, body = ProblemDocument, description = "the cluster refused; its words are in the detail"),
    )
)]
pub async fn archive_agent(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<AgentView>, Problem> {
    perform(&app, &caller, Action::ArchiveAgent, Verb::Archive, &id).await
}
