//! `POST /v1/relay/chat/completions`.

use axum::{extract::State, response::Response};
use foundry_client::Problem as ProblemDocument;
use foundry_relay::Wire;
use http::HeaderMap;

use crate::{
    app::App,
    extract::{Caller, Payload},
    problem::Problem,
};

/// Forwards a model call in the form of OpenAI Chat Completions; `model` is `auto` or a wire
/// id. The answer is the provider's own, streamed as it comes.
#[utoipa::path(
    post, path = "/v1/relay/chat/completions", tag = "relay",
    request_body = serde_json::Value,
    responses(
        (status = 200, body = serde_json::Value, description = "the provider's answer"),
        (status = 404, body = ProblemDocument, description = "no such model"),
        (status = 502, body = ProblemDocument, description = "the provider does not answer"),
    )
)]
pub async fn relay_chat_completions(
    State(app): State<App>,
    caller: Caller,
    headers: HeaderMap,
    payload: Payload,
) -> Result<Response, Problem> {
    super::forward(&app, &caller, Wire::OpenAi, &headers, payload).await
}
