//! The `mcpServers` file.

use std::collections::BTreeMap;
use std::path::PathBuf;

use ::http::HeaderName;
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Map, Value};
use url::Url;

use super::environment::ExpandError;
use super::secret::{hide_of, is_secret};
use super::{Addresses, Environment, Http, Reach, Server, Servers, Stdio};

/// Longest name of a server; names of tools carry it.
const NAME_LIMIT: usize = 128;

/// Why a configuration cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ConfigError {
    /// It is not JSON.
    #[error("not JSON: {0}")]
    Syntax(#[source] serde_json::Error),
    /// It lacks the one field that is read.
    #[error("no object mcpServers: write {{\"mcpServers\": {{\"name\": {{\"command\": \"…\"}}}}}}")]
    NoServers,
    /// A name that cannot be part of a tool's.
    #[error(
        "mcpServers has a server named {0:?}: use 1 to 128 characters, none of them a control character"
    )]
    Name(String),
    /// A server whose entry has a wrong form.
    #[error("mcpServers.{server}: {words}")]
    Entry {
        /// The server.
        server: String,
        /// What is wrong and what to do.
        words: String,
    },
    /// A value that cannot be filled in.
    #[error("mcpServers.{server}.{place}: {source}")]
    Expand {
        /// The server.
        server: String,
        /// Field and key.
        place: String,
        /// Why.
        source: ExpandError,
    },
}

/// One entry as files have it. What other programs keep there beside is not ours to refuse.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Entry {
    r#type: Option<String>,
    command: Option<String>,
    #[serde(default)]
    args: Vec<String>,
    #[serde(default)]
    env: BTreeMap<String, String>,
    cwd: Option<PathBuf>,
    url: Option<String>,
    #[serde(default)]
    headers: BTreeMap<String, String>,
    #[serde(default)]
    disabled: bool,
    #[serde(default)]
    trust_read_only_hint: bool,
    #[serde(flatten)]
    others: Map<String, Value>,
}

pub(super) fn servers(text: &str, environment: &Environment) -> Result<Servers, ConfigError> {
    let whole: Value = serde_json::from_str(text).map_err(ConfigError::Syntax)?;
    let entries = whole.get("mcpServers").and_then(Value::as_object);
    let mut servers = Servers::default();
    for (name, entry) in entries.ok_or(ConfigError::NoServers)? {
        if !(1..=NAME_LIMIT).contains(&name.chars().count()) || name.contains(char::is_control) {
            return Err(ConfigError::Name(name.clone()));
        }
        if let Some(server) = server(name, entry, environment)? {
            servers = servers.with(server);
        }
    }
    Ok(servers)
}

fn server(
    name: &str,
    entry: &Value,
    environment: &Environment,
) -> Result<Option<Server>, ConfigError> {
    let wrong = |words: String| ConfigError::Entry { server: name.to_owned(), words };
    if let Some(words) = misfit(entry) {
        return Err(wrong(words));
    }
    // serde would quote the value, which may be a secret.
    let entry = Entry::deserialize(entry).map_err(|_| wrong("has a wrong form".to_owned()))?;
    if entry.disabled {
        return Ok(None);
    }
    for other in entry.others.keys() {
        tracing::warn!("mcpServers.{name}.{other} means nothing here and is passed over");
    }
    let trust_read_only = entry.trust_read_only_hint;
    let reach = match (kind(&entry).map_err(wrong)?, &entry.command, &entry.url) {
        (Kind::Stdio, Some(command), _) if !command.is_empty() => {
            Reach::Stdio(stdio(name, command, &entry, environment)?)
        }
        (Kind::Http, _, Some(url)) => Reach::Http(http(name, url, &entry, environment)?),
        (Kind::Stdio, ..) => return Err(wrong("has no command: give the program to start".into())),
        (Kind::Http, ..) => return Err(wrong("has no url: give the server's endpoint".into())),
    };
    Ok(Some(Server { name: name.to_owned(), reach, trust_read_only }))
}

/// What of an entry has a wrong form, without its value.
fn misfit(entry: &Value) -> Option<String> {
    let Some(fields) = entry.as_object() else {
        return Some(format!("is {}: make it an object", kind_of(entry)));
    };
    fields.iter().find_map(|(field, value)| match (field.as_str(), value) {
        ("type" | "command" | "cwd" | "url", Value::Null | Value::String(_))
        | ("disabled" | "trustReadOnlyHint", Value::Bool(_)) => None,
        ("type" | "command" | "cwd" | "url", other) => {
            Some(format!("{field} is {}: make it text", kind_of(other)))
        }
        ("disabled" | "trustReadOnlyHint", other) => {
            Some(format!("{field} is {}: make it true or false", kind_of(other)))
        }
        ("args", Value::Array(parts)) => parts
            .iter()
            .enumerate()
            .find_map(|(place, part)| no_text(&format!("args[{place}]"), part)),
        ("args", other) => Some(format!("args is {}: make it a list of texts", kind_of(other))),
        ("env" | "headers", Value::Object(values)) => {
            values.iter().find_map(|(name, value)| no_text(&format!("{field}.{name}"), value))
        }
        ("env" | "headers", other) => {
            Some(format!("{field} is {}: make it an object of names and texts", kind_of(other)))
        }
        (_, _) => None,
    })
}

fn no_text(place: &str, value: &Value) -> Option<String> {
    (!value.is_string()).then(|| format!("{place} is {}: make it text", kind_of(value)))
}

fn kind_of(value: &Value) -> &'static str {
    match value {
        Value::Null => "null",
        Value::Bool(_) => "true or false",
        Value::Number(_) => "a number",
        Value::String(_) => "text",
        Value::Array(_) => "a list",
        Value::Object(_) => "an object",
    }
}

enum Kind {
    Stdio,
    Http,
}

fn kind(entry: &Entry) -> Result<Kind, String> {
    match (entry.r#type.as_deref(), &entry.command, &entry.url) {
        (Some("stdio"), _, None) | (None, Some(_), None) => Ok(Kind::Stdio),
        (Some("http" | "streamable-http" | "streamableHttp"), None, _) | (None, None, Some(_)) => {
            Ok(Kind::Http)
        }
        (Some("sse"), ..) => {
            Err("type \"sse\" is the transport of 2024, which is not spoken here: \
             give the server's Streamable HTTP endpoint with type \"http\""
                .to_owned())
        }
        (
            Some("stdio" | "http" | "streamable-http" | "streamableHttp") | None,
            Some(_),
            Some(_),
        )
        | (Some("stdio"), None, Some(_))
        | (Some("http" | "streamable-http" | "streamableHttp"), Some(_), None) => {
            Err("is a command or a url, with the type of that: take out what does not belong"
                .to_owned())
        }
        (Some(other), ..) => Err(format!("type {other:?} is unknown: use \"stdio\" or \"http\"")),
        (None, None, None) => Err("has neither command nor url: give one of them".to_owned()),
    }
}

fn stdio(
    name: &str,
    command: &str,
    entry: &Entry,
    host: &Environment,
) -> Result<Stdio, ConfigError> {
    let mut environment = host.for_children();
    let mut secrets = Vec::new();
    for (variable, text) in &entry.env {
        let value = host.expand(text).map_err(|source| ConfigError::Expand {
            server: name.to_owned(),
            place: format!("env.{variable}"),
            source,
        })?;
        if is_secret(variable, text) {
            secrets.push((SecretString::from(value.clone()), hide_of(variable, text)));
        }
        environment.insert(variable.clone(), value);
    }
    Ok(Stdio {
        command: command.to_owned(),
        arguments: entry.args.clone(),
        environment,
        secrets,
        folder: entry.cwd.clone(),
    })
}

fn http(name: &str, url: &str, entry: &Entry, host: &Environment) -> Result<Http, ConfigError> {
    let wrong = |words: String| ConfigError::Entry { server: name.to_owned(), words };
    let url = Url::parse(url)
        .map_err(|error| wrong(format!("url: {error}: give an absolute http or https URL")))?;
    if !matches!(url.scheme(), "http" | "https") || url.host().is_none() {
        return Err(wrong("url: give an absolute http or https URL".to_owned()));
    }
    let mut http = Http { url, headers: Vec::new(), addresses: Addresses::Any };
    for (header, text) in &entry.headers {
        let place = || format!("headers.{header}");
        let value = host.expand(text).map_err(|source| ConfigError::Expand {
            server: name.to_owned(),
            place: place(),
            source,
        })?;
        let header = HeaderName::try_from(header.as_str())
            .map_err(|_| wrong(format!("{} is no name of a header", place())))?;
        if crate::http::is_reserved(&header) {
            return Err(wrong(format!("{} is set by the protocol: take it out", place())));
        }
        http.headers.push((header, value.into()));
    }
    match http.header_map() {
        Ok(_) => Ok(http),
        Err(header) => Err(wrong(format!(
            "headers.{header}: its value has characters that no header may have"
        ))),
    }
}
