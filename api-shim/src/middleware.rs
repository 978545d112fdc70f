//! What every request passes: counting, a deadline, and a net under panics.

use std::{any::Any, collections::HashSet, sync::Arc, time::Duration};

use axum::{
    extract::{MatchedPath, Request, State},
    middleware::Next,
    response::{IntoResponse, Response},
};
use tokio::time::Instant;

use crate::{app::App, problem::Problem};

/// Route label of a request that no route matched.
const NO_ROUTE: &str = "none";

/// The router's templates, as labels.
#[derive(Clone, Default)]
pub struct Templates(Arc<HashSet<&'static str>>);

impl Templates {
    /// Keeps each template for the life of the process: there are a few dozen, once.
    pub fn new<'a>(paths: impl Iterator<Item = &'a String>) -> Self {
        Self(Arc::new(paths.map(|path| &*path.clone().leak()).collect()))
    }

    fn label(&self, path: Option<&MatchedPath>) -> &'static str {
        path.and_then(|path| self.0.get(path.as_str()).copied()).unwrap_or(NO_ROUTE)
    }
}

/// Counts and logs a request by its route template.
pub async fn observe(
    State((app, templates)): State<(App, Templates)>,
    request: Request,
    next: Next,
) -> Response {
    let route = templates.label(request.extensions().get::<MatchedPath>());
    let method = request.method().clone();
    let started = Instant::now();
    let response = next.run(request).await;
    let (status, took) = (response.status(), started.elapsed());
    app.metrics.answered(route, &method, status, took);
    let status = status.as_u16();
    let duration_ms = u64::try_from(took.as_millis()).unwrap_or(u64::MAX);
    // Each decision already is one audit record; at ten thousand agents a second line
    // for each beat and poll would only cost.
    if status >= 500 {
        tracing::warn!(%method, route, status, duration_ms, "answered with a failure");
    } else {
        tracing::debug!(%method, route, status, duration_ms, "answered");
    }
    response
}

/// Ends a request that takes too long. The longest honest one is a verb or an inbox
/// read, well below.
pub async fn limit_time(State(limit): State<Duration>, request: Request, next: Next) -> Response {
    tokio::time::timeout(limit, next.run(request)).await.unwrap_or_else(|_| {
        let detail = format!("the request took longer than {} seconds", limit.as_secs());
        Problem::unavailable("TookTooLong", detail).into_response()
    })
}

/// A handler that panicked fails its own request and nothing else.
#[expect(clippy::needless_pass_by_value, reason = "the form that CatchPanicLayer calls")]
pub fn caught_panic(panic: Box<dyn Any + Send + 'static>) -> Response {
    let words = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("no message");
    Problem::bug(format!("a handler panicked: {words}")).into_response()
}

/// What no route matches.
pub async fn no_route(request: Request) -> Problem {
    Problem::not_found("route", request.uri().path()).remedy("read /openapi.json for what there is")
}

/// A known path with a method it does not have.
pub async fn no_method(request: Request) -> Problem {
    let detail = format!("{} does not take {}", request.uri().path(), request.method());
    Problem::new(http::StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", detail)
}

#[cfg(test)]
mod tests {
    use axum::{Router, body::Body, middleware::from_fn};
    use http::StatusCode;
    use tower::ServiceExt;
    use tower_http::catch_panic::CatchPanicLayer;

    use super::*;
    use crate::request_id;

    #[tokio::test]
    async fn a_panicking_handler_fails_its_own_request_as_a_problem_with_its_id() {
        let router: Router = Router::new()
            .fallback(async || -> StatusCode { panic!("a secret detail") })
            .layer(CatchPanicLayer::custom(caught_panic))
            .layer(from_fn(request_id::carry));
        let request = Request::builder().header("x-request-id", "r-1").body(Body::empty()).unwrap();
        let response = router.oneshot(request).await.unwrap();
        assert_eq!(response.status(), StatusCode::INTERNAL_SERVER_ERROR);
        let body = axum::body::to_bytes(response.into_body(), 10_000).await.unwrap();
        let problem: foundry_client::Problem = serde_json::from_slice(&body).unwrap();
        assert_eq!(problem.request_id.as_deref(), Some("r-1"));
        assert!(!problem.detail.contains("secret"));
    }
}
