//! `POST /v1/agents/{id}/answer`.

use axum::{
    Json,
    extract::{Path, State},
};
use foundry_client::{Answer, MAX_QUESTION_BYTES, PostAnswer, Problem as ProblemDocument};
use foundry_store::{AgentStart, NewAnswer, Question, QuestionKind};

use super::{closed, unknown};
use crate::{
    app::App,
    authz::Action,
    coding_runs::{start, view::answer_view},
    extract::{Caller, Payload},
    problem::Problem,
};

/// The word that approves a plan (CODE-31).
const BUILD: &str = "build";

/// Answers the question an agent waits on (ROUTE-12). `build` approves a plan by its
/// digest; other words change it. A question has one answer.
#[utoipa::path(
    post, path = "/v1/agents/{id}/answer", tag = "coding",
    params(("id" = String, Path, description = "the agent")),
    request_body = PostAnswer,
    responses(
        (status = 200, body = Answer),
        (status = 403, body = ProblemDocument, description = "only a person who may edit the agent answers"),
        (status = 404, body = ProblemDocument, description = "the agent has asked no such question"),
        (status = 409, body = ProblemDocument, description = "the plan has changed, the question is answered or closed, or several wait"),
        (status = 422, body = ProblemDocument),
    )
)]
pub async fn answer_question(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    payload: Payload,
) -> Result<Json<Answer>, Problem> {
    app.authorize_agent(&caller, Action::AnswerQuestion, &id).await?;
    let request: PostAnswer = payload.parse()?;
    check(&request)?;
    // As it is now: a later start closes what an earlier one asked.
    let agent = app.cluster.read_agent(&caller.0.workspace, &id).await?;
    let present = start::present(&caller.0.workspace, &agent);
    let question = find(&app, &present, &request).await?;
    let answer = judge(request, &question, &caller.0.subject)?;
    if question.answer.is_none() {
        start::waits(&agent).map_err(closed)?;
    }
    let answered =
        app.store.answer_question(&present, question.asked.id, &answer, app.clock.now()).await?;
    app.answer_bells.ring(&present.key);
    app.run_reporter.ring();
    let answer = answer_view(&answered);
    answer.map(Json).ok_or_else(|| Problem::bug("an answer was stored and is not there"))
}

fn check(request: &PostAnswer) -> Result<(), Problem> {
    if request.text.trim().is_empty() {
        return Err(Problem::invalid("text", "Empty", "the answer is empty"));
    }
    if request.text.len() > MAX_QUESTION_BYTES {
        let detail = format!("the answer is longer than {MAX_QUESTION_BYTES} bytes");
        return Err(Problem::invalid("text", "TooLong", detail));
    }
    Ok(())
}

/// The question that is meant: the one that is named, or the one that waits.
async fn find(app: &App, present: &AgentStart, request: &PostAnswer) -> Result<Question, Problem> {
    let (key, uid) = (&present.key, &present.uid);
    if let Some(id) = request.question_id {
        let found = app.store.question(key, uid, id).await?;
        return found.ok_or_else(|| unknown(&id.to_string()));
    }
    let mut open = app.store.open_questions(key, uid, present.generation).await?;
    match (open.pop(), open.len()) {
        (Some(question), 0) => Ok(question),
        (None, _) => Err(Problem::new(
            http::StatusCode::NOT_FOUND,
            "NoQuestion",
            "the agent waits for no answer",
        )),
        (Some(_), others) => {
            let detail = format!("{} questions wait for an answer", others + 1);
            Err(Problem::conflict("SeveralQuestions", detail)
                .field("question_id")
                .remedy("name the one that is meant"))
        }
    }
}

/// What the words mean for this question.
fn judge(request: PostAnswer, question: &Question, by: &str) -> Result<NewAnswer, Problem> {
    let PostAnswer { question_id: _, text, plan_sha256 } = request;
    let by = by.to_owned();
    match question.asked.kind {
        QuestionKind::Question if plan_sha256.is_some() => {
            let detail = "this question is not about a plan";
            Err(Problem::invalid("plan_sha256", "NotAPlan", detail).remedy("leave it away"))
        }
        QuestionKind::Question => Ok(NewAnswer { text, plan_sha256: None, approves: false, by }),
        QuestionKind::Plan => {
            let approves = text.trim().eq_ignore_ascii_case(BUILD);
            if approves && plan_sha256.is_none() {
                let detail = "an approval must name the digest of the plan that was read";
                return Err(Problem::invalid("plan_sha256", "Missing", detail)
                    .remedy("send plan_sha256 as the question names it, after reading the plan"));
            }
            let text = if approves { BUILD.to_owned() } else { text };
            let plan_sha256 = plan_sha256.map(|digest| digest.trim().to_ascii_lowercase());
            Ok(NewAnswer { text, plan_sha256, approves, by })
        }
    }
}

#[cfg(test)]
mod tests {
    use jiff::Timestamp;
    use pretty_assertions::assert_eq;
    use rstest::rstest;
    use uuid::Uuid;

    use super::*;

    fn question(kind: QuestionKind) -> Question {
        Question {
            asked: foundry_store::NewQuestion {
                id: Uuid::nil(),
                kind,
                text: "May I?".to_owned(),
                options: Vec::new(),
                recommended: None,
                plan_sha256: None,
            },
            generation: 1,
            asked_at: Timestamp::UNIX_EPOCH,
            closed_at: None,
            answer: None,
        }
    }

    /// CODE-31
    #[rstest]
    #[case::build("build", true)]
    #[case::in_any_case(" Build\n", true)]
    #[case::words("build it in two steps", false)]
    #[case::other_words("no, first the tests", false)]
    fn only_the_word_build_approves_a_plan(#[case] text: &str, #[case] approves: bool) {
        let request = PostAnswer {
            text: text.to_owned(),
            plan_sha256: Some("AB".to_owned()),
            question_id: None,
        };
        let answer = judge(request, &question(QuestionKind::Plan), "ann").unwrap();
        let text = if approves { "build" } else { text };
        let expected = NewAnswer {
            text: text.to_owned(),
            plan_sha256: Some("ab".to_owned()),
            approves,
            by: "ann".to_owned(),
        };
        assert_eq!(answer, expected);
    }

    /// CODE-31
    #[test]
    fn an_approval_without_a_digest_and_a_digest_without_a_plan_are_refused() {
        let build = PostAnswer { text: "build".to_owned(), ..PostAnswer::default() };
        let problem = judge(build.clone(), &question(QuestionKind::Plan), "ann").unwrap_err();
        assert_eq!((problem.status().as_u16(), problem.reason()), (422, "Missing"));
        let answer = judge(build.clone(), &question(QuestionKind::Question), "ann").unwrap();
        assert!(!answer.approves, "there is nothing to approve");
        let digest = PostAnswer { plan_sha256: Some("ab".to_owned()), ..build };
        let problem = judge(digest, &question(QuestionKind::Question), "ann").unwrap_err();
        assert_eq!((problem.status().as_u16(), problem.reason()), (422, "NotAPlan"));
    }
}
