//! `GET /v1/agents/{id}/queue-errors`.

use axum::{
    Json,
    extract::{Path, State},
};
use foundry_client::Problem as ProblemDocument;
use serde::Deserialize;
use serde_json::Value;
use utoipa::IntoParams;
use utoipa_axum::{router::OpenApiRouter, routes};

use super::agents::find_harness;
use crate::{
    agents::is_granted,
    app::App,
    authz::Action,
    extract::{Caller, Params},
    intelligence::not_configured,
    problem::Problem,
};

/// Catalog tool that this route serves.
const TOOL: &str = "list_queue_errors";
/// Longest name of a queue.
const MAX_QUEUE: usize = 100;
/// Jobs given when a request names no limit, and the most that are.
const DEFAULT_LIMIT: u32 = 20;
const MAX_LIMIT: u32 = 100;

pub fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(list_queue_errors))
}

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct QueueQuery {
    /// Only this queue.
    queue: Option<String>,
    /// Most jobs; 20 by default, 100 at most.
    limit: Option<u32>,
}

/// Reads the dead-letter queue of the intelligence service for an agent that is granted
/// `list_queue_errors`, as the person it acts as (CODE-36). The answer is that service's
/// own.
#[utoipa::path(
    get, path = "/v1/agents/{id}/queue-errors", tag = "tools",
    params(("id" = String, Path, description = "the agent"), QueueQuery),
    responses(
        (status = 200, body = Value),
        (status = 403, body = ProblemDocument, description = "not allowed, not granted, or refused by the service"),
        (status = 404, body = ProblemDocument),
        (status = 503, body = ProblemDocument, description = "the service does not answer, or none is configured"),
    )
)]
pub async fn list_queue_errors(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    params: Params,
) -> Result<Json<Value>, Problem> {
    let agent = app.authorize_agent(&caller, Action::ReadQueueErrors, &id).await?;
    let QueueQuery { queue, limit } = params.parse()?;
    if queue.as_ref().is_some_and(|queue| queue.is_empty() || queue.len() > MAX_QUEUE) {
        let detail = format!("queue is empty or longer than {MAX_QUEUE} bytes");
        return Err(Problem::invalid("queue", "NotAName", detail));
    }
    let harness = find_harness(&app, &caller.0.workspace, &agent.spec.harness).await?;
    if !is_granted(&agent.spec, harness.as_ref(), TOOL) {
        let detail = format!("agent {id:?} is not granted {TOOL}");
        return Err(Problem::forbidden("NotGranted", detail));
    }
    let intelligence = app.intelligence.as_ref().ok_or_else(not_configured)?;
    let limit = limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT);
    intelligence.queue_errors(&agent.spec.owner, queue.as_deref(), limit).await.map(Json)
}
