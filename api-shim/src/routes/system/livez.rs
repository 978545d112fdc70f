//! `GET /livez`.

/// Answers as long as this process does.
#[utoipa::path(
    get, path = "/livez", tag = "system", security(()),
    responses((status = 200, body = String, content_type = "text/plain"))
)]
pub async fn livez() -> &'static str {
    "ok"
}
