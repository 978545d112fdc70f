//! `/livez`, `/readyz` and `/metrics`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU8, Ordering};

use axum::Router;
use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;

use crate::config::Config;
use crate::error::Error;
use crate::metrics::Metrics;

/// What this operator is doing, as `/readyz` tells it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Phase {
    /// The control plane did not answer, or was not asked yet.
    Asking,
    /// Waiting for the lease: ready to take over.
    Standby,
    /// Leading, and still reading its first lists.
    Reading,
    /// Leading, all caches whole.
    Leading,
    /// Leaving.
    Stopping,
}

/// Shared between the work and the probes.
#[derive(Debug, Clone, Default)]
pub struct Health(Arc<AtomicU8>);

impl Health {
    /// Says what this operator is doing now.
    pub fn set(&self, phase: Phase) {
        let number = match phase {
            Phase::Asking => 0,
            Phase::Standby => 1,
            Phase::Reading => 2,
            Phase::Leading => 3,
            Phase::Stopping => 4,
        };
        self.0.store(number, Ordering::Relaxed);
    }

    /// What this operator is doing.
    pub fn phase(&self) -> Phase {
        match self.0.load(Ordering::Relaxed) {
            0 => Phase::Asking,
            1 => Phase::Standby,
            2 => Phase::Reading,
            3 => Phase::Leading,
            _ => Phase::Stopping,
        }
    }
}

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
    axum::serve(listener, router(health, metrics))
        .with_graceful_shutdown(async move { stop.cancelled().await })
        .await
}

#[expect(clippy::disallowed_methods, reason = "probes are no part of any OpenAPI document")]
fn router(health: Health, metrics: Metrics) -> Router {
    Router::new()
        .route("/livez", get(|| async { "ok\n" }))
        .route("/readyz", get(readyz))
        .with_state(health)
        .route("/metrics", get(move || std::future::ready(metrics_page(&metrics))))
}

async fn readyz(State(health): State<Health>) -> (StatusCode, &'static str) {
    readiness(health.phase())
}

/// Names the check that fails.
fn readiness(phase: Phase) -> (StatusCode, &'static str) {
    match phase {
        Phase::Standby => (StatusCode::OK, "ok: standing by, another operator leads\n"),
        Phase::Leading => (StatusCode::OK, "ok: leading\n"),
        Phase::Asking => (
            StatusCode::SERVICE_UNAVAILABLE,
            "control plane: failed, it does not answer when asked for the lease\n",
        ),
        Phase::Reading => (
            StatusCode::SERVICE_UNAVAILABLE,
            "caches: failed, the first lists are not complete yet\n",
        ),
        Phase::Stopping => (StatusCode::SERVICE_UNAVAILABLE, "shutdown: failed, stopping\n"),
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn readiness_names_the_check_that_fails() {
        let (code, text) = readiness(Phase::Reading);
        assert_eq!(code, StatusCode::SERVICE_UNAVAILABLE);
        assert!(text.starts_with("caches: failed"), "{text}");
        let (code, text) = readiness(Health::default().phase());
        assert_eq!(code, StatusCode::SERVICE_UNAVAILABLE);
        assert!(text.starts_with("control plane: failed"), "{text}");
        assert_eq!(readiness(Phase::Standby).0, StatusCode::OK);
    }
}
