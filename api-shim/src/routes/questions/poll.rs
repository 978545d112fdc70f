//! `GET /v1/agents/{id}/questions/{question_id}/answer`.

use std::time::Duration;

use axum::{
    Json,
    extract::{Path, State},
};
use foundry_client::{AnswerPoll, MAX_ANSWER_WAIT_SECONDS, Problem as ProblemDocument};
use foundry_store::{AgentStart, Question};
use serde::Deserialize;
use tokio::time::Instant;
use utoipa::IntoParams;
use uuid::Uuid;

use super::{closed, question_id, unknown};
use crate::{
    app::App,
    authz::Action,
    coding_runs::{start, view::answer_view},
    extract::{Caller, Params},
    problem::Problem,
};

/// How often the store is asked while no bell rings: the answer may have come to another
/// replica.
const LOOK: Duration = Duration::from_secs(1);

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct PollQuery {
    /// How long to hold the request open while there is no answer; 12 at most.
    wait_seconds: Option<u64>,
}

/// Waits a while for the answer to a question.
#[utoipa::path(
    get, path = "/v1/agents/{id}/questions/{question_id}/answer", tag = "coding",
    params(
        ("id" = String, Path, description = "the agent"),
        ("question_id" = String, Path, description = "the question"),
        PollQuery,
    ),
    responses(
        (status = 200, body = AnswerPoll),
        (status = 404, body = ProblemDocument),
        (status = 409, body = ProblemDocument, description = "the question is closed without an answer"),
    )
)]
pub async fn poll_answer(
    State(app): State<App>,
    caller: Caller,
    Path((id, question)): Path<(String, String)>,
    params: Params,
) -> Result<Json<AnswerPoll>, Problem> {
    let agent = app.authorize_agent(&caller, Action::PollAnswer, &id).await?;
    let query: PollQuery = params.parse()?;
    let question = question_id(&question)?;
    let present = start::present(&caller.0.workspace, &agent);
    let most = MAX_ANSWER_WAIT_SECONDS;
    let seconds = query.wait_seconds.unwrap_or(most).min(most);
    let deadline = Instant::now() + Duration::from_secs(seconds);
    let bell = app.answer_bells.listen(&present.key);
    loop {
        // Listening begins before the look, or a ring between the two would be missed.
        let mut rung = std::pin::pin!(bell.notified());
        rung.as_mut().enable();
        let answer = look(&app, &present, question).await?;
        let over = Instant::now() >= deadline || app.shutdown.is_cancelled();
        if answer.answer.is_some() || over {
            return Ok(Json(answer));
        }
        let look = deadline.min(Instant::now() + LOOK);
        tokio::select! {
            () = rung => {}
            () = tokio::time::sleep_until(look) => {}
            () = app.shutdown.cancelled() => {}
        }
    }
}

async fn look(app: &App, present: &AgentStart, id: Uuid) -> Result<AnswerPoll, Problem> {
    let found = app.store.question(&present.key, &present.uid, id).await?;
    let question = found.ok_or_else(|| unknown(&id.to_string()))?;
    if let Some(answer) = answer_view(&question) {
        return Ok(AnswerPoll { answer: Some(answer) });
    }
    // As it is by now: the agent may have ended while this request is held open.
    let agent = app.cluster.find_agent(&present.key.namespace, &present.key.agent).await?;
    start::waits(&agent).map_err(closed)?;
    if is_over(&question, start::newest(&agent)) {
        return Err(closed("its task has ended, or a later start has begun"));
    }
    Ok(AnswerPoll { answer: None })
}

fn is_over(question: &Question, newest: i64) -> bool {
    question.closed_at.is_some() || question.generation < newest
}
