//! `POST /v1/agents/{id}/runs`.

use axum::{
    Json,
    extract::{Path, State},
};
use foundry_client::{Problem as ProblemDocument, RunRecord};
use foundry_store::Run;
use http::StatusCode;

use crate::{
    app::App,
    authz::Action,
    extract::{Caller, Payload},
    problem::Problem,
};

/// Longest word for why a run happened and how it ended.
const MAX_WORD: usize = 200;

/// Records a run that ended and acknowledges the wake it names, both or neither.
/// Posting the same id again changes nothing.
#[utoipa::path(
    post, path = "/v1/agents/{id}/runs", tag = "runs",
    params(("id" = String, Path, description = "the agent")),
    request_body = RunRecord,
    responses(
        (status = 201, body = RunRecord),
        (status = 404, body = ProblemDocument),
        (status = 422, body = ProblemDocument),
    )
)]
pub async fn record_run(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    payload: Payload,
) -> Result<(StatusCode, Json<RunRecord>), Problem> {
    let key = app.authorize_rows(&caller, Action::RecordRun, &id).await?;
    let record: RunRecord = payload.parse()?;
    let run = row(&record)?;
    app.store.record_run(&key, &run, app.clock.now()).await?;
    Ok((StatusCode::CREATED, Json(record)))
}

fn row(record: &RunRecord) -> Result<Run, Problem> {
    for (field, word) in [("reason", &record.reason), ("outcome", &record.outcome)] {
        if word.is_empty() || word.len() > MAX_WORD {
            let detail = format!("{field} is empty or longer than {MAX_WORD} bytes");
            return Err(Problem::invalid(field, "NotAWord", detail));
        }
    }
    if record.finished_at < record.started_at {
        let detail = "finished_at is before started_at";
        return Err(Problem::invalid("finished_at", "EndsBeforeItStarts", detail));
    }
    let count = |field: &str, tokens: u64| {
        i64::try_from(tokens)
            .map_err(|_| Problem::invalid(field, "TooLarge", format!("{field} is too large")))
    };
    Ok(Run {
        id: record.id,
        wake_id: record.wake_id.map(|id| id.to_string()),
        reason: record.reason.clone(),
        started_at: record.started_at,
        finished_at: record.finished_at,
        turns: i64::from(record.turns),
        input_tokens: count("input_tokens", record.input_tokens)?,
        output_tokens: count("output_tokens", record.output_tokens)?,
        outcome: record.outcome.clone(),
    })
}
