//! `GET /metrics`.

use axum::{extract::State, response::IntoResponse};
use http::header;

use crate::{app::App, metrics::CONTENT_TYPE, problem::Problem};

/// What this API counts, as a Prometheus server scrapes it.
#[utoipa::path(
    get, path = "/metrics", tag = "system", security(()),
    responses((status = 200, body = String, content_type = "application/openmetrics-text"))
)]
pub async fn metrics(State(app): State<App>) -> Result<impl IntoResponse, Problem> {
    let text = app.metrics.text().map_err(Problem::bug)?;
    Ok(([(header::CONTENT_TYPE, CONTENT_TYPE)], text))
}
