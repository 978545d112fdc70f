//! `POST /v1/agents/{id}/inbox`.

use axum::{
    Json,
    extract::{Path, State},
};
use foundry_client::{Problem as ProblemDocument, RecordWake, Wake};
use foundry_crds::{Agent, agent::Lifetime};
use foundry_store::{AgentKey, NewWake};
use http::StatusCode;
use kube::ResourceExt;

use crate::{
    agents,
    app::App,
    authz::Action,
    extract::{Caller, Payload},
    identity::Actor,
    problem::Problem,
};

/// Longest word for where a wake comes from, and longest key.
const MAX_WORD: usize = 200;
/// Longest text of a wake.
const MAX_TEXT: usize = 64 * 1024;

/// Records a wake. It is kept whether the agent runs or not (LIFE-17), until a run
/// record names it. An ephemeral agent that is over is not brought back: its wake goes to
/// the persistent agent at the top of its parents, and so does every later one of its
/// threads, also when the ephemeral agent is deleted (LIFE-18).
#[utoipa::path(
    post, path = "/v1/agents/{id}/inbox", tag = "inbox",
    params(("id" = String, Path, description = "the agent")),
    request_body = RecordWake,
    responses(
        (status = 201, body = Wake),
        (status = 404, body = ProblemDocument),
        (status = 422, body = ProblemDocument),
    )
)]
pub async fn record_wake(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    payload: Payload,
) -> Result<(StatusCode, Json<Wake>), Problem> {
    let (wake, above) = match app.authorize_agent(&caller, Action::RecordWake, &id).await {
        Ok(agent) => (read(&payload)?, in_its_place(&app, &caller, agent).await?),
        Err(problem) if problem.status() == StatusCode::NOT_FOUND => {
            linked(&app, &caller, &id, &payload).await?.ok_or(problem)?
        }
        Err(problem) => return Err(problem),
    };
    let (key, now) = (AgentKey::new(&caller.0.workspace, &id), app.clock.now());
    let recorded = match above {
        None => {
            let recorded = app.store.record_wake(&key, &wake, now).await?;
            app.bells.ring(&key);
            recorded
        }
        Some(above) => {
            let recorded = app.store.hand_on_wake(&key, &above, &wake, now).await?;
            app.bells.ring(&AgentKey::new(&caller.0.workspace, above));
            recorded
        }
    };
    Ok((StatusCode::CREATED, Json(super::wake(recorded)?)))
}

/// The agent that gets the wakes of this one, when this one is over.
async fn in_its_place(app: &App, caller: &Caller, agent: Agent) -> Result<Option<String>, Problem> {
    if agent.spec.lifetime() == Lifetime::Persistent {
        return Ok(None);
    }
    // What the cache has may be older than the agent's end.
    let workspace = &caller.0.workspace;
    let agent = app.cluster.read_agent(workspace, &agent.name_any()).await?;
    if !agents::is_over(&agent) {
        return Ok(None);
    }
    let above = app.authorizer.persistent_above(&app.cluster, workspace, &agent).await;
    let Some(above) = above.map(|above| above.name_any()) else { return Ok(None) };
    // An agent that is over, or one that speaks to its own, must not wake whom it may not
    // wake itself; whoever else may wake an agent may wake the one above it.
    let may_go_on = match &caller.0.actor {
        Actor::Agent { .. } => may_wake(app, caller, &above).await?,
        Actor::Person { .. } | Actor::Service { .. } => true,
    };
    Ok(may_go_on.then_some(above))
}

/// Whether a caller may wake this agent, and is not that agent: nobody wakes itself by what
/// it says to another.
async fn may_wake(app: &App, caller: &Caller, above: &str) -> Result<bool, Problem> {
    if matches!(&caller.0.actor, Actor::Agent { id, .. } if id == above) {
        return Ok(false);
    }
    match app.authorize_agent(caller, Action::RecordWake, above).await {
        Ok(_) => Ok(true),
        Err(problem) if problem.status().is_client_error() => Ok(false),
        Err(problem) => Err(problem),
    }
}

/// A wake for an agent that is deleted, and the agent that its thread was linked to; a
/// caller who may not wake that one learns nothing of it.
async fn linked(
    app: &App,
    caller: &Caller,
    id: &str,
    payload: &Payload,
) -> Result<Option<(NewWake, Option<String>)>, Problem> {
    let Ok(wake) = read(payload) else { return Ok(None) };
    let Some(thread) = &wake.thread_id else { return Ok(None) };
    let key = AgentKey::new(&caller.0.workspace, id);
    let Some(above) = app.store.thread_holder(&key, thread).await? else { return Ok(None) };
    let may_go_on = may_wake(app, caller, &above).await?;
    Ok(may_go_on.then_some((wake, Some(above))))
}

fn read(payload: &Payload) -> Result<NewWake, Problem> {
    let request: RecordWake = payload.parse()?;
    check(&request)?;
    let RecordWake { source, text, message_id, thread_id, idempotency_key } = request;
    Ok(NewWake { source, text, message_id, thread_id, idempotency_key })
}

fn check(request: &RecordWake) -> Result<(), Problem> {
    if request.source.trim().is_empty() {
        return Err(Problem::invalid("source", "Empty", "source is empty"));
    }
    let word = |field: &Option<String>| field.as_ref().map_or(0, String::len);
    let lengths = [
        ("source", request.source.len(), MAX_WORD),
        ("text", word(&request.text), MAX_TEXT),
        ("message_id", word(&request.message_id), MAX_WORD),
        ("thread_id", word(&request.thread_id), MAX_WORD),
        ("idempotency_key", word(&request.idempotency_key), MAX_WORD),
    ];
    match lengths.into_iter().find(|(_, length, limit)| length > limit) {
        None => Ok(()),
        Some((field, _, limit)) => {
            let detail = format!("{field} is longer than {limit} bytes");
            Err(Problem::invalid(field, "TooLong", detail))
        }
    }
}
