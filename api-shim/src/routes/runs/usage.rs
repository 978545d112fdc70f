//! `GET /v1/agents/{id}/usage`.

use axum::{
    Json,
    extract::{Path, State},
};
use foundry_client::{Problem as ProblemDocument, UsageTotals};

use crate::{app::App, authz::Action, extract::Caller, problem::Problem};

/// What an agent's model calls have used.
#[utoipa::path(
    get, path = "/v1/agents/{id}/usage", tag = "runs",
    params(("id" = String, Path, description = "the agent")),
    responses((status = 200, body = UsageTotals), (status = 404, body = ProblemDocument))
)]
pub async fn read_usage(
    State(app): State<App>,
    caller: Caller,
    Path(id): Path<String>,
) -> Result<Json<UsageTotals>, Problem> {
    let key = app.authorize_rows(&caller, Action::ReadUsage, &id).await?;
    let foundry_store::UsageTotals {
        calls,
        input_tokens,
        output_tokens,
        cache_read_tokens,
        cache_write_tokens,
        cache_savings_micros: _,
        cost_micros,
    } = app.store.usage_totals(&key).await?;
    let count = |count: i64| u64::try_from(count).unwrap_or(0);
    Ok(Json(UsageTotals {
        calls: count(calls),
        input_tokens: count(input_tokens),
        output_tokens: count(output_tokens),
        cache_read_tokens: count(cache_read_tokens),
        cache_write_tokens: count(cache_write_tokens),
        cost_micros,
    }))
}
