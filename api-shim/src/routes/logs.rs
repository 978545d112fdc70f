//! The log of an agent.

mod append;
mod read;

use utoipa_axum::{router::OpenApiRouter, routes};

use crate::app::App;

pub fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new().routes(routes!(append::append_logs, read::read_logs))
}
