//! `GET /v1/agents/{id}/plans/{document_id}`.

use axum::{
    Json,
    extract::{Path, State},
};
use foundry_client::{DocumentLink, Problem as ProblemDocument};
use http::{HeaderMap, header, uri::Authority};

use crate::{app::App, authz::Action, documents::plan_of, extract::Caller, problem::Problem};

/// Gives an address where this agent's plan can be read for five minutes. 404 unless
/// the document is a coding plan of this very agent (ROUTE-13).
#[utoipa::path(
    get, path = "/v1/agents/{id}/plans/{document_id}", tag = "coding",
    params(
        ("id" = String, Path, description = "the agent"),
        ("document_id" = String, Path, description = "the plan's document"),
    ),
    responses(
        (status = 200, body = DocumentLink),
        (status = 404, body = ProblemDocument),
        (status = 503, body = ProblemDocument, description = "document storage does not serve"),
    )
)]
pub async fn get_plan_link(
    State(app): State<App>,
    caller: Caller,
    Path((id, document_id)): Path<(String, String)>,
    headers: HeaderMap,
) -> Result<Json<DocumentLink>, Problem> {
    app.authorize_agent(&caller, Action::ReadPlan, &id).await?;
    let workspace = &caller.0.workspace;
    let document = app
        .store
        .referenced_document(workspace, &document_id, &plan_of(&id))
        .await?
        .ok_or_else(|| Problem::not_found("plan", &document_id))?;
    let base = base(&app, &headers);
    let (url, expires_at) = app.documents.link(&document, &base, app.clock.now()).await?;
    Ok(Json(DocumentLink { document_id, url, expires_at }))
}

/// Where the reader reaches this API: as configured, or as this request did.
fn base(app: &App, headers: &HeaderMap) -> String {
    if let Some(url) = &app.public_url {
        return url.trim_end_matches('/').to_owned();
    }
    let host = headers.get(header::HOST).and_then(|host| host.to_str().ok());
    match host.and_then(|host| host.parse::<Authority>().ok()) {
        Some(host) => format!("http://{host}"),
        None => String::new(),
    }
}
