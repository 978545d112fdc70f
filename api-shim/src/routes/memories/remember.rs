//! `POST /v1/agents/{id}/memories`.

use axum::{
    Json,
    extract::{Path, State},
};
use foundry_client::{Memory, Problem as ProblemDocument, Remember};
use foundry_store::{Author, NewMemory, Tier};
use http::StatusCode;

use crate::{
    app::App,
    authz::Action,
    extract::{Caller, Payload},
    identity::{Actor, Principal},
    problem::Problem,
};

/// Longest memory.
const MAX_TEXT: usize = 16 * 1024;

/// Remembers a text: an agent's in its archive, a person's in the core (MEM-04).
#[utoipa::path(
    post, path = "/v1/agents/{id}/memories", tag = "memories",
    params(("id" = String, Path, description = "the agent")),
    request_body = Remember,
    responses(
        (status = 201, body = Memory),
        (status = 404, body = ProblemDocument),
        (status = 422, body = ProblemDocument),
    )
)]
pub async fn remember(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    payload: Payload,
) -> Result<(StatusCode, Json<Memory>), Problem> {
    let key = app.authorize_rows(&caller, Action::Remember, &id).await?;
    let Remember { text } = payload.parse()?;
    if text.trim().is_empty() {
        return Err(Problem::invalid("text", "Empty", "text is empty"));
    }
    if text.len() > MAX_TEXT {
        let detail = format!("text is longer than {MAX_TEXT} bytes");
        return Err(Problem::invalid("text", "TooLong", detail).remedy("remember less at once"));
    }
    let (tier, author) = written_by(&caller.0, &id);
    let memory = NewMemory { text, tier, author };
    let kept = app.store.remember(&key, memory, app.clock.now()).await?;
    Ok((StatusCode::CREATED, Json(super::memory(kept)?)))
}

fn written_by(caller: &Principal, id: &str) -> (Tier, Author) {
    match &caller.actor {
        Actor::Person { .. } => (Tier::Core, Author::Person(caller.subject.clone())),
        // A service that names an agent speaks for it, not for a person at a screen.
        Actor::Agent { .. } | Actor::Service { .. } => {
            (Tier::Archive, Author::Agent(id.to_owned()))
        }
    }
}
