//! `POST /v1/swarms/{id}/dismiss`.

use axum::{
    Json,
    extract::{Path, State},
};
use foundry_client::{Problem as ProblemDocument, SwarmView};
use foundry_crds::Swarm;

use super::authorize;
use crate::{
    app::App, authz::Action, cluster::apply::ApplyError, extract::Caller, problem::Problem,
    swarms::view,
};

/// How often a dismissal is written anew because the swarm changed between read and write.
const ATTEMPTS: usize = 6;

/// Dismisses a swarm: the operator expires every active member (SWARM-04). A swarm that is
/// dismissed stays so, and dismissing it again changes nothing.
#[utoipa::path(
    post, path = "/v1/swarms/{id}/dismiss", tag = "swarms",
    params(("id" = String, Path, description = "the swarm")),
    responses(
        (status = 200, body = SwarmView),
        (status = 404, body = ProblemDocument),
        (status = 409, body = ProblemDocument, description = "Git owns the field"),
    )
)]
pub async fn dismiss_swarm(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<SwarmView>, Problem> {
    let mut read = authorize(&app, &caller, Action::DismissSwarm, &id).await?;
    for _ in 0..ATTEMPTS {
        if read.spec.is_dismissed() {
            return Ok(Json(view::of(&read)));
        }
        match app.cluster.dismiss_swarm(&read).await {
            Ok(written) => return Ok(Json(view::of(&written))),
            Err(ApplyError::Stale) => read = again(&app, &caller, &read, &id).await?,
            Err(error) => return Err(error.into_problem()),
        }
    }
    Err(ApplyError::Stale.into_problem())
}

/// The same swarm as it is now; another one of its name was not meant.
async fn again(app: &App, caller: &Caller, read: &Swarm, id: &str) -> Result<Swarm, Problem> {
    let now: Option<Swarm> = app.cluster.read(&caller.0.workspace, id).await?;
    now.filter(|now| now.metadata.uid == read.metadata.uid)
        .ok_or_else(|| Problem::not_found("swarm", id))
}
