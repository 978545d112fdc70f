//! `GET /openapi.json`.

use std::sync::LazyLock;

use axum::response::IntoResponse;
use http::header;

/// Built once: anybody may ask, without a credential.
static DOCUMENT: LazyLock<String> = LazyLock::new(crate::app::openapi);

/// This document.
#[utoipa::path(
    get, path = "/openapi.json", tag = "system", security(()),
    responses((status = 200, body = serde_json::Value))
)]
pub async fn openapi() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], DOCUMENT.as_str())
}
