//! The id of the request that runs on this task.

use axum::{extract::Request, middleware::Next, response::Response};
use foundry_client::REQUEST_ID_HEADER;
use http::HeaderValue;
use tracing::Instrument;
use uuid::Uuid;

/// Longest id accepted from a caller.
const MAX_LENGTH: usize = 128;

tokio::task_local! {
    static CURRENT: String;
}

/// The id of the request being answered, when one is.
pub fn current() -> Option<String> {
    CURRENT.try_with(Clone::clone).ok()
}

/// Takes the caller's id, or makes one, keeps it for the whole request and answers
/// with it.
pub async fn carry(request: Request, next: Next) -> Response {
    let id = request
        .headers()
        .get(REQUEST_ID_HEADER)
        .and_then(|value| value.to_str().ok())
        .filter(|id| is_acceptable(id))
        .map_or_else(|| Uuid::now_v7().to_string(), str::to_owned);
    let span = tracing::info_span!("request", request_id = %id);
    let mut response = CURRENT.scope(id.clone(), next.run(request).instrument(span)).await;
    if let Ok(value) = HeaderValue::from_str(&id) {
        response.headers_mut().insert(REQUEST_ID_HEADER, value);
    }
    response
}

/// An id goes into logs and response headers, so it may hold only harmless characters.
fn is_acceptable(id: &str) -> bool {
    !id.is_empty()
        && id.len() <= MAX_LENGTH
        && id.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.:/".contains(&byte))
}
