//! `GET /v1/agents`.

use std::collections::HashMap;

use axum::{Json, extract::State};
use foundry_client::AgentPage;
use foundry_crds::{Agent, agent::Lifecycle};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::{
    agents::view::{self, Rows, slug_of},
    app::App,
    authz::Action,
    extract::{Caller, Params},
    problem::Problem,
    routes::{DEFAULT_LIMIT, MAX_LIMIT},
};

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct ListQuery {
    /// Words to find in id, name or slug, in any case.
    q: Option<String>,
    /// Agents in the page; 50 by default, 200 at most.
    limit: Option<u32>,
    /// `next_cursor` of the page before.
    cursor: Option<String>,
}

/// Lists the agents that the caller may see, by id; archived ones are left out
/// (ROUTE-02).
#[utoipa::path(
    get, path = "/v1/agents", tag = "agents", params(ListQuery),
    responses((status = 200, body = AgentPage))
)]
pub async fn list_agents(
    State(app): State<App>,
    caller: Caller,
    params: Params,
) -> Result<Json<AgentPage>, Problem> {
    app.authorize(&caller, Action::ListAgents)?;
    let query: ListQuery = params.parse()?;
    let words = query.q.unwrap_or_default().to_lowercase();
    let wanted =
        |agent: &Agent| agent.spec.lifecycle() != Lifecycle::Archive && matches(agent, &words);
    let after = query.cursor.unwrap_or_default();
    let found = app.cluster.agents.sorted(&caller.0.workspace, |agent| {
        let later = agent.metadata.name.as_deref().is_some_and(|name| name > after.as_str());
        later && wanted(agent)
    });
    let limit = query.limit.unwrap_or(DEFAULT_LIMIT).clamp(1, MAX_LIMIT) as usize;
    page(&app, &caller, found, limit).await.map(Json)
}

/// The first of these agents that the caller may see, with their rows.
pub async fn page(
    app: &App,
    caller: &Caller,
    agents: impl Iterator<Item = Agent>,
    limit: usize,
) -> Result<AgentPage, Problem> {
    let mut seen = Vec::new();
    for agent in agents {
        if app.authorizer.may_see(&app.cluster, &caller.0, &agent).await {
            seen.push(agent);
        }
        if seen.len() > limit {
            break;
        }
    }
    let more = seen.len() > limit;
    seen.truncate(limit);
    let beats = app.store.read_heartbeats(&caller.0.workspace).await?;
    let mut beats =
        beats.into_iter().map(|(key, beat)| (key.agent, beat)).collect::<HashMap<_, _>>();
    let items = seen
        .iter()
        .map(|agent| {
            let beat = agent.metadata.name.as_ref().and_then(|name| beats.remove(name));
            // A list shows the plan as the status has it; the one agent, from its rows.
            view::of(agent, Rows { beat, plan_document_id: None })
        })
        .collect::<Vec<_>>();
    let next_cursor = items.last().filter(|_| more).map(|last| last.id.clone());
    Ok(AgentPage { items, next_cursor })
}

fn matches(agent: &Agent, words: &str) -> bool {
    let name = agent.metadata.name.as_deref().unwrap_or_default();
    let shown = agent.spec.display_name.as_deref().unwrap_or_default().to_lowercase();
    let slug = slug_of(agent);
    words
        .split_whitespace()
        .all(|word| name.contains(word) || shown.contains(word) || slug.contains(word))
}
