//! The one constructor of an HTTP client.

use std::time::Duration;

use url::{Host, Url};

use crate::endpoint::BuildError;

/// A host that does not accept a connection by then is down.
const CONNECT: Duration = Duration::from_secs(10);

/// An agent thinks every 15 seconds: one idle connection is all it can use, and
/// each one kept costs memory in every pod.
const IDLE_CONNECTIONS: usize = 1;

/// Kept a little longer than an agent's rhythm, shorter than servers keep theirs.
const IDLE: Duration = Duration::from_secs(30);

/// An HTTP client for calls to `url`. It never retries and follows no redirect:
/// both are decided above, once (KERN-18).
pub(crate) fn http_client(url: &Url) -> Result<reqwest::Client, BuildError> {
    let mut builder = reqwest::Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .connect_timeout(CONNECT)
        .pool_max_idle_per_host(IDLE_CONNECTIONS)
        .pool_idle_timeout(IDLE)
        .tcp_nodelay(true)
        .user_agent(concat!("foundry/", env!("CARGO_PKG_VERSION")));
    if is_loopback(url) {
        // A proxy from the environment cannot reach what runs beside us.
        builder = builder.no_proxy();
    }
    if url.scheme() == "http" {
        // Redirects are off, so this client never speaks TLS: the system's roots,
        // a few hundred kilobytes, stay unread.
        builder = builder.tls_certs_only(std::iter::empty());
    }
    builder.build().map_err(|error| BuildError::Client { words: chain(&error) })
}

/// Whether one client serves both URLs.
pub(crate) fn same_origin(one: &Url, other: &Url) -> bool {
    one.origin() == other.origin()
}

/// Whether a URL names this very machine, which no proxy leads to.
pub fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}

/// An error with its causes, each said once.
pub fn chain(error: &dyn std::error::Error) -> String {
    let mut words = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        let cause_words = cause.to_string();
        if !words.contains(&cause_words) {
            words.push_str(": ");
            words.push_str(&cause_words);
        }
        source = cause.source();
    }
    words
}
