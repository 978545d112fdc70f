//! `GET /v1/agents/{id}/swarms`.

use axum::{
    Json,
    extract::{Path, State},
};
use foundry_client::{Problem as ProblemDocument, SwarmPage};
use foundry_crds::Swarm;

use crate::{
    app::App,
    authz::Action,
    extract::{Caller, Params},
    problem::Problem,
    routes::{DEFAULT_LIMIT, MAX_LIMIT, Paging},
    swarms::view,
};

/// Lists the swarms that an agent started, by id.
#[utoipa::path(
    get, path = "/v1/agents/{id}/swarms", tag = "swarms",
    params(("id" = String, Path, description = "the agent that started them"), Paging),
    responses((status = 200, body = SwarmPage), (status = 404, body = ProblemDocument))
)]
pub async fn list_swarms(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    params: Params,
) -> Result<Json<SwarmPage>, Problem> {
    app.authorize_agent(&caller, Action::ReadSwarms, &id).await?;
    let Paging { limit, cursor } = params.parse()?;
    let limit = limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT) as usize;
    let after = cursor.unwrap_or_default();
    let of_this_agent = |swarm: &Swarm| {
        let later = swarm.metadata.name.as_deref().is_some_and(|name| name > after.as_str());
        later && swarm.spec.parent == id
    };
    let swarms = app.cluster.swarms.sorted(&caller.0.workspace, of_this_agent);
    let mut items = swarms.take(limit + 1).map(|swarm| view::of(&swarm)).collect::<Vec<_>>();
    let more = items.len() > limit;
    items.truncate(limit);
    let next_cursor = items.last().filter(|_| more).map(|last| last.id.clone());
    Ok(Json(SwarmPage { items, next_cursor }))
}
