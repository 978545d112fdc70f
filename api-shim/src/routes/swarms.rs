//! Swarms: started for agents, read and dismissed by whoever may read and change the agent
//! that started them.

mod dismiss;
mod get;
mod list;
mod spawn;

use foundry_crds::Swarm;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{app::App, authz::Action, extract::Caller, problem::Problem};

pub fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(spawn::spawn_swarm, list::list_swarms))
        .routes(routes!(get::get_swarm))
        .routes(routes!(dismiss::dismiss_swarm))
}

/// Decides an action on the agent that started this swarm, and gives the swarm as the
/// cluster has it now.
async fn authorize(app: &App, caller: &Caller, action: Action, id: &str) -> Result<Swarm, Problem> {
    let swarm: Option<Swarm> = app.cluster.read(&caller.0.workspace, id).await?;
    let swarm = swarm.ok_or_else(|| Problem::not_found("swarm", id))?;
    app.authorize_agent(caller, action, &swarm.spec.parent).await?;
    Ok(swarm)
}
