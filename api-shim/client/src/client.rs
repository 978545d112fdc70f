//! The typed client: one method a route.

mod agents;
mod catalog;
mod coding;
mod reports;
mod swarms;

use std::{fmt, sync::Arc, time::Duration};

use http::{HeaderName, HeaderValue, Method, header};
use secrecy::ExposeSecret;
use serde::{Serialize, de::DeserializeOwned};
use url::Url;

use crate::{
    error::{ClientError, Failure},
    token::TokenSource,
    wire::{AGENT_HEADER, WORKSPACE_HEADER},
};

/// How long one call may take from its first byte to its last (LOOP-20).
pub const READ_TIMEOUT: Duration = Duration::from_secs(15);
/// Longest time to get a connection.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(5);
/// Largest response that is read.
const MAX_BODY: usize = 16 * 1024 * 1024;
/// Idle connections kept to the one host; a harness sends few calls at a time.
const IDLE_CONNECTIONS: usize = 2;

/// Calls the API as whoever its tokens belong to.
#[derive(Clone)]
pub struct Client {
    http: reqwest::Client,
    base: Url,
    tokens: Arc<dyn TokenSource>,
    agent: Option<HeaderValue>,
    workspace: Option<HeaderValue>,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").field("base", &self.base.as_str()).finish_non_exhaustive()
    }
}

impl Client {
    /// A client of the API at `base_url`, for example `http://foundry-api:8080`.
    pub fn new(base_url: &str, tokens: Arc<dyn TokenSource>) -> Result<Self, ClientError> {
        let base = Url::parse(base_url).map_err(|error| {
            unsendable("read base url", format!("{base_url} is not a url: {error}"))
        })?;
        if !matches!(base.scheme(), "http" | "https") || base.cannot_be_a_base() {
            return Err(unsendable("read base url", format!("{base_url} is not http or https")));
        }
        let http =
            http_client(&base).map_err(|error| unsendable("build http client", chain(&error)))?;
        Ok(Self { http, base, tokens, agent: None, workspace: None })
    }

    /// The same client, naming the agent it acts for (AUTHZ-04).
    pub fn for_agent(mut self, agent: &str) -> Result<Self, ClientError> {
        self.agent = Some(header_value("name agent", agent)?);
        Ok(self)
    }

    /// The same client, naming the workspace it means.
    pub fn in_workspace(mut self, workspace: &str) -> Result<Self, ClientError> {
        self.workspace = Some(header_value("name workspace", workspace)?);
        Ok(self)
    }

    /// Address of a path of the API, each segment encoded.
    pub fn url(&self, segments: &[&str]) -> Url {
        let mut url = self.base.clone();
        // An http(s) url always has path segments; `new` refused all others.
        if let Ok(mut path) = url.path_segments_mut() {
            path.pop_if_empty().extend(segments);
        }
        url
    }

    async fn get<T: DeserializeOwned>(
        &self,
        attempted: &'static str,
        url: Url,
    ) -> Result<T, ClientError> {
        let body = self.send(attempted, Method::GET, url, None).await?;
        decode(attempted, &body)
    }

    async fn send_json<T: DeserializeOwned>(
        &self,
        attempted: &'static str,
        method: Method,
        url: Url,
        body: &(impl Serialize + Sync),
    ) -> Result<T, ClientError> {
        let body = self.send(attempted, method, url, Some(encode(attempted, body)?)).await?;
        decode(attempted, &body)
    }

    /// Sends what is to be stored. That it was, the status says; the words of the answer are
    /// not read, for what a newer API adds or renames in them is no reason to send it again.
    async fn deliver(
        &self,
        attempted: &'static str,
        url: Url,
        body: &(impl Serialize + Sync),
    ) -> Result<(), ClientError> {
        self.send(attempted, Method::POST, url, Some(encode(attempted, body)?)).await.map(drop)
    }

    /// Sends one request, once: a client of agents never retries by itself, for the
    /// caller knows what may be repeated.
    async fn send(
        &self,
        attempted: &'static str,
        method: Method,
        url: Url,
        body: Option<Vec<u8>>,
    ) -> Result<Vec<u8>, ClientError> {
        self.exchange(method, url, body).await.map_err(|failure| ClientError {
            service: "api",
            attempted,
            failure,
        })
    }

    async fn exchange(
        &self,
        method: Method,
        url: Url,
        body: Option<Vec<u8>>,
    ) -> Result<Vec<u8>, Failure> {
        // A mounted file can hang as a server can, and stands before the client's own clock.
        let token = tokio::time::timeout(READ_TIMEOUT, self.tokens.token())
            .await
            .map_err(|_| Failure::NoToken(format!("none came within {READ_TIMEOUT:?}")))?
            .map_err(|error| Failure::NoToken(error.to_string()))?;
        let mut bearer = HeaderValue::from_str(&format!("Bearer {}", token.expose_secret()))
            .map_err(|_| Failure::NoToken("the token holds characters no header may".to_owned()))?;
        bearer.set_sensitive(true); // BIND-11

        let mut request = self.http.request(method, url).header(header::AUTHORIZATION, bearer);
        for (name, value) in [(AGENT_HEADER, &self.agent), (WORKSPACE_HEADER, &self.workspace)] {
            if let Some(value) = value {
                request = request.header(HeaderName::from_static(name), value);
            }
        }
        if let Some(body) = body {
            request = request.header(header::CONTENT_TYPE, "application/json").body(body);
        }

        let mut response = request.send().await.map_err(|error| network(&error))?;
        let status = response.status();
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| network(&error))? {
            if body.len() + chunk.len() > MAX_BODY {
                return Err(Failure::Unreadable(format!("longer than {MAX_BODY} bytes")));
            }
            body.extend_from_slice(&chunk);
        }
        if status.is_success() {
            Ok(body)
        } else {
            Err(Failure::from_response(status.as_u16(), &body))
        }
    }
}

/// The one constructor of HTTP clients in this crate. No redirects, because a token
/// must not travel; no proxy from the environment, because the API is a neighbour.
fn http_client(base: &Url) -> Result<reqwest::Client, reqwest::Error> {
    let builder = reqwest::Client::builder()
        .timeout(READ_TIMEOUT)
        .connect_timeout(CONNECT_TIMEOUT)
        .pool_max_idle_per_host(IDLE_CONNECTIONS)
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never()) // the caller knows what may be repeated
        .no_proxy();
    if base.scheme() == "http" {
        // Loading the system's roots costs an idle harness megabytes it never uses.
        builder.tls_certs_only(std::iter::empty()).build()
    } else {
        builder.build()
    }
}

fn encode(attempted: &'static str, body: &impl Serialize) -> Result<Vec<u8>, ClientError> {
    serde_json::to_vec(body).map_err(|error| unsendable(attempted, error.to_string()))
}

fn decode<T: DeserializeOwned>(attempted: &'static str, body: &[u8]) -> Result<T, ClientError> {
    serde_json::from_slice(body).map_err(|error| ClientError {
        service: "api",
        attempted,
        failure: Failure::Unreadable(error.to_string()),
    })
}

fn header_value(attempted: &'static str, value: &str) -> Result<HeaderValue, ClientError> {
    HeaderValue::from_str(value)
        .map_err(|_| unsendable(attempted, format!("{value:?} cannot stand in a header")))
}

fn unsendable(attempted: &'static str, cause: String) -> ClientError {
    ClientError { service: "api", attempted, failure: Failure::Unsendable(cause) }
}

fn network(error: &reqwest::Error) -> Failure {
    if error.is_timeout() { Failure::TimedOut } else { Failure::Unreachable(chain(error)) }
}

/// The error and its causes; reqwest keeps the telling one at the end.
fn chain(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        text.push_str(": ");
        text.push_str(&error.to_string());
        cause = error.source();
    }
    text
}

#[cfg(test)]
mod tests;
