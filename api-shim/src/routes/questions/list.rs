//! `GET /v1/agents/{id}/questions`.

use axum::{
    Json,
    extract::{Path, State},
};
use foundry_client::{Problem as ProblemDocument, QuestionList};

use crate::{
    app::App,
    authz::Action,
    coding_runs::{start, view::question_view},
    extract::Caller,
    problem::Problem,
};

/// Lists the questions that wait for an answer, oldest first. Those of a start that is
/// over wait no longer.
#[utoipa::path(
    get, path = "/v1/agents/{id}/questions", tag = "coding",
    params(("id" = String, Path, description = "the agent")),
    responses((status = 200, body = QuestionList), (status = 404, body = ProblemDocument))
)]
pub async fn list_questions(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<QuestionList>, Problem> {
    let agent = app.authorize_agent(&caller, Action::ReadQuestions, &id).await?;
    let mut open = Vec::new();
    if start::waits(&agent).is_ok() {
        let present = start::present(&caller.0.workspace, &agent);
        open = app.store.open_questions(&present.key, &present.uid, present.generation).await?;
    }
    Ok(Json(QuestionList { items: open.into_iter().map(question_view).collect() }))
}
