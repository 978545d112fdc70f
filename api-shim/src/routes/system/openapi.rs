//! `GET /openapi.json`.

use axum::response::IntoResponse;
use http::header;

/// This document.
#[utoipa::path(
    get, path = "/openapi.json", tag = "system", security(()),
    responses((status = 200, body = serde_json::Value))
)]
pub async fn openapi() -> impl IntoResponse {
    ([(header::CONTENT_TYPE, "application/json")], crate::app::openapi())
}
