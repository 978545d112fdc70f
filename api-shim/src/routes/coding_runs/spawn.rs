//! `POST /v1/agents/{id}/coding-agents`.

use axum::{
    Json,
    extract::{Path, State},
};
use foundry_client::{CodingRunView, Problem as ProblemDocument, SpawnCodingAgent};
use foundry_crds::{CodingRun, CodingRunSpec, Harness};
use http::StatusCode;
use kube::ResourceExt;

use crate::{
    app::App,
    authz::Action,
    cluster::ClusterError,
    coding_runs::{
        draft,
        view::{self, Task},
    },
    extract::{Caller, Payload},
    identity::Actor,
    problem::Problem,
    routes::agents::find_harness,
};

/// Spawns a coding run for an agent: a task on a repository, carried out by one
/// ephemeral agent of the run's name, which the operator makes (ROUTE-14). It approves
/// its own plan.
#[utoipa::path(
    post, path = "/v1/agents/{id}/coding-agents", tag = "coding",
    params(("id" = String, Path, description = "the agent that spawns")),
    request_body = SpawnCodingAgent,
    responses(
        (status = 201, body = CodingRunView),
        (status = 403, body = ProblemDocument, description = "not allowed, or the agent is not granted spawn_coding_agent"),
        (status = 404, body = ProblemDocument, description = "no such agent, or no such harness"),
        (status = 409, body = ProblemDocument, description = "the agent is not in use, or the key was used for something else"),
        (status = 422, body = ProblemDocument, description = "a field is wrong, or the harness has no repo_scope; nothing was written"),
    )
)]
pub async fn spawn_coding_agent(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    payload: Payload,
) -> Result<(StatusCode, Json<CodingRunView>), Problem> {
    let spawner = app.authorize_agent(&caller, Action::SpawnCodingAgent, &id).await?;
    let request: SpawnCodingAgent = payload.parse()?;
    let workspace = &caller.0.workspace;
    match &caller.0.actor {
        Actor::Agent { .. } => {
            let own = find_harness(&app, workspace, &spawner.spec.harness).await?;
            draft::check_grant(&spawner, own.as_ref())?;
        }
        // A person who may edit the agent could grant it as well.
        Actor::Person { .. } | Actor::Service { .. } => {}
    }
    let harness_id = draft::harness_id(&request);
    let harness: Option<Harness> = find_harness(&app, workspace, harness_id).await?;
    let harness = harness.ok_or_else(|| Problem::not_found("harness", harness_id))?;
    let replay = match &request.idempotency_key {
        Some(key) => format!("key {key}"),
        None => format!("once {}", foundry_store::row_id(app.clock.now())),
    };
    let run = draft::create(&request, &spawner, &harness, &replay)?;
    let created = match app.cluster.create_coding_run(&run).await {
        Ok(created) => created,
        Err(error) if error.status().is_some_and(kube::core::Status::is_already_exists) => {
            earlier(&app, workspace, &run, error).await?
        }
        Err(error) => return Err(refused(error)),
    };
    Ok((StatusCode::CREATED, Json(view::of(&created, Task::Status))))
}

/// What the same request made before; a key that was used for something else is told.
async fn earlier(
    app: &App,
    workspace: &str,
    asked: &CodingRun,
    error: ClusterError,
) -> Result<CodingRun, Problem> {
    let there: Option<CodingRun> = app.cluster.read(workspace, &asked.name_any()).await?;
    match there {
        Some(there) if is_same(&there.spec, &asked.spec) => Ok(there),
        Some(_) => {
            let detail = "the idempotency key was used for another coding run";
            Err(Problem::conflict("KeyReused", detail)
                .field("idempotency_key")
                .remedy("send another key for another run"))
        }
        None => Err(error.into_problem()),
    }
}

/// Whether two runs are about the same, whatever admission added to the first.
fn is_same(there: &CodingRunSpec, asked: &CodingRunSpec) -> bool {
    let about = |spec: &CodingRunSpec| {
        let CodingRunSpec { agent, harness, task, repository, .. } = spec;
        (agent.clone(), harness.clone(), task.clone(), repository.clone())
    };
    about(there) == about(asked)
}

/// Admission names the resource's fields; the caller reads its own.
fn refused(error: ClusterError) -> Problem {
    let problem = error.into_problem();
    match problem.document().field {
        Some(field) => problem.field(field.trim_start_matches("repository.").to_owned()),
        None => problem,
    }
}
