//! `GET /v1/swarms/{id}`.

use axum::{
    Json,
    extract::{Path, State},
};
use foundry_client::{Problem as ProblemDocument, SwarmView};

use super::authorize;
use crate::{app::App, authz::Action, extract::Caller, problem::Problem, swarms::view};

/// Reads one swarm as the cluster has it now. Its members are agents, and read as such.
#[utoipa::path(
    get, path = "/v1/swarms/{id}", tag = "swarms",
    params(("id" = String, Path, description = "the swarm")),
    responses((status = 200, body = SwarmView), (status = 404, body = ProblemDocument))
)]
pub async fn get_swarm(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<SwarmView>, Problem> {
    authorize(&app, &caller, Action::ReadSwarms, &id).await.map(|swarm| Json(view::of(&swarm)))
}
