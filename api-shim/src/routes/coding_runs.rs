//! Coding runs: spawned by agents, read by whoever may read them.

mod get;
mod list;
mod report;
mod spawn;

use foundry_client::CodingRunView;
use foundry_crds::{Agent, CodingRun};
use foundry_store::AgentKey;
use kube::ResourceExt;
use utoipa_axum::{router::OpenApiRouter, routes};

use crate::{
    app::App,
    coding_runs::{
        owns,
        reported::Rows,
        view::{self, Task},
    },
    problem::Problem,
};

pub fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(list::list_coding_runs))
        .routes(routes!(get::get_coding_run))
        .routes(routes!(spawn::spawn_coding_agent))
        .routes(routes!(report::report_coding))
}

/// The run with what the rows of its agent say.
async fn show(app: &App, run: &CodingRun, agent: Option<&Agent>) -> Result<CodingRunView, Problem> {
    let task = match agent.filter(|agent| owns(run, agent)) {
        None => Task::Status,
        Some(agent) => {
            let key = AgentKey::new(run.namespace().unwrap_or_default(), run.name_any());
            match Rows::read(&app.store, &key, agent).await? {
                Some(rows) => Task::Rows(Box::new(rows)),
                None => Task::Begins,
            }
        }
    };
    Ok(view::of(run, task))
}
