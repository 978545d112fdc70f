//! `/healthz`, `/readyz` and `/metrics`.

pub mod health;

use std::time::Duration;

use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::error::Error;
use crate::metrics::Metrics;
use health::Check;
pub use health::{Health, Phase};

/// How often the executor is seen to run.
const BEAT: Duration = Duration::from_secs(1);

/// Binds the address of the probe server.
pub async fn bind(config: &Config) -> Result<TcpListener, Error> {
    TcpListener::bind(config.listen)
        .await
        .map_err(|source| Error::Listen { address: config.listen, source })
}

/// Serves probes and metrics until told to stop.
pub async fn serve(
    listener: TcpListener,
    health: Health,
    metrics: Metrics,
    stop: CancellationToken,
) -> std::io::Result<()> {
    let beating = beat(health.clone());
    let serving = axum::serve(listener, router(health, metrics))
        .with_graceful_shutdown(async move { stop.cancelled().await });
    tokio::select! {
        served = serving => served,
        never = beating => match never {},
    }
}

async fn beat(health: Health) -> std::convert::Infallible {
    loop {
        health.beat();
        tokio::time::sleep(BEAT).await;
    }
}

#[expect(clippy::disallowed_methods, reason = "probes are no part of any OpenAPI document")]
fn router(health: Health, metrics: Metrics) -> Router {
    Router::new()
        .route("/healthz", get(healthz))
        .route("/livez", get(healthz))
        .route("/readyz", get(readyz))
        .with_state(health)
        .route("/metrics", get(move || std::future::ready(metrics_page(&metrics))))
}

async fn healthz(State(health): State<Health>, RawQuery(query): RawQuery) -> Response {
    page("healthz", &health.alive(), query.as_deref())
}

async fn readyz(State(health): State<Health>, RawQuery(query): RawQuery) -> Response {
    page("readyz", &health.ready(), query.as_deref())
}

/// `ok` alone, unless something fails or `?verbose` asks for each check.
fn page(probe: &str, checks: &[Check], query: Option<&str>) -> Response {
    let asks_for_all = query
        .is_some_and(|query| query.split('&').any(|it| it.split('=').next() == Some("verbose")));
    match health::is_well(checks) {
        true if asks_for_all => (StatusCode::OK, health::told(probe, checks)).into_response(),
        true => (StatusCode::OK, "ok\n").into_response(),
        false => (StatusCode::SERVICE_UNAVAILABLE, health::told(probe, checks)).into_response(),
    }
}

fn metrics_page(metrics: &Metrics) -> Response {
    match metrics.encode() {
        Ok(text) => (
            [(header::CONTENT_TYPE, "application/openmetrics-text; version=1.0.0; charset=utf-8")],
            text,
        )
            .into_response(),
        Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
    }
}
