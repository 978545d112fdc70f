//! Health, metrics and the document of all routes: without a credential.

mod livez;
mod metrics;
mod openapi;
mod readyz;

use utoipa_axum::{router::OpenApiRouter, routes};

use crate::app::App;

pub fn router() -> OpenApiRouter<App> {
    OpenApiRouter::new()
        .routes(routes!(livez::livez))
        .routes(routes!(readyz::readyz))
        .routes(routes!(metrics::metrics))
        .routes(routes!(openapi::openapi))
}
