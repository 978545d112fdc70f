//! `POST /v1/agents/{id}/inbox`.

use axum::{
    Json,
    extract::{Path, State},
};
use foundry_client::{Problem as ProblemDocument, RecordWake, Wake};
use foundry_store::NewWake;
use http::StatusCode;

use crate::{
    app::App,
    authz::Action,
    extract::{Caller, Payload},
    problem::Problem,
};

/// Longest word for where a wake comes from, and longest key.
const MAX_WORD: usize = 200;
/// Longest text of a wake.
const MAX_TEXT: usize = 64 * 1024;

/// Records a wake. It is kept whether the agent runs or not (LIFE-17), until a run
/// record names it.
#[utoipa::path(
    post, path = "/v1/agents/{id}/inbox", tag = "inbox",
    params(("id" = String, Path, description = "the agent")),
    request_body = RecordWake,
    responses(
        (status = 201, body = Wake),
        (status = 404, body = ProblemDocument),
        (status = 422, body = ProblemDocument),
    )
)]
pub async fn record_wake(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    payload: Payload,
) -> Result<(StatusCode, Json<Wake>), Problem> {
    let key = app.authorize_rows(&caller, Action::RecordWake, &id).await?;
    let request: RecordWake = payload.parse()?;
    check(&request)?;
    let RecordWake { source, text, message_id, thread_id, idempotency_key } = request;
    let wake = NewWake { source, text, message_id, thread_id, idempotency_key };
    let recorded = app.store.record_wake(&key, &wake, app.clock.now()).await?;
    app.bells.ring(&key);
    Ok((StatusCode::CREATED, Json(super::wake(recorded)?)))
}

fn check(request: &RecordWake) -> Result<(), Problem> {
    if request.source.trim().is_empty() {
        return Err(Problem::invalid("source", "Empty", "source is empty"));
    }
    let word = |field: &Option<String>| field.as_ref().map_or(0, String::len);
    let lengths = [
        ("source", request.source.len(), MAX_WORD),
        ("text", word(&request.text), MAX_TEXT),
        ("message_id", word(&request.message_id), MAX_WORD),
        ("thread_id", word(&request.thread_id), MAX_WORD),
        ("idempotency_key", word(&request.idempotency_key), MAX_WORD),
    ];
    match lengths.into_iter().find(|(_, length, limit)| length > limit) {
        None => Ok(()),
        Some((field, _, limit)) => {
            let detail = format!("{field} is longer than {limit} bytes");
            Err(Problem::invalid(field, "TooLong", detail))
        }
    }
}
