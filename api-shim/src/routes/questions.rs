//! What agents ask people.

mod answer;
mod ask;
mod list;
mod poll;

use utoipa_axum::{router::OpenApiRouter, routes};
use uuid::Uuid;

use crate::{app::App, problem::Problem};

pub fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(ask::ask_question, list::list_questions))
        .routes(routes!(poll::poll_answer))
        .routes(routes!(answer::answer_question))
}

/// The question that a path names.
fn question_id(text: &str) -> Result<Uuid, Problem> {
    text.parse().map_err(|_| unknown(text))
}

/// 404: the agent never asked this.
fn unknown(id: &str) -> Problem {
    Problem::new(
        http::StatusCode::NOT_FOUND,
        "UnknownQuestion",
        format!("the agent has asked no question {id:?}"),
    )
    .remedy("read GET /v1/agents/{id}/questions for those that wait")
}

/// 409: an answer would reach nobody.
fn closed(why: &str) -> Problem {
    Problem::conflict("QuestionClosed", format!("nobody waits for this answer: {why}"))
        .remedy("read GET /v1/agents/{id}/questions for those that wait")
}
