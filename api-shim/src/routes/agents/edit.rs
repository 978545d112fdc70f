//! `PATCH /v1/agents/{id}`.

use axum::{
    Json,
    extract::{Path, State},
};
use foundry_client::{AgentView, EditAgent, Problem as ProblemDocument};
use foundry_crds::{Agent, agent::Lifecycle, meta::manager};

use super::{find_harness, show};
use crate::{
    agents::{
        draft::{self, Workspace},
        repository,
    },
    app::App,
    authz::Action,
    cluster::apply::ApplyError,
    coding_runs,
    extract::{Caller, Payload},
    identity::Principal,
    problem::Problem,
};

/// How often an edit is made anew because the agent changed between read and write.
const ATTEMPTS: usize = 6;

/// Edits an agent. The running process goes on; it reads the edit at its next
/// evaluation (LIFE-16).
#[utoipa::path(
    patch, path = "/v1/agents/{id}", tag = "agents",
    params(("id" = String, Path, description = "the agent")),
    request_body = EditAgent,
    responses(
        (status = 200, body = AgentView),
        (status = 404, body = ProblemDocument),
        (status = 409, body = ProblemDocument, description = "the slug is taken, the agent is archived, or Git owns the field"),
        (status = 422, body = ProblemDocument),
    )
)]
pub async fn edit_agent(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    payload: Payload,
) -> Result<Json<AgentView>, Problem> {
    app.authorize_agent(&caller, Action::EditAgent, &id).await?;
    let edit: EditAgent = payload.parse()?;
    let workspace = &caller.0.workspace;
    let taken = match &edit.slug {
        Some(slug) => Some(app.slugs.take(slug, workspace, &id).await?),
        None => None,
    };
    match write(&app, &caller, &id, &edit).await {
        Ok(agent) => show(&app, &agent).await,
        Err(problem) => {
            if let Some(taken) = taken {
                app.slugs.give_back(taken).await;
            }
            Err(problem)
        }
    }
}

async fn write(app: &App, caller: &Caller, id: &str, edit: &EditAgent) -> Result<Agent, Problem> {
    let Principal { workspace: name, actor, .. } = &caller.0;
    let models = app.cluster.models.select(name, |model| Some(model.clone()));
    let tool_servers = app.tool_servers(name);
    for _ in 0..ATTEMPTS {
        let read = app.cluster.read_agent(name, id).await?;
        if read.spec.lifecycle() == Lifecycle::Archive {
            let detail = format!("agent {id:?} is archived and cannot be edited");
            return Err(Problem::conflict("Archived", detail));
        }
        if coding_runs::run_of(&read).is_some() {
            let detail = format!("agent {id:?} is what its coding run says, and cannot be edited");
            return Err(Problem::conflict("OfACodingRun", detail)
                .remedy("edit the CodingRun, or create another one"));
        }
        if read.spec.swarm.is_some() {
            let detail = format!("agent {id:?} is what its swarm says, and cannot be edited");
            return Err(Problem::conflict("OfASwarm", detail)
                .remedy("edit the member in the Swarm, or start another swarm"));
        }
        let harness_id = edit.harness_id.as_ref().unwrap_or(&read.spec.harness);
        let harness = find_harness(app, name, harness_id).await?;
        let workspace = Workspace { name, harness, models: &models, tool_servers: &tool_servers };
        draft::check_edit(edit, &read.spec, &workspace)?;
        repository::check_approval(edit.repository.as_ref(), Some(&read.spec), actor)?;
        let change = |spec: &mut _| draft::apply_edit(edit.clone(), spec);
        match app.cluster.change_spec(&read, manager::API_EDIT, change).await {
            Ok(written) => return Ok(written),
            Err(ApplyError::Stale) => {}
            Err(error) => return Err(error.into_problem()),
        }
    }
    Err(ApplyError::Stale.into_problem())
}
