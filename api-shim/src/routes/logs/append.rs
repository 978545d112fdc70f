//! `POST /v1/agents/{id}/logs`.

use axum::{
    Json,
    extract::{Path, State},
};
use foundry_client::{
    LogAppended, LogEvent, LogLevel, MAX_LOG_EVENTS, PostLogs, Problem as ProblemDocument,
};

use crate::{
    app::App,
    authz::Action,
    extract::{Caller, Payload},
    problem::Problem,
};

/// Kind of the lines that name a plan's document.
const PLAN: &str = "plan";
/// Longest word for an event's kind.
const MAX_KIND: usize = 64;

/// Appends events to an agent's log, all or none; those whose id is there already are
/// left out (ROUTE-11).
#[utoipa::path(
    post, path = "/v1/agents/{id}/logs", tag = "logs",
    params(("id" = String, Path, description = "the agent")),
    request_body = PostLogs,
    responses(
        (status = 200, body = LogAppended),
        (status = 404, body = ProblemDocument),
        (status = 413, body = ProblemDocument),
        (status = 422, body = ProblemDocument),
    )
)]
pub async fn append_logs(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
    payload: Payload,
) -> Result<Json<LogAppended>, Problem> {
    let key = app.authorize_rows(&caller, Action::AppendLogs, &id).await?;
    let PostLogs { events } = payload.parse()?;
    if events.len() > MAX_LOG_EVENTS {
        let detail = format!("{} events in one post; the limit is {MAX_LOG_EVENTS}", events.len());
        return Err(Problem::invalid("events", "TooMany", detail));
    }
    let plans = events.iter().any(|event| event.kind == PLAN);
    let rows = events.into_iter().map(row).collect::<Result<Vec<_>, _>>()?;
    let appended = app.store.append_log_events(&key, &rows, app.clock.now()).await?;
    if plans {
        app.reporter.request(&key).await?;
    }
    Ok(Json(LogAppended {
        accepted: usize::try_from(appended.accepted).unwrap_or(0),
        last_sequence: appended.last_sequence,
    }))
}

fn row(event: LogEvent) -> Result<foundry_store::LogEvent, Problem> {
    let LogEvent { id, at, kind, level, message, data } = event;
    if kind.is_empty() || kind.len() > MAX_KIND {
        let detail = format!("an event's kind is empty or longer than {MAX_KIND} bytes");
        return Err(Problem::invalid("events.kind", "NotAWord", detail));
    }
    let level = match level {
        LogLevel::Debug => "debug",
        LogLevel::Info => "info",
        LogLevel::Warn => "warn",
        LogLevel::Error => "error",
    };
    Ok(foundry_store::LogEvent { id, at, kind, level: level.to_owned(), message, data })
}
