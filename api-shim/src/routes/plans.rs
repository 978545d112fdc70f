//! Plans of coding agents, and the documents that hold them.

mod link;
mod read;
mod save;

use utoipa_axum::{router::OpenApiRouter, routes};

use crate::app::App;

pub fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(save::save_plan))
        .routes(routes!(link::get_plan_link))
        .routes(routes!(read::read_document))
}
