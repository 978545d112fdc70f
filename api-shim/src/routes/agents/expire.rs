//! `POST /v1/agents/{id}/expire`.

use axum::{
    Json,
    extract::{Path, State},
};
use foundry_client::{AgentView, Problem as ProblemDocument};

use super::perform;
use crate::{agents::verbs::Verb, app::App, authz::Action, extract::Caller, problem::Problem};

/// Ends an agent: status and desired state in one write (ROUTE-07).
#[utoipa::path(
    post, path = "/v1/agents/{id}/expire", tag = "agents",
    params(("id" = String, Path, description = "the agent")),
    responses(
        (status = 200, body = AgentView),
        (status = 404, body = ProblemDocument),
        (status = 409, body = ProblemDocument, description = "the agent is archived"),
        (status = 503, body = ProblemDocument, description = "the cluster refused; its words are in the detail"),
    )
)]
pub async fn expire_agent(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<AgentView>, Problem> {
    perform(&app, &caller, Action::ExpireAgent, Verb::Expire, &id).await
}
