//! `GET /v1/agents/{id}/logs`.

use axum::{
    Json,
    extract::{Path, State},
};
use foundry_client::{LogEvent, LogLevel, LogLine, LogPage, Problem as ProblemDocument};
use serde::Deserialize;
use utoipa::IntoParams;

use crate::{
    app::App,
    authz::Action,
    extract::{Caller, Params},
    problem::Problem,
    routes::DEFAULT_LIMIT,
};

#[derive(Deserialize, IntoParams)]
#[into_params(parameter_in = Query)]
pub struct LogQuery {
    /// Lines after this sequence; 0 or nothing begins with the oldest.
    after: Option<i64>,
    /// Lines in the page; 50 by default, 500 at most, fewer where lines are long.
    limit: Option<u32>,
    /// Only lines of this kind.
    kind: Option<String>,
}

/// Reads an agent's log, oldest first, page by page (ROUTE-11).
#[utoipa::path(
    get, path = "/v1/agents/{id}/logs", tag = "logs",
    params(("id" = String, Path, description = "the agent"), LogQuery),
    responses((status = 200, body = LogPage), (status = 404, body = ProblemDocument))
)]
pub async fn read_logs(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    params: Params,
) -> Result<Json<LogPage>, Problem> {
    let key = app.authorize_rows(&caller, Action::ReadLogs, &id).await?;
    let LogQuery { after, limit, kind } = params.parse()?;
    let after = after.unwrap_or(0);
    if after < 0 {
        return Err(Problem::invalid("after", "Negative", "after is below 0"));
    }
    let limit = limit.unwrap_or(DEFAULT_LIMIT);
    let page = app.store.read_log(&key, after, limit, kind.as_deref()).await?;
    Ok(Json(LogPage {
        items: page.lines.into_iter().map(line).collect(),
        next_after: page.next_after,
        oldest: page.oldest,
        reset: page.reset,
    }))
}

fn line(row: foundry_store::LogLine) -> LogLine {
    let foundry_store::LogLine { sequence, event } = row;
    let foundry_store::LogEvent { id, at, kind, level, message, data } = event;
    let level = match level.as_str() {
        "debug" => LogLevel::Debug,
        "warn" => LogLevel::Warn,
        "error" => LogLevel::Error,
        _ => LogLevel::Info,
    };
    LogLine { sequence, event: LogEvent { id, at, kind, level, message, data } }
}
