//! What there is to choose from: tools, models, harnesses; and who is asking.

mod harness;
mod me;
mod models;
mod tools;

use utoipa_axum::{router::OpenApiRouter, routes};

use crate::app::App;

pub fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(tools::list_tools))
        .routes(routes!(models::list_models))
        .routes(routes!(harness::get_harness))
        .routes(routes!(me::me))
}
