//! Agents and their verbs.

mod archive;
mod children;
mod create;
mod edit;
mod expire;
mod get;
mod list;
mod restart;
mod start;
mod stop;

use axum::Json;
use foundry_client::AgentView;
use foundry_crds::{Agent, Harness};
use foundry_store::AgentKey;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    agents::{
        verbs::Verb,
        view::{self, Rows},
    },
    app::App,
    authz::Action,
    coding_runs::run_of,
    extract::Caller,
    problem::Problem,
};

pub fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(create::create_agent, list::list_agents))
        .routes(routes!(get::get_agent, edit::edit_agent))
        .routes(routes!(children::list_children))
        .routes(routes!(start::start_agent))
        .routes(routes!(stop::stop_agent))
        .routes(routes!(restart::restart_agent))
        .routes(routes!(expire::expire_agent))
        .routes(routes!(archive::archive_agent))
}

/// The agent with what its rows say.
async fn show(app: &App, agent: &Agent) -> Result<Json<AgentView>, Problem> {
    let key = AgentKey::new(
        agent.metadata.namespace.clone().unwrap_or_default(),
        agent.metadata.name.clone().unwrap_or_default(),
    );
    let rows = Rows {
        beat: app.store.last_heartbeat(&key).await?,
        plan_document_id: app.store.newest_plan_document(&key).await?,
    };
    Ok(Json(view::of(agent, rows)))
}

/// Authorizes a verb, performs it and shows what came of it.
async fn perform(
    app: &App,
    caller: &Caller,
    action: Action,
    verb: Verb,
    id: &str,
) -> Result<Json<AgentView>, Problem> {
    app.authorize_agent(caller, action, id).await?;
    let agent = app.verbs.perform(verb, &caller.0.workspace, id).await?;
    if run_of(&agent).is_some() {
        // Whoever ends or stops an agent ends its questions.
        app.run_reporter.request(&AgentKey::new(&caller.0.workspace, id)).await?;
    }
    show(app, &agent).await
}

/// The harness of this name, from the cache or, when it is too new for it, from the
/// API server.
pub async fn find_harness(
    app: &App,
    workspace: &str,
    id: &str,
) -> Result<Option<Harness>, Problem> {
    match app.cluster.harnesses.get(workspace, id) {
        Some(harness) => Ok(Some(harness)),
        None => app.cluster.read(workspace, id).await,
    }
}
