//! `POST /v1/agents/{id}/questions`.

use axum::{
    Json,
    extract::{Path, State},
};
use foundry_client::{
    AskQuestion, MAX_OPTION_BYTES, MAX_QUESTION_BYTES, MAX_QUESTION_OPTIONS,
    Problem as ProblemDocument, QuestionKind, QuestionView,
};
use foundry_store::NewQuestion;
use http::StatusCode;

use crate::{
    app::App,
    authz::Action,
    coding_runs::view::question_view,
    extract::{Caller, Payload},
    problem::Problem,
};

/// Length of a digest in hex.
const DIGEST: usize = 64;

/// Asks a person. A question whose id is there already is not asked again.
#[utoipa::path(
    post, path = "/v1/agents/{id}/questions", tag = "coding",
    params(("id" = String, Path, description = "the agent")),
    request_body = AskQuestion,
    responses(
        (status = 201, body = QuestionView),
        (status = 404, body = ProblemDocument),
        (status = 409, body = ProblemDocument, description = "a later start has begun, the task has ended, or the plan is not the newest"),
        (status = 422, body = ProblemDocument),
    )
)]
pub async fn ask_question(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    payload: Payload,
) -> Result<(StatusCode, Json<QuestionView>), Problem> {
    let agent = app.authorize_agent(&caller, Action::AskQuestion, &id).await?;
    let request: AskQuestion = payload.parse()?;
    check(&request)?;
    let (start, _) = app.start_of(&caller, agent, request.generation).await?;
    let AskQuestion { id, generation: _, kind, text, options, recommended, plan_sha256 } = request;
    let kind = match kind {
        QuestionKind::Plan => foundry_store::QuestionKind::Plan,
        QuestionKind::Question => foundry_store::QuestionKind::Question,
    };
    let question = NewQuestion { id, kind, text, options, recommended, plan_sha256 };
    let asked = app.store.ask_question(&start, &question, app.clock.now()).await?;
    app.run_reporter.ring();
    Ok((StatusCode::CREATED, Json(question_view(asked))))
}

fn check(request: &AskQuestion) -> Result<(), Problem> {
    let AskQuestion { id: _, generation: _, kind, text, options, recommended, plan_sha256 } =
        request;
    if text.trim().is_empty() {
        return Err(Problem::invalid("text", "Empty", "the question is empty"));
    }
    let recommended = recommended.as_ref().map_or(0, String::len);
    let option = options.iter().map(String::len).max().unwrap_or(0);
    for (field, length, most) in [
        ("text", text.len(), MAX_QUESTION_BYTES),
        ("recommended", recommended, MAX_QUESTION_BYTES),
        ("options", option, MAX_OPTION_BYTES),
    ] {
        if length > most {
            let detail = format!("{field} is longer than {most} bytes");
            return Err(Problem::invalid(field, "TooLong", detail));
        }
    }
    if options.len() > MAX_QUESTION_OPTIONS {
        let detail = format!("{} options; the limit is {MAX_QUESTION_OPTIONS}", options.len());
        return Err(Problem::invalid("options", "TooMany", detail));
    }
    check_digest(*kind, plan_sha256.as_deref())
}

fn check_digest(kind: QuestionKind, sha256: Option<&str>) -> Result<(), Problem> {
    let is_hex = |byte: u8| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte);
    let (reason, detail) = match (kind, sha256) {
        (QuestionKind::Question, None) => return Ok(()),
        (QuestionKind::Plan, Some(digest))
            if digest.len() == DIGEST && digest.bytes().all(is_hex) =>
        {
            return Ok(());
        }
        (QuestionKind::Plan, Some(_)) => ("NotADigest", "plan_sha256 is no SHA-256 in hex"),
        (QuestionKind::Plan, None) => ("Missing", "a question about a plan must name its digest"),
        (QuestionKind::Question, Some(_)) => ("NotAPlan", "only a question about a plan names one"),
    };
    Err(Problem::invalid("plan_sha256", reason, detail))
}
