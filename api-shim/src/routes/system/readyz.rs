//! `GET /readyz`.

use std::time::Duration;

use axum::extract::State;
use foundry_client::Problem as ProblemDocument;

use crate::{app::App, problem::Problem};

/// How long a check may take.
const CHECK: Duration = Duration::from_secs(2);

/// Says whether this API can serve, and names the check that fails.
#[utoipa::path(
    get, path = "/readyz", tag = "system", security(()),
    responses(
        (status = 200, body = String, content_type = "text/plain"),
        (status = 503, body = ProblemDocument, description = "the failing check is named"),
    )
)]
pub async fn readyz(State(app): State<App>) -> Result<&'static str, Problem> {
    if app.shutdown.is_cancelled() {
        return Err(not_ready("shutdown: this process is ending".to_owned()));
    }
    let unready = app.cluster.unready();
    if !unready.is_empty() {
        let kinds = unready.join(", ");
        return Err(not_ready(format!("cluster: not listed yet: {kinds}")));
    }
    match tokio::time::timeout(CHECK, app.store.ping()).await {
        Ok(Ok(())) => Ok("ok"),
        Ok(Err(error)) => Err(not_ready(format!("store: {error}"))),
        Err(_) => Err(not_ready("store: no answer in time".to_owned())),
    }
}

fn not_ready(check: String) -> Problem {
    Problem::unavailable("NotReady", check)
}
