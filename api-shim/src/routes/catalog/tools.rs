//! `GET /v1/tools`.

use axum::{Json, extract::State};
use foundry_client::{CatalogTool, Effect, ToolFamily, ToolList};

use crate::{app::App, authz::Action, extract::Caller, problem::Problem};

/// Every tool of the catalog with its name, description and JSON Schema (ROUTE-17).
#[utoipa::path(
    get, path = "/v1/tools", tag = "catalog",
    responses((status = 200, body = ToolList))
)]
pub async fn list_tools(State(app): State<App>, caller: Caller) -> Result<Json<ToolList>, Problem> {
    app.authorize(&caller, Action::ReadCatalog)?;
    let tools = app.store.tools().await?;
    Ok(Json(ToolList { items: tools.into_iter().map(tool).collect() }))
}

fn tool(row: foundry_store::Tool) -> CatalogTool {
    let foundry_store::Tool { name, description, input_schema, family, effect } = row;
    CatalogTool {
        name,
        description,
        input_schema,
        family: match family {
            foundry_store::Family::Agent => ToolFamily::Agent,
            foundry_store::Family::Communications => ToolFamily::Communications,
            foundry_store::Family::Intelligence => ToolFamily::Intelligence,
            foundry_store::Family::Foundry => ToolFamily::Foundry,
            foundry_store::Family::Coding => ToolFamily::Coding,
        },
        effect: match effect {
            foundry_store::Effect::Read => Effect::Read,
            foundry_store::Effect::Write => Effect::Write,
        },
    }
}
