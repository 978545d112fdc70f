//! `POST /v1/agents/{id}/plans`.

use axum::{
    Json,
    extract::{Path, State},
};
use foundry_client::{MAX_PLAN_BYTES, Problem as ProblemDocument, SavePlan, SavedPlan};
use http::StatusCode;

use crate::{
    app::App,
    authz::Action,
    documents::Documents,
    extract::{Caller, Payload},
    problem::Problem,
};

/// Stores a plan as a document (CODE-29). The same text again is the same document.
#[utoipa::path(
    post, path = "/v1/agents/{id}/plans", tag = "coding",
    params(("id" = String, Path, description = "the agent")),
    request_body = SavePlan,
    responses(
        (status = 201, body = SavedPlan),
        (status = 404, body = ProblemDocument),
        (status = 409, body = ProblemDocument, description = "a later start has begun, or the task has ended"),
        (status = 413, body = ProblemDocument),
        (status = 422, body = ProblemDocument),
        (status = 503, body = ProblemDocument, description = "document storage does not serve"),
    )
)]
pub async fn save_plan(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    payload: Payload,
) -> Result<(StatusCode, Json<SavedPlan>), Problem> {
    let agent = app.authorize_agent(&caller, Action::SavePlan, &id).await?;
    let SavePlan { generation, markdown } = payload.parse()?;
    if markdown.trim().is_empty() {
        return Err(Problem::invalid("markdown", "Empty", "the plan is empty"));
    }
    if markdown.len() > MAX_PLAN_BYTES {
        let detail = format!("the plan is longer than {MAX_PLAN_BYTES} bytes");
        return Err(Problem::invalid("markdown", "TooLong", detail));
    }
    let (start, _) = app.start_of(&caller, agent, generation).await?;
    let plan = Documents::plan(&start.key.namespace, &id, &start.uid, &markdown);
    // Bytes that no row speaks of would be nobody's to delete.
    app.store.check_plan(&start, &plan, app.clock.now()).await?;
    app.documents.store(&plan, markdown.into()).await?;
    app.store.save_plan(&start, &plan, app.clock.now()).await?;
    app.run_reporter.ring();
    let location = format!("documents:{}", plan.id); // CODE-30
    Ok((
        StatusCode::CREATED,
        Json(SavedPlan { document_id: plan.id, sha256: plan.sha256, location }),
    ))
}
