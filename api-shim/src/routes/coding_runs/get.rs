//! `GET /v1/coding-runs/{id}`.

use axum::{
    Json,
    extract::{Path, State},
};
use foundry_client::{CodingRunView, Problem as ProblemDocument};
use foundry_crds::CodingRun;

use crate::{app::App, extract::Caller, problem::Problem};

/// Reads one coding run as the cluster has it now, with what its harness last said.
#[utoipa::path(
    get, path = "/v1/coding-runs/{id}", tag = "coding",
    params(("id" = String, Path, description = "the run")),
    responses((status = 200, body = CodingRunView), (status = 404, body = ProblemDocument))
)]
pub async fn get_coding_run(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<CodingRunView>, Problem> {
    let workspace = &caller.0.workspace;
    let run: Option<CodingRun> = app.cluster.read(workspace, &id).await?;
    let run = run.ok_or_else(|| Problem::not_found("coding run", &id))?;
    app.authorizer.authorize_run(&app.cluster, &caller.0, &id, &run).await?;
    let agent = app.cluster.read(workspace, &id).await?;
    super::show(&app, &run, agent.as_ref()).await.map(Json)
}
