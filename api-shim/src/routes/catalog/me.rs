//! `GET /v1/me`.

use axum::{Json, extract::State};
use foundry_client::Me;

use crate::{app::App, authz::Action, extract::Caller, identity::Principal, problem::Problem};

/// Who the caller is to this API.
#[utoipa::path(get, path = "/v1/me", tag = "catalog", responses((status = 200, body = Me)))]
pub async fn me(State(app): State<App>, caller: Caller) -> Result<Json<Me>, Problem> {
    app.authorize(&caller, Action::WhoAmI)?;
    let Principal { subject, workspace, roles, actor } = caller.0;
    Ok(Json(Me { subject, workspace, roles, actor: actor.kind().to_owned() }))
}
