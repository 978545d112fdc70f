//! Log lines: one JSON object a line on stdout.

use tracing_subscriber::{
    EnvFilter, filter::Directive, fmt, layer::SubscriberExt, util::SubscriberInitExt,
};

use crate::authz::AUDIT_TARGET;

/// What the library for tool servers says in the words of those servers, which may be
/// anything, what they were given included; what matters of it stands in their status.
const HEARSAY: &str = "rmcp";

/// Starts logging with this filter. Audit records pass whatever it says, and hearsay never.
pub fn start(filter: &str) -> anyhow::Result<()> {
    let audit: Directive = format!("{AUDIT_TARGET}=info").parse()?;
    let hearsay: Directive = format!("{HEARSAY}=off").parse()?;
    let filter = filter
        .parse::<EnvFilter>()
        .map_err(|error| anyhow::anyhow!("FOUNDRY_LOG is not a log filter: {error}"))?
        .add_directive(audit)
        .add_directive(hearsay);
    // It would panic on a full disk: its own errors go to stderr by `eprintln!`.
    let lines = fmt::layer()
        .log_internal_errors(false)
        .json()
        .flatten_event(true)
        .with_current_span(true)
        .with_span_list(false);
    tracing_subscriber::registry().with(filter).with(lines).try_init()?;
    Ok(())
}
