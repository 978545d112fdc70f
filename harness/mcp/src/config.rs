//! Which servers there are and how each is reached.

mod environment;
mod parse;
mod secret;

use std::collections::BTreeMap;
use std::fmt;
use std::path::PathBuf;

use ::http::{HeaderName, HeaderValue};
use secrecy::{ExposeSecret as _, SecretString};
use url::Url;

use crate::redact::{Hide, Redactor};

pub use environment::Environment;
pub use parse::ConfigError;

/// Servers by name, in the order of their names.
#[derive(Clone, Debug, Default)]
pub struct Servers {
    servers: BTreeMap<String, Server>,
}

impl Servers {
    /// Reads the well-known `{"mcpServers": {"name": …}}`. `${VAR}` in values of `env`
    /// and `headers` is taken from `environment`; `${VAR:-default}` may be unset.
    pub fn parse(text: &str, environment: &Environment) -> Result<Self, ConfigError> {
        parse::servers(text, environment)
    }

    /// The same servers and one more, which replaces one of its name.
    #[must_use]
    pub fn with(mut self, server: Server) -> Self {
        self.servers.insert(server.name.clone(), server);
        self
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.servers.is_empty()
    }

    /// Each server.
    pub fn iter(&self) -> impl Iterator<Item = &Server> {
        self.servers.values()
    }

    pub(crate) fn into_servers(self) -> impl Iterator<Item = Server> {
        self.servers.into_values()
    }
}

/// One server.
#[derive(Clone, Debug)]
pub struct Server {
    /// What it is called in names of tools and in errors.
    pub name: String,
    /// How it is reached.
    pub reach: Reach,
    /// Whether it is believed when it says that a tool only reads.
    pub trust_read_only: bool,
}

impl Server {
    /// A server reached over Streamable HTTP.
    pub fn http(name: impl Into<String>, url: Url) -> Self {
        let reach = Reach::Http(Http { url, headers: Vec::new(), addresses: Addresses::Any });
        Self { name: name.into(), reach, trust_read_only: false }
    }

    /// A server that is a child of this process. It sees of the host's environment what
    /// programs need to run, such as `PATH` and `HOME`, and no more.
    pub fn stdio(
        name: impl Into<String>,
        command: impl Into<String>,
        arguments: impl IntoIterator<Item = String>,
        environment: &Environment,
    ) -> Self {
        let reach = Reach::Stdio(Stdio {
            command: command.into(),
            arguments: arguments.into_iter().collect(),
            environment: environment.for_children(),
            secrets: Vec::new(),
            folder: None,
        });
        Self { name: name.into(), reach, trust_read_only: false }
    }

    /// The same server, given this value of `Authorization` word for word (SPEC-05).
    /// A child is given none.
    #[must_use]
    pub fn authorization(self, value: SecretString) -> Self {
        self.header(::http::header::AUTHORIZATION, value)
    }

    /// The same server, given one more header with each request, such as on whose behalf
    /// it is made. A child is given none.
    #[must_use]
    pub fn header(mut self, name: HeaderName, value: SecretString) -> Self {
        match &mut self.reach {
            Reach::Http(http) => http.headers.push((name, value)),
            Reach::Stdio(_) => {}
        }
        self
    }

    /// The same server, never looked for at an address that only this machine and its cloud
    /// serve: for whoever connects on somebody else's word. A child has no address.
    #[must_use]
    pub fn not_the_machines(mut self) -> Self {
        match &mut self.reach {
            Reach::Http(http) => http.addresses = Addresses::NotTheMachines,
            Reach::Stdio(_) => {}
        }
        self
    }

    /// The same server, believed when it says that a tool only reads.
    #[must_use]
    pub fn trusting_read_only(self) -> Self {
        Self { trust_read_only: true, ..self }
    }

    /// What must not be said about this server.
    pub(crate) fn redactor(&self) -> Redactor {
        let mut redactor = Redactor::default();
        match &self.reach {
            Reach::Http(http) => {
                for (name, value) in &http.headers {
                    let is_credential = secret::is_credential(name.as_str());
                    let hide = if is_credential { Hide::Everywhere } else { Hide::InWords };
                    redactor.hide(value.expose_secret(), hide);
                }
                redactor.replace(http.url.as_str(), &http.place());
                secret::hide_url(&mut redactor, &http.url);
            }
            Reach::Stdio(stdio) => {
                for (value, hide) in &stdio.secrets {
                    redactor.hide(value.expose_secret(), *hide);
                }
                secret::hide_environment(&mut redactor, &stdio.environment);
            }
        }
        redactor
    }
}

/// How a server is reached.
#[derive(Clone, Debug)]
pub enum Reach {
    /// At a URL.
    Http(Http),
    /// As a child.
    Stdio(Stdio),
}

/// A server at a URL.
#[derive(Clone)]
pub struct Http {
    /// Its one endpoint. It may carry credentials, which are never said.
    pub url: Url,
    /// Sent with each request. All values are kept as secrets are.
    pub headers: Vec<(HeaderName, SecretString)>,
    /// Where it may be.
    pub addresses: Addresses,
}

/// Which addresses a server may have, whatever its URL names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Addresses {
    /// All of them.
    Any,
    /// All but those that only the machine itself and its cloud serve, such as the one that
    /// hands out a cloud machine's credentials.
    NotTheMachines,
}

impl Http {
    /// The URL as it may be said: without user, password and query.
    pub(crate) fn place(&self) -> String {
        let mut url = self.url.clone();
        // A URL that cannot have a user has none to hide.
        let _unchanged = url.set_username("").and_then(|()| url.set_password(None));
        url.set_query(None);
        url.set_fragment(None);
        url.into()
    }

    /// The headers as reqwest wants them, marked as secrets; the name of one whose value
    /// no header may have.
    pub(crate) fn header_map(&self) -> Result<::http::HeaderMap, &HeaderName> {
        let mut map = ::http::HeaderMap::new();
        for (name, value) in &self.headers {
            let text = value.expose_secret().trim_end_matches(['\r', '\n']);
            let mut value = HeaderValue::from_str(text).map_err(|_| name)?;
            value.set_sensitive(true);
            map.append(name.clone(), value);
        }
        Ok(map)
    }
}

impl fmt::Debug for Http {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { url: _, headers, addresses } = self;
        f.debug_struct("Http")
            .field("url", &self.place())
            .field("headers", &headers.iter().map(|(name, _)| name).collect::<Vec<_>>())
            .field("addresses", addresses)
            .finish()
    }
}

/// A server that is a child of this process.
#[derive(Clone)]
pub struct Stdio {
    /// The program, looked up on the `PATH` it is given.
    pub command: String,
    /// Its arguments.
    pub arguments: Vec<String>,
    /// Its whole environment.
    pub environment: BTreeMap<String, String>,
    /// Values of it that are not said, beside what its names tell.
    pub(crate) secrets: Vec<(SecretString, Hide)>,
    /// Where it runs; none means where the host does.
    pub folder: Option<PathBuf>,
}

impl fmt::Debug for Stdio {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { command, arguments, environment, secrets: _, folder } = self;
        f.debug_struct("Stdio")
            .field("command", command)
            .field("arguments", arguments)
            .field("environment", &environment.keys().collect::<Vec<_>>())
            .field("folder", folder)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests;
