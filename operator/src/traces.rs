//! Traces by OTLP over HTTP, where the standard `OTEL_*` variables ask for them: a span for
//! each reconcile, with its steps and writes inside.
//!
//! A span says which object and one word of what came of it: no message, no field of a
//! spec, nothing that could be a secret. Without an endpoint nothing is begun, and a span
//! is one comparison.

use std::time::Duration;

use clap::Args;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_otlp::{ExporterBuildError, Protocol, SpanExporter, WithExportConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::SdkTracerProvider;
use tracing::{Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::filter_fn;
use tracing_subscriber::registry::LookupSpan;

/// Target of all our spans: they go to a collector, and into no line of the log. Macros
/// want the word itself.
pub const SPANS: &str = "foundry_operator::spans";
/// The one protocol that is spoken.
const PROTOCOL: &str = "http/protobuf";
/// How long the last spans may take on their way when the operator leaves.
const LAST_WORDS: Duration = Duration::from_secs(2);

/// What the environment says of traces; the library reads the other `OTEL_*` variables by
/// itself: headers, timeout, sampler, the batches' size and pace.
#[derive(Debug, Clone, Args)]
pub struct TraceArguments {
    /// Collector of all signals; spans go to `/v1/traces` beneath it.
    #[arg(long, env = "OTEL_EXPORTER_OTLP_ENDPOINT", hide_env_values = true)]
    pub otlp_endpoint: Option<String>,
    /// Where spans go, path included; wins over the other.
    #[arg(long, env = "OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", hide_env_values = true)]
    pub otlp_traces_endpoint: Option<String>,
    /// `http/protobuf` is the one that is spoken.
    #[arg(long, env = "OTEL_EXPORTER_OTLP_PROTOCOL", hide = true)]
    pub otlp_protocol: Option<String>,
    /// The same, for spans alone.
    #[arg(long, env = "OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", hide = true)]
    pub otlp_traces_protocol: Option<String>,
    /// `none` sends no spans.
    #[arg(long, env = "OTEL_TRACES_EXPORTER", hide = true)]
    pub traces_exporter: Option<String>,
    /// `true` sends nothing.
    #[arg(long, env = "OTEL_SDK_DISABLED", hide = true)]
    pub otel_disabled: Option<String>,
    /// Name that spans are filed under.
    #[arg(long, env = "OTEL_SERVICE_NAME", default_value = "foundry-operator")]
    pub service_name: String,
}

/// Why no traces can be sent.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// Another protocol is asked for.
    #[error(
        "failed to set up traces: the operator speaks http/protobuf, not {0}; set \
         OTEL_EXPORTER_OTLP_PROTOCOL to http/protobuf and the endpoint to the collector's HTTP port"
    )]
    Protocol(String),
    /// Spans are to go somewhere else than to a collector.
    #[error(
        "failed to set up traces: OTEL_TRACES_EXPORTER is {0}; set it to otlp, or to none for no \
         traces"
    )]
    Exporter(String),
    /// The endpoint is no address.
    #[error("failed to set up traces: OTEL_EXPORTER_OTLP_ENDPOINT cannot be used")]
    Endpoint(#[source] ExporterBuildError),
}

/// Sends spans on, by a thread of its own, until it is ended.
pub struct Traces {
    provider: SdkTracerProvider,
}

impl TraceArguments {
    /// Where spans go; nowhere unless somebody says where.
    fn endpoint(&self) -> Result<Option<String>, TraceError> {
        let said = |value: &Option<String>| value.clone().filter(|value| !value.is_empty());
        if said(&self.otel_disabled).is_some_and(|it| it.eq_ignore_ascii_case("true")) {
            return Ok(None);
        }
        let of_all = said(&self.otlp_endpoint)
            .map(|endpoint| format!("{}/v1/traces", endpoint.trim_end_matches('/')));
        let Some(endpoint) = said(&self.otlp_traces_endpoint).or(of_all) else { return Ok(None) };
        match said(&self.traces_exporter).as_deref() {
            None | Some("otlp") => {}
            Some("none") => return Ok(None),
            Some(other) => return Err(TraceError::Exporter(other.to_owned())),
        }
        match said(&self.otlp_traces_protocol).or_else(|| said(&self.otlp_protocol)) {
            Some(other) if other != PROTOCOL => Err(TraceError::Protocol(other)),
            Some(_) | None => Ok(Some(endpoint)),
        }
    }
}

impl Traces {
    /// Begins to send spans, where the settings say where.
    pub fn begin(arguments: &TraceArguments) -> Result<Option<Self>, TraceError> {
        let Some(endpoint) = arguments.endpoint()? else { return Ok(None) };
        let exporter = SpanExporter::builder()
            .with_http()
            .with_protocol(Protocol::HttpBinary)
            .with_endpoint(endpoint)
            .build()
            .map_err(TraceError::Endpoint)?;
        let resource = Resource::builder().with_service_name(arguments.service_name.clone());
        let provider = SdkTracerProvider::builder()
            .with_resource(resource.build())
            .with_batch_exporter(exporter)
            .build();
        Ok(Some(Self { provider }))
    }

    /// What hears of our spans, for a subscriber.
    pub fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        tracing_opentelemetry::layer()
            .with_location(false)
            .with_threads(false)
            .with_tracked_inactivity(false)
            .with_tracer(self.provider.tracer("foundry-operator"))
            .with_filter(filter_fn(is_span))
    }

    /// Sends what is left, for a moment: a collector that is away keeps nobody.
    pub fn end(self) {
        if let Err(error) = self.provider.shutdown_with_timeout(LAST_WORDS) {
            tracing::debug!(%error, "the last spans were not sent");
        }
    }
}

/// Whether this is a span for a collector, and nothing for the log.
pub fn is_span(metadata: &Metadata<'_>) -> bool {
    metadata.target() == SPANS
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use pretty_assertions::assert_eq;
    use rstest::rstest;

    use super::*;

    #[derive(Parser)]
    struct Command {
        #[command(flatten)]
        traces: TraceArguments,
    }

    fn endpoint(words: &[&str]) -> Result<Option<String>, String> {
        let words = std::iter::once("operator").chain(words.iter().copied());
        let arguments = Command::try_parse_from(words).unwrap().traces;
        arguments.endpoint().map_err(|error| error.to_string())
    }

    #[rstest]
    #[case(&[], None)]
    #[case(&["--otlp-endpoint", ""], None)]
    #[case(&["--otlp-endpoint", "http://c:4318"], Some("http://c:4318/v1/traces"))]
    #[case(&["--otlp-endpoint", "http://c/otlp/"], Some("http://c/otlp/v1/traces"))]
    #[case(
        &["--otlp-endpoint", "http://c", "--otlp-traces-endpoint", "http://t/x"],
        Some("http://t/x")
    )]
    #[case(&["--otlp-endpoint", "http://c", "--traces-exporter", "none"], None)]
    #[case(&["--otlp-endpoint", "http://c", "--otel-disabled", "TRUE"], None)]
    #[case(
        &["--otlp-endpoint", "http://c", "--otlp-protocol", "http/protobuf"],
        Some("http://c/v1/traces")
    )]
    fn spans_go_where_the_standard_variables_say(
        #[case] words: &[&str],
        #[case] expected: Option<&str>,
    ) {
        assert_eq!(endpoint(words).unwrap().as_deref(), expected);
    }

    #[rstest]
    #[case(&["--otlp-endpoint", "http://c", "--otlp-protocol", "grpc"], "http/protobuf, not grpc")]
    #[case(&["--otlp-endpoint", "http://c", "--traces-exporter", "zipkin"], "set it to otlp")]
    fn what_is_not_spoken_is_refused_with_the_way_out(
        #[case] words: &[&str],
        #[case] way_out: &str,
    ) {
        let said = endpoint(words).unwrap_err();
        assert!(said.contains(way_out), "{said}");
    }
}
