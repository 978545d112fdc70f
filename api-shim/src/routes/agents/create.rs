//! `POST /v1/agents`.

use axum::{Json, extract::State};
use foundry_client::{AgentView, CreateAgent, Problem as ProblemDocument};
use foundry_crds::Agent;
use foundry_store::AgentKey;
use http::StatusCode;

use super::find_harness;
use crate::{
    agents::{
        draft::{self, Workspace},
        repository,
        view::{self, Rows, slug_of},
    },
    app::App,
    authz::Action,
    cluster::ClusterError,
    extract::{Caller, Payload},
    problem::Problem,
};

/// Creates an agent of the caller's. It does not run until it is started (ROUTE-01).
#[utoipa::path(
    post, path = "/v1/agents", tag = "agents",
    request_body = CreateAgent,
    responses(
        (status = 201, body = AgentView),
        (status = 409, body = ProblemDocument, description = "the id or slug is taken"),
        (status = 422, body = ProblemDocument, description = "a field is wrong; nothing was written"),
    )
)]
pub async fn create_agent(
    State(app): State<App>,
    caller: Caller,
    payload: Payload,
) -> Result<(StatusCode, Json<AgentView>), Problem> {
    app.authorize(&caller, Action::CreateAgent)?;
    let request: CreateAgent = payload.parse()?;
    let name = &caller.0.workspace;
    let harness = find_harness(&app, name, &request.harness_id).await?;
    let models = app.cluster.models.select(name, |model| Some(model.clone()));
    let tool_servers = app.tool_servers(name);
    let workspace = Workspace { name, harness, models: &models, tool_servers: &tool_servers };
    repository::check_approval(request.repository.as_ref(), None, &caller.0.actor)?;
    let agent = draft::create(request, &caller.0.subject, &workspace)?;

    let slug = slug_of(&agent);
    let id = agent.metadata.name.clone().unwrap_or_default();
    let taken = app.slugs.take(&slug, name, &id).await?;
    match write(&app, name, &id, &agent).await {
        Ok(created) => Ok((StatusCode::CREATED, Json(view::of(&created, Rows::default())))),
        Err(problem) => {
            app.slugs.give_back(taken).await;
            Err(problem)
        }
    }
}

async fn write(app: &App, workspace: &str, id: &str, agent: &Agent) -> Result<Agent, Problem> {
    let there: Option<Agent> = app.cluster.read(workspace, id).await?;
    if there.is_none() {
        // An agent begins with nothing, even when one of its name was deleted while
        // nobody watched.
        let key = AgentKey::new(workspace, id);
        app.store.delete_agent_rows(&key, app.clock.now()).await?;
    }
    app.cluster.create_agent(agent).await.map_err(ClusterError::into_problem)
}
