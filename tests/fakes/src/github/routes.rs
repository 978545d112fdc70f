//! Requests and their answers.

use std::sync::{Arc, PoisonError};

use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};

use super::pulls::{Filter, PullRequest, Repository};
use super::refusal::{Answer, no_user_agent};
use super::server::{Recorded, Shared};
use crate::http::{self as served, Service};

/// Most bytes of a request.
const LONGEST: usize = 1024 * 1024;

#[derive(Clone)]
pub(super) struct Api(pub Arc<Shared>);

type Answered = Result<Response<Full<Bytes>>, Answer>;

impl Service for Api {
    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let (parts, incoming) = request.into_parts();
        let body = match served::body(incoming, LONGEST).await {
            Ok(body) => body,
            Err(error) => return Answer::broken(&error).response(),
        };
        let request = Asked {
            method: parts.method,
            path: parts.uri.path().to_owned(),
            query: parts.uri.query().unwrap_or_default().to_owned(),
            token: served::bearer(&parts.headers).map(str::to_owned),
            named: parts.headers.contains_key(header::USER_AGENT),
            body,
        };
        let shared = self.0.clone();
        // git is asked, which takes its time.
        let answered = tokio::task::spawn_blocking(move || request.answered(&shared)).await;
        answered.unwrap_or_else(|error| {
            Answer::broken(&anyhow::anyhow!("the stand-in failed: {error}")).response()
        })
    }
}

/// A request, with what of it matters.
struct Asked {
    method: Method,
    path: String,
    query: String,
    token: Option<String>,
    /// Whether the client says who it is.
    named: bool,
    body: Bytes,
}

impl Asked {
    fn answered(&self, shared: &Shared) -> Response<Full<Bytes>> {
        let response = self.response(shared);
        let query = if self.query.is_empty() { "" } else { "?" };
        shared.note(Recorded {
            at: served::now_micros(),
            method: self.method.to_string(),
            path: format!("{}{query}{}", self.path, self.query),
            authorised: self.authorised(shared),
            body: serde_json::from_slice(&self.body).unwrap_or_default(),
            status: response.status().as_u16(),
        });
        response
    }

    fn authorised(&self, shared: &Shared) -> bool {
        self.token.as_deref() == Some(shared.token.as_str())
    }

    fn response(&self, shared: &Shared) -> Response<Full<Bytes>> {
        let parts: Vec<&str> = self.path.trim_matches('/').split('/').collect();
        if self.method == Method::GET && self.path == "/livez" {
            return served::json(StatusCode::OK, &json!("ok"));
        }
        if let (&Method::GET, [owner, name, "pull", number]) = (&self.method, parts.as_slice()) {
            return page(shared, &format!("{owner}/{name}"), number);
        }
        let answered = if self.named { self.api(shared, &parts) } else { Ok(no_user_agent()) };
        answered.unwrap_or_else(|answer| answer.response())
    }

    fn api(&self, shared: &Shared, parts: &[&str]) -> Answered {
        match &self.token {
            None => return Err(Answer::requires_authentication()),
            Some(_) if !self.authorised(shared) => return Err(Answer::bad_credentials()),
            Some(_) => {}
        }
        let (["repos", owner, name], rest) =
            parts.split_at_checked(3).ok_or_else(Answer::not_found)?
        else {
            return Err(Answer::not_found());
        };
        let refused = shared
            .faults
            .take(|faults| faults.take(&format!("{owner}/{name}"), self.method.as_str()))
            .map_err(|error| Answer::broken(&error))?;
        if let Some(answer) = refused {
            return Err(answer);
        }
        let found = Repository::find(&shared.repositories, owner, name);
        let repository = found.ok_or_else(Answer::not_found)?;
        let mut pulls = shared.pulls.lock().unwrap_or_else(PoisonError::into_inner);
        match (&self.method, rest) {
            (&Method::POST, ["pulls"]) => {
                let pull = repository.open(&mut pulls, &shared.origin, self.read()?)?;
                recorded(shared, "created", &pull)?;
                let mut response = shown(shared, StatusCode::CREATED, &pull);
                let location =
                    format!("{}/repos/{}/pulls/{}", shared.origin, pull.repository, pull.number);
                if let Ok(location) = HeaderValue::try_from(location) {
                    response.headers_mut().insert(header::LOCATION, location);
                }
                Ok(response)
            }
            (&Method::GET, ["pulls"]) => {
                let parameter = |name: &str| served::parameter(&self.query, name);
                let filter = Filter {
                    head: parameter("head"),
                    base: parameter("base"),
                    state: parameter("state"),
                };
                let found = repository.list(&mut pulls, &filter)?;
                Ok(self.listed(shared, &found))
            }
            (&Method::GET, ["pulls", number]) => {
                let pull = repository.one(&mut pulls, numbered(number)?)?;
                Ok(shown(shared, StatusCode::OK, &pull))
            }
            (&Method::PATCH, ["pulls", number]) => {
                let pull = repository.change(&mut pulls, numbered(number)?, self.read()?)?;
                recorded(shared, "updated", &pull)?;
                Ok(shown(shared, StatusCode::OK, &pull))
            }
            _ => Err(Answer::not_found()),
        }
    }

    /// A page of a list, with the links to those beside it.
    fn listed(&self, shared: &Shared, found: &[PullRequest]) -> Response<Full<Bytes>> {
        let number = |name: &str| served::parameter(&self.query, name)?.parse::<usize>().ok();
        let size = number("per_page").unwrap_or(30).clamp(1, 100);
        let page = number("page").unwrap_or(1).max(1);
        let shown = found.iter().skip((page - 1).saturating_mul(size)).take(size);
        let body: Vec<Value> = shown.map(|pull| pull.to_json(&shared.origin)).collect();
        let mut response = served::json(StatusCode::OK, &json!(body));
        if page.saturating_mul(size) < found.len() {
            let others = self.query.split('&').filter(|pair| !pair.starts_with("page="));
            let mut pairs: Vec<&str> = others.filter(|pair| !pair.is_empty()).collect();
            let next = format!("page={}", page + 1);
            pairs.push(&next);
            let link =
                format!("<{}{}?{}>; rel=\"next\"", shared.origin, self.path, pairs.join("&"));
            if let Ok(link) = HeaderValue::try_from(link) {
                response.headers_mut().insert(header::LINK, link);
            }
        }
        response
    }

    /// The body as JSON. What is no object is told from what has a wrong field.
    fn read<T: DeserializeOwned>(&self) -> Result<T, Answer> {
        let body: Value = serde_json::from_slice(&self.body).map_err(|_| Answer::not_json())?;
        serde_json::from_value(body).map_err(|error| Answer::invalid_request(&error.to_string()))
    }
}

fn numbered(text: &str) -> Result<u64, Answer> {
    text.parse().map_err(|_| Answer::not_found())
}

fn recorded(shared: &Shared, kind: &str, pull: &PullRequest) -> Result<(), Answer> {
    shared.record(kind, pull).map_err(|error| Answer::broken(&error))
}

fn shown(shared: &Shared, status: StatusCode, pull: &PullRequest) -> Response<Full<Bytes>> {
    served::json(status, &pull.to_json(&shared.origin))
}

/// A pull request for a person, without a token: this is a stand-in.
fn page(shared: &Shared, repository: &str, number: &str) -> Response<Full<Bytes>> {
    let pulls = shared.pulls.lock().unwrap_or_else(PoisonError::into_inner);
    let this =
        |pull: &&PullRequest| pull.repository == repository && pull.number.to_string() == number;
    let plain = "text/plain; charset=utf-8";
    match pulls.iter().find(this) {
        Some(pull) => served::text(StatusCode::OK, plain, pull.to_text()),
        None => served::text(StatusCode::NOT_FOUND, plain, "There is no such pull request.\n"),
    }
}
