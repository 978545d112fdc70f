//! Metrics, every label a closed set.

use std::{sync::Arc, time::Duration};

use http::{Method, StatusCode};
use prometheus_client::{
    encoding::{EncodeLabelSet, EncodeLabelValue, text::encode},
    metrics::{
        counter::Counter,
        family::Family,
        gauge::Gauge,
        histogram::{Histogram, exponential_buckets},
    },
    registry::Registry,
};

use crate::authz::Action;

/// Content type of the text that [`Metrics::text`] gives.
pub const CONTENT_TYPE: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Everything this API counts. Clones count together.
#[derive(Clone)]
pub struct Metrics {
    registry: Arc<Registry>,
    requests: Family<RequestLabels, Counter>,
    durations: Family<RouteLabels, Histogram, fn() -> Histogram>,
    decisions: Family<DecisionLabels, Counter>,
    waiting: Gauge<i64>,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RequestLabels {
    route: &'static str,
    method: MethodLabel,
    status: StatusLabel,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct RouteLabels {
    route: &'static str,
}

#[derive(Clone, Debug, Hash, PartialEq, Eq, EncodeLabelSet)]
struct DecisionLabels {
    action: Action,
    decision: DecisionLabel,
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, EncodeLabelValue)]
enum MethodLabel {
    Get,
    Post,
    Patch,
    Delete,
    Other,
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, EncodeLabelValue)]
enum StatusLabel {
    Success,
    Redirection,
    ClientError,
    ServerError,
}

#[derive(Clone, Copy, Debug, Hash, PartialEq, Eq, EncodeLabelValue)]
enum DecisionLabel {
    Allowed,
    Refused,
}

impl Default for Metrics {
    fn default() -> Self {
        let mut registry = Registry::with_prefix("foundry_api");
        let requests = Family::<RequestLabels, Counter>::default();
        registry.register("requests", "Requests answered", requests.clone());
        let durations = Family::<RouteLabels, Histogram, fn() -> Histogram>::new_with_constructor(
            request_histogram,
        );
        registry.register(
            "request_duration_seconds",
            "Time to the first byte of an answer",
            durations.clone(),
        );
        let decisions = Family::<DecisionLabels, Counter>::default();
        registry.register("decisions", "Authorization decisions", decisions.clone());
        let waiting = Gauge::<i64>::default();
        registry.register("inbox_waiting", "Inbox reads held open", waiting.clone());
        Self { registry: Arc::new(registry), requests, durations, decisions, waiting }
    }
}

fn request_histogram() -> Histogram {
    Histogram::new(exponential_buckets(0.001, 4.0, 9))
}

impl Metrics {
    /// Counts one answered request. The route is a template of the router.
    pub fn answered(
        &self,
        route: &'static str,
        method: &Method,
        status: StatusCode,
        took: Duration,
    ) {
        let labels = RequestLabels { route, method: method.into(), status: status.into() };
        self.requests.get_or_create(&labels).inc();
        self.durations.get_or_create(&RouteLabels { route }).observe(took.as_secs_f64());
    }

    /// Counts one decision.
    pub fn decided(&self, action: Action, allowed: bool) {
        let decision = if allowed { DecisionLabel::Allowed } else { DecisionLabel::Refused };
        self.decisions.get_or_create(&DecisionLabels { action, decision }).inc();
    }

    /// Counts an inbox read that is held open, until the guard goes.
    pub fn wait(&self) -> Waiting {
        self.waiting.inc();
        Waiting(self.waiting.clone())
    }

    /// Everything, as a scraper reads it.
    pub fn text(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

/// One inbox read that is held open.
pub struct Waiting(Gauge<i64>);

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.dec();
    }
}

impl From<&Method> for MethodLabel {
    fn from(method: &Method) -> Self {
        match *method {
            Method::GET => Self::Get,
            Method::POST => Self::Post,
            Method::PATCH => Self::Patch,
            Method::DELETE => Self::Delete,
            _ => Self::Other,
        }
    }
}

impl From<StatusCode> for StatusLabel {
    fn from(status: StatusCode) -> Self {
        match status.as_u16() {
            0..300 => Self::Success,
            300..400 => Self::Redirection,
            400..500 => Self::ClientError,
            _ => Self::ServerError,
        }
    }
}
