//! GitHub's REST API, as far as pull requests need it.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use async_trait::async_trait;
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use reqwest::{Client, Response};
use secrecy::{ExposeSecret as _, SecretString};
use serde::{Deserialize, Serialize};
use url::{Host, Url};

use super::{FieldError, NewPullRequest, Opened, PullRequest, PullRequestError, PullRequests};
use crate::error::{chain, quoted};

/// A host that does not accept a connection by then is down.
const CONNECT: Duration = Duration::from_secs(10);
/// A whole exchange.
const EXCHANGE: Duration = Duration::from_secs(30);
/// Most bytes of an answer.
const BODY: usize = 4 * 1024 * 1024;
/// For a limit that does not say when it ends.
const PAUSE: Duration = Duration::from_mins(1);
/// Longest title.
const TITLE: usize = 250;

/// Pull requests of one repository at GitHub.
pub struct GitHub {
    http: Client,
    pulls: Url,
    owner: String,
    host: String,
    token: SecretString,
}

impl std::fmt::Debug for GitHub {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("GitHub").field("pulls", &self.pulls.as_str()).finish_non_exhaustive()
    }
}

impl GitHub {
    /// A client for the pull requests of `owner/name` at the API under `api`.
    pub fn new(
        api: &Url,
        owner: &str,
        name: &str,
        token: SecretString,
    ) -> Result<Self, PullRequestError> {
        let failed = |words: String| PullRequestError::Client {
            url: api.origin().ascii_serialization(),
            words,
        };
        if !matches!(api.scheme(), "https" | "http") {
            return Err(failed("it is no URL of http or https".to_owned()));
        }
        let mut pulls = api.clone();
        pulls.set_query(None);
        pulls.set_fragment(None);
        pulls
            .path_segments_mut()
            .map_err(|()| failed("it has no path".to_owned()))?
            .pop_if_empty()
            .extend(["repos", owner, name, "pulls"]);
        let host = match (api.host_str(), api.port()) {
            (Some(host), Some(port)) => format!("{host}:{port}"),
            (Some(host), None) => host.to_owned(),
            (None, _) => return Err(failed("it has no host".to_owned())),
        };
        let http = http_client(api).map_err(|error| failed(chain(&error)))?;
        Ok(Self { http, pulls, owner: owner.to_owned(), host, token })
    }

    async fn send(
        &self,
        method: Method,
        url: Url,
        body: Option<&impl Serialize>,
    ) -> Result<Answer, PullRequestError> {
        let bearer = format!("Bearer {}", self.token.expose_secret());
        let mut bearer = HeaderValue::try_from(bearer).map_err(|_| PullRequestError::Client {
            url: self.pulls.origin().ascii_serialization(),
            words: "the token holds characters that no header can carry".to_owned(),
        })?;
        bearer.set_sensitive(true);
        let mut request = self
            .http
            .request(method, url)
            .header(header::AUTHORIZATION, bearer)
            .header(header::ACCEPT, "application/vnd.github+json")
            .header("x-github-api-version", "2022-11-28");
        if let Some(body) = body {
            request = request.json(body);
        }
        let unreachable = |error: reqwest::Error| PullRequestError::Unreachable {
            host: self.host.clone(),
            words: chain(&error.without_url()),
        };
        let mut response = request.send().await.map_err(unreachable)?;
        let mut bytes = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(unreachable)? {
            if bytes.len() + chunk.len() > BODY {
                return Err(self.not_understood("it was longer than 4 MiB"));
            }
            bytes.extend_from_slice(&chunk);
        }
        Ok(Answer::of(&response, bytes))
    }

    /// The answer's document, or what its status means.
    fn read<T: for<'de> Deserialize<'de>>(&self, answer: &Answer) -> Result<T, PullRequestError> {
        if !answer.status.is_success() {
            return Err(self.refusal(answer));
        }
        serde_json::from_slice(&answer.body)
            .map_err(|error| self.not_understood(&error.to_string()))
    }

    fn not_understood(&self, words: &str) -> PullRequestError {
        PullRequestError::NotUnderstood { host: self.host.clone(), words: words.to_owned() }
    }

    fn refusal(&self, answer: &Answer) -> PullRequestError {
        let Answer { status, headers, body } = answer;
        let fault: Fault = serde_json::from_slice(body).unwrap_or_default();
        let message = match fault.message.as_deref() {
            Some(message) => self.without_token(message),
            None if status.is_redirection() => self.without_token(&moved(headers)),
            None => self.without_token(&String::from_utf8_lossy(body)),
        };
        let host = self.host.clone();
        let code = status.as_u16();
        let limited = *status == StatusCode::TOO_MANY_REQUESTS
            || (*status == StatusCode::FORBIDDEN && is_limited(headers, &message));
        if limited {
            let retry_after = pacing(headers).unwrap_or(PAUSE);
            return PullRequestError::Limited { host, status: code, message, retry_after };
        }
        match *status {
            StatusCode::UNAUTHORIZED | StatusCode::FORBIDDEN => {
                PullRequestError::TokenRefused { host, status: code, message }
            }
            _ if status.is_server_error() => {
                PullRequestError::Unreachable { host, words: format!("{code}: {message}") }
            }
            StatusCode::NOT_FOUND => {
                let words = "the repository does not exist there, or the token may not see it";
                let message = format!("{message}: {words}");
                PullRequestError::Refused { host, status: code, message, fields: Vec::new() }
            }
            _ => {
                let fields = fault.errors.iter().map(|error| self.field_error(error)).collect();
                PullRequestError::Refused { host, status: code, message, fields }
            }
        }
    }

    fn field_error(&self, error: &FaultDetail) -> FieldError {
        let (field, message) = match error {
            FaultDetail::Words(words) => (String::new(), words.clone()),
            FaultDetail::Field { field, message, code } => {
                let message = message.clone().or_else(|| code.clone()).unwrap_or_default();
                (field.clone().unwrap_or_default(), message)
            }
        };
        FieldError { field, message: self.without_token(&message) }
    }

    /// Another's words, as far as a person reads, without our token in them.
    fn without_token(&self, words: &str) -> String {
        let token = self.token.expose_secret();
        if token.is_empty() {
            return quoted(words);
        }
        quoted(&words.replace(token, "[redacted]"))
    }

    async fn find_open(&self, new: &NewPullRequest) -> Result<Option<Wire>, PullRequestError> {
        let mut url = self.pulls.clone();
        url.query_pairs_mut()
            .append_pair("state", "open")
            .append_pair("head", &format!("{}:{}", self.owner, new.head))
            .append_pair("base", &new.base);
        let answer = self.send(Method::GET, url, None::<&()>).await?;
        let open: Vec<Wire> = self.read(&answer)?;
        // Some servers do not filter.
        Ok(open.into_iter().find(|one| {
            one.head.name == new.head && one.base.name == new.base && one.state == "open"
        }))
    }

    fn url_of(&self, number: u64) -> Result<Url, PullRequestError> {
        let mut url = self.pulls.clone();
        url.path_segments_mut()
            .map_err(|()| self.not_understood("its URL has no path"))?
            .push(&number.to_string());
        Ok(url)
    }
}

#[async_trait]
impl PullRequests for GitHub {
    async fn open(&self, new: &NewPullRequest) -> Result<Opened, PullRequestError> {
        let NewPullRequest { title, body, head, base } = new;
        let title = one_line(title);
        let create = Create { title: &title, head, base, body };
        let answer = self.send(Method::POST, self.pulls.clone(), Some(&create)).await?;
        let refused = match self.read::<Wire>(&answer) {
            Ok(created) => return Ok(Opened::Created(created.into())),
            Err(refused) => refused,
        };
        if !is_there_already(&refused) {
            return Err(refused);
        }
        let Some(open) = self.find_open(new).await? else { return Err(refused) };
        let update = Update { title: &title, body };
        let answer = self.send(Method::PATCH, self.url_of(open.number)?, Some(&update)).await?;
        self.read::<Wire>(&answer).map(|updated| Opened::Updated(updated.into()))
    }

    async fn get(&self, number: u64) -> Result<PullRequest, PullRequestError> {
        let answer = self.send(Method::GET, self.url_of(number)?, None::<&()>).await?;
        self.read::<Wire>(&answer).map(PullRequest::from)
    }
}

/// What a server answered.
struct Answer {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Answer {
    fn of(response: &Response, body: Vec<u8>) -> Self {
        Self { status: response.status(), headers: response.headers().clone(), body }
    }
}

#[derive(Serialize)]
struct Create<'a> {
    title: &'a str,
    head: &'a str,
    base: &'a str,
    body: &'a str,
}

#[derive(Serialize)]
struct Update<'a> {
    title: &'a str,
    body: &'a str,
}

#[derive(Deserialize)]
struct Wire {
    number: u64,
    html_url: String,
    title: String,
    #[serde(default)]
    body: Option<String>,
    state: String,
    head: End,
    base: End,
}

#[derive(Deserialize)]
struct End {
    #[serde(rename = "ref")]
    name: String,
}

impl From<Wire> for PullRequest {
    fn from(wire: Wire) -> Self {
        let Wire { number, html_url, title, body, state, head, base } = wire;
        Self {
            number,
            url: html_url,
            title,
            body: body.unwrap_or_default(),
            head: head.name,
            base: base.name,
            open: state == "open",
        }
    }
}

/// GitHub's form of an error.
#[derive(Default, Deserialize)]
struct Fault {
    #[serde(default)]
    message: Option<String>,
    #[serde(default)]
    errors: Vec<FaultDetail>,
}

#[derive(Deserialize)]
#[serde(untagged)]
enum FaultDetail {
    Words(String),
    Field {
        #[serde(default)]
        field: Option<String>,
        #[serde(default)]
        message: Option<String>,
        #[serde(default)]
        code: Option<String>,
    },
}

fn is_there_already(refused: &PullRequestError) -> bool {
    let PullRequestError::Refused { status: 422, message, fields, host: _ } = refused else {
        return false;
    };
    let mut words = fields.iter().map(|field| field.message.as_str()).chain([message.as_str()]);
    words.any(|words| words.to_ascii_lowercase().contains("already exists"))
}

fn moved(headers: &HeaderMap) -> String {
    let place = headers.get(header::LOCATION).and_then(|place| place.to_str().ok());
    format!("it has moved to {}", place.unwrap_or("another place"))
}

fn is_limited(headers: &HeaderMap, message: &str) -> bool {
    headers.contains_key(header::RETRY_AFTER)
        || number(headers, "x-ratelimit-remaining") == Some(0)
        || message.to_ascii_lowercase().contains("rate limit")
}

/// How long the server asks us to wait. Its reset is a time of its own clock, which its
/// own date says.
fn pacing(headers: &HeaderMap) -> Option<Duration> {
    let date = |name: header::HeaderName| {
        let text = headers.get(name)?.to_str().ok()?;
        httpdate::parse_http_date(text).ok()
    };
    if let Some(seconds) = number(headers, "retry-after") {
        return Some(Duration::from_secs(seconds));
    }
    let now = date(header::DATE)?;
    if let Some(then) = date(header::RETRY_AFTER) {
        return Some(then.duration_since(now).unwrap_or_default());
    }
    let reset = SystemTime::checked_add(
        &UNIX_EPOCH,
        Duration::from_secs(number(headers, "x-ratelimit-reset")?),
    )?;
    Some(reset.duration_since(now).unwrap_or_default())
}

fn number(headers: &HeaderMap, name: &str) -> Option<u64> {
    headers.get(name)?.to_str().ok()?.trim().parse().ok()
}

/// A title on one line, as long as a host takes.
fn one_line(title: &str) -> String {
    let words: Vec<&str> = title.split_whitespace().collect();
    words.join(" ").chars().take(TITLE).collect()
}

/// The one constructor of a client: no retries and no redirects, for both would carry the
/// token where nobody decided.
fn http_client(api: &Url) -> reqwest::Result<Client> {
    let mut builder = Client::builder()
        .redirect(reqwest::redirect::Policy::none())
        .retry(reqwest::retry::never())
        .connect_timeout(CONNECT)
        .timeout(EXCHANGE)
        .pool_max_idle_per_host(1)
        .tcp_nodelay(true)
        .user_agent(concat!("foundry/", env!("CARGO_PKG_VERSION")));
    if is_loopback(api) {
        // A proxy from the environment cannot reach what runs beside us.
        builder = builder.no_proxy();
    }
    if api.scheme() == "http" {
        // Redirects are off, so this client never speaks TLS: the system's roots stay unread.
        builder = builder.tls_certs_only(std::iter::empty());
    }
    builder.build()
}

fn is_loopback(url: &Url) -> bool {
    match url.host() {
        Some(Host::Ipv4(address)) => address.is_loopback(),
        Some(Host::Ipv6(address)) => address.is_loopback(),
        Some(Host::Domain(name)) => name == "localhost" || name.ends_with(".localhost"),
        None => false,
    }
}

#[cfg(test)]
mod tests;
