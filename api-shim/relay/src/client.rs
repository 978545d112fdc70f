//! The HTTP clients of the relay, made once.

use std::time::Duration;

use foundry_llm::is_loopback;
use url::Url;

/// A provider that does not accept a connection by then is down.
const CONNECT: Duration = Duration::from_secs(10);

/// Two clients: a proxy from the environment leads to providers outside, and cannot
/// reach a server that runs beside us.
#[derive(Clone, Debug)]
pub(crate) struct Clients {
    outside: reqwest::Client,
    beside: reqwest::Client,
}

impl Clients {
    pub(crate) fn new() -> Result<Self, reqwest::Error> {
        // Retries and redirects are the caller's to decide: each call goes out once.
        let builder = || {
            reqwest::Client::builder()
                .redirect(reqwest::redirect::Policy::none())
                .retry(reqwest::retry::never())
                .connect_timeout(CONNECT)
                .tcp_nodelay(true)
                .user_agent(concat!("foundry/", env!("CARGO_PKG_VERSION")))
        };
        Ok(Self { outside: builder().build()?, beside: builder().no_proxy().build()? })
    }

    pub(crate) fn for_url(&self, url: &Url) -> &reqwest::Client {
        if is_loopback(url) { &self.beside } else { &self.outside }
    }
}
