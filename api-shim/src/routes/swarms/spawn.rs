//! `POST /v1/agents/{id}/swarms`.

use std::collections::BTreeMap;

use axum::{
    Json,
    extract::{Path, State},
};
use foundry_client::{Problem as ProblemDocument, SpawnSwarm, SwarmView};
use foundry_crds::{Harness, Swarm};
use http::StatusCode;
use kube::ResourceExt;

use crate::{
    app::App,
    authz::Action,
    cluster::ClusterError,
    extract::{Caller, Payload},
    identity::Actor,
    problem::Problem,
    routes::agents::find_harness,
    swarms::{
        draft::{self, Asking, Workspace},
        view,
    },
};

/// Starts a swarm for an agent: its members are ephemeral agents of names `{swarm}-{member}`
/// that act as the agent's owner and whose roles are the agent's, made by the operator
/// (SWARM-01, SWARM-02). The agent's own process needs the grant `spawn_swarm`, and hands on
/// only what the agent has; whoever may edit the agent may start one for it.
#[utoipa::path(
    post, path = "/v1/agents/{id}/swarms", tag = "swarms",
    params(("id" = String, Path, description = "the agent that starts it")),
    request_body = SpawnSwarm,
    responses(
        (status = 201, body = SwarmView),
        (status = 403, body = ProblemDocument, description = "not allowed, or the agent has not what it hands on"),
        (status = 404, body = ProblemDocument, description = "no such agent, or no such harness"),
        (status = 409, body = ProblemDocument, description = "the agent is ephemeral or not in use, or the name or key is taken"),
        (status = 422, body = ProblemDocument, description = "a field is wrong; nothing was written"),
    )
)]
pub async fn spawn_swarm(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    payload: Payload,
) -> Result<(StatusCode, Json<SwarmView>), Problem> {
    let parent = app.authorize_agent(&caller, Action::SpawnSwarm, &id).await?;
    let request: SpawnSwarm = payload.parse()?;
    let name = &caller.0.workspace;
    let own = find_harness(&app, name, &parent.spec.harness).await?;
    let asking = match &caller.0.actor {
        Actor::Agent { .. } => Asking::Itself(own.as_ref()),
        Actor::Person { .. } | Actor::Service { .. } => Asking::Editor,
    };
    let workspace = look_up(&app, name, &request).await?;
    let replay = match &request.idempotency_key {
        Some(key) => format!("swarm key {key}"),
        None => format!("swarm once {}", foundry_store::row_id(app.clock.now())),
    };
    let swarm = draft::create(&request, &parent, asking, &workspace, &replay)?;
    let created = match app.cluster.create_swarm(&swarm).await {
        Ok(created) => created,
        Err(error) if error.status().is_some_and(kube::core::Status::is_already_exists) => {
            earlier(&app, &request, &swarm, error).await?
        }
        Err(error) => return Err(error.into_problem()),
    };
    Ok((StatusCode::CREATED, Json(view::of(&created))))
}

/// What a request names, as far as it is there.
async fn look_up(app: &App, name: &str, request: &SpawnSwarm) -> Result<Workspace, Problem> {
    let mut workspace = Workspace {
        harnesses: BTreeMap::new(),
        models: app.cluster.models.select(name, |model| Some(model.clone())),
        tool_servers: app.tool_servers(name),
    };
    // More of them than admission lets in are refused without a look.
    for member in request.members.iter().take(draft::MAX_MEMBERS) {
        let id = draft::harness_id(member);
        if workspace.harnesses.contains_key(id) {
            continue;
        }
        let harness: Option<Harness> = find_harness(app, name, id).await?;
        workspace.harnesses.extend(harness.map(|harness| (id.to_owned(), harness)));
    }
    Ok(workspace)
}

/// What the same request made before. Without a key nobody said that it is the same.
async fn earlier(
    app: &App,
    request: &SpawnSwarm,
    asked: &Swarm,
    error: ClusterError,
) -> Result<Swarm, Problem> {
    let workspace = asked.namespace().unwrap_or_default();
    let there: Option<Swarm> = app.cluster.read(&workspace, &asked.name_any()).await?;
    match there {
        Some(there) if request.idempotency_key.is_some() && is_same(&there, asked) => Ok(there),
        Some(_) if request.id.is_some() => {
            Err(error.into_problem().field("id").remedy("choose another id"))
        }
        Some(_) => {
            let detail = "the idempotency key was used for another swarm";
            Err(Problem::conflict("KeyReused", detail)
                .field("idempotency_key")
                .remedy("send another key for another swarm"))
        }
        None => Err(error.into_problem()),
    }
}

/// Whether two swarms are about the same, whatever became of the first since.
fn is_same(there: &Swarm, asked: &Swarm) -> bool {
    let about = |swarm: &Swarm| {
        let spec = &swarm.spec;
        (spec.parent.clone(), spec.goal.clone(), spec.members.clone(), spec.ttl())
    };
    about(there) == about(asked)
}
