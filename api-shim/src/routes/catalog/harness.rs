//! `GET /v1/harnesses/{id}`.

use axum::{
    Json,
    extract::{Path, State},
};
use foundry_client::{HarnessView, Problem as ProblemDocument};
use foundry_crds::Harness;

use crate::{app::App, authz::Action, extract::Caller, problem::Problem};

/// What a harness can do.
#[utoipa::path(
    get, path = "/v1/harnesses/{id}", tag = "catalog",
    params(("id" = String, Path, description = "the harness")),
    responses((status = 200, body = HarnessView), (status = 404, body = ProblemDocument))
)]
pub async fn get_harness(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<HarnessView>, Problem> {
    app.authorize(&caller, Action::ReadCatalog)?;
    let harness: Option<Harness> = app.cluster.read(&caller.0.workspace, &id).await?;
    let harness = harness.ok_or_else(|| Problem::not_found("harness", &id))?;
    Ok(Json(HarnessView {
        id,
        tools: harness.spec.tools,
        always_granted: harness.spec.always_granted,
        features: harness.spec.features,
        allows_skills: harness.spec.allows_skills == Some(true),
    }))
}
