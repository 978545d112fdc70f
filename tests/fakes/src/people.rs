//! A stand-in for the people service: `POST /v1/people`, as strict as a real one would be,
//! with faults that a test switches while it runs.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context as _, Result};
use bytes::Bytes;
use http::{HeaderValue, Method, Request, Response, StatusCode, header};
use http_body_util::Full;
use hyper::body::Incoming;
use serde::Deserialize;
use serde_json::json;
use tokio::net::TcpListener;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::http::{self as served, Service, bearer};

/// Most bytes of a request.
const LONGEST: usize = 16 * 1024;
/// Longest name.
const LONGEST_NAME: usize = 200;

/// A person as the service takes it.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Person {
    /// The address.
    pub email: String,
    /// First name.
    pub first_name: String,
    /// Last name.
    pub last_name: String,
}

/// What the service does with a call that is in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Mood {
    /// Registers: 201 the first time, 409 afterwards.
    #[default]
    Well,
    /// Answers this status, with so many seconds of `Retry-After` where there are any.
    Answers(u16, Option<u64>),
    /// Refuses persons of this last name by 422, in words that repeat the token it was shown.
    Refuses(String),
    /// Does not answer persons of this last name, or any where it is empty, until the mood
    /// changes.
    Hangs(String),
}

/// A running stand-in. Dropping it stops it.
pub struct People {
    shared: Arc<Shared>,
    address: SocketAddr,
    stop: CancellationToken,
    tasks: TaskTracker,
}

struct Shared {
    token: Mutex<String>,
    mood: watch::Sender<Mood>,
    calls: Mutex<Vec<Call>>,
}

/// A call that came.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Since the machine was started, for distances.
    pub at: std::time::Instant,
    /// Whom it was for, when it had the token and a body in order.
    pub person: Option<Person>,
    /// The status of the answer; none while there is none.
    pub status: Option<u16>,
}

impl People {
    /// Serves on a free loopback port to who has this token.
    pub async fn start(token: &str) -> Result<Self> {
        let listener =
            TcpListener::bind(("127.0.0.1", 0)).await.context("failed to listen for people")?;
        let address = listener.local_addr().context("failed to read the port")?;
        let shared = Arc::new(Shared {
            token: Mutex::new(token.to_owned()),
            mood: watch::Sender::new(Mood::default()),
            calls: Mutex::default(),
        });
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        let api = Api(Arc::clone(&shared));
        tasks.spawn(served::accept(listener, api, stop.clone(), tasks.clone()));
        Ok(Self { shared, address, stop, tasks })
    }

    /// Where it is.
    pub fn url(&self) -> String {
        format!("http://{}", self.address)
    }

    /// Changes what it does from now on; who hangs is answered by the new mood.
    pub fn set(&self, mood: Mood) {
        self.shared.mood.send_replace(mood);
    }

    /// Changes the token that it knows.
    pub fn set_token(&self, token: &str) {
        token.clone_into(&mut self.shared.token.lock().unwrap_or_else(PoisonError::into_inner));
    }

    /// The calls so far, oldest first.
    pub fn calls(&self) -> Vec<Call> {
        self.shared.calls.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Persons that were registered, as often as they were.
    pub fn registered(&self) -> Vec<Person> {
        let is_done = |call: &Call| matches!(call.status, Some(201 | 409));
        self.calls().into_iter().filter(is_done).filter_map(|call| call.person).collect()
    }

    /// Stops it; whoever hangs is let go.
    pub async fn stop(self) {
        self.set(Mood::Well);
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Drop for People {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

#[derive(Clone)]
struct Api(Arc<Shared>);

impl Service for Api {
    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let Self(shared) = self;
        let (parts, body) = request.into_parts();
        if parts.uri.path() != "/v1/people" {
            return refuse(StatusCode::NOT_FOUND, "there is no such route");
        }
        if parts.method != Method::POST {
            return refuse(StatusCode::METHOD_NOT_ALLOWED, "people are registered by POST");
        }
        let number = shared.note();
        let given = bearer(&parts.headers).unwrap_or_default();
        let known = shared.token.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if given != known {
            return shared.end(number, refuse(StatusCode::UNAUTHORIZED, "the token is not known"));
        }
        let person = match person(&parts.headers, body).await {
            Ok(person) => person,
            Err((status, words)) => return shared.end(number, refuse(status, &words)),
        };
        let is_new = shared.meet(number, &person);
        let answer = shared.by_mood(&person, is_new, given).await;
        shared.end(number, answer)
    }
}

impl Shared {
    fn note(&self) -> usize {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        calls.push(Call { at: std::time::Instant::now(), person: None, status: None });
        calls.len() - 1
    }

    /// Notes whom a call is for; says whether the person is new.
    fn meet(&self, number: usize, person: &Person) -> bool {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        let is_known = calls.iter().any(|call| {
            call.person.as_ref() == Some(person) && matches!(call.status, Some(201 | 409))
        });
        if let Some(call) = calls.get_mut(number) {
            call.person = Some(person.clone());
        }
        !is_known
    }

    fn end(&self, number: usize, answer: Response<Full<Bytes>>) -> Response<Full<Bytes>> {
        let mut calls = self.calls.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(call) = calls.get_mut(number) {
            call.status = Some(answer.status().as_u16());
        }
        answer
    }

    async fn by_mood(&self, person: &Person, is_new: bool, token: &str) -> Response<Full<Bytes>> {
        let mut moods = self.mood.subscribe();
        loop {
            let mood = moods.borrow_and_update().clone();
            match mood {
                Mood::Hangs(name) if name.is_empty() || name == person.last_name => {
                    if moods.changed().await.is_err() {
                        return refuse(StatusCode::SERVICE_UNAVAILABLE, "stopping");
                    }
                }
                Mood::Refuses(name) if name == person.last_name => {
                    let words = format!("last_name is not to our taste (token {token})");
                    return refuse(StatusCode::UNPROCESSABLE_ENTITY, &words);
                }
                Mood::Answers(status, after) => return troubled(status, after),
                Mood::Well | Mood::Hangs(_) | Mood::Refuses(_) => return registered(is_new),
            }
        }
    }
}

fn registered(is_new: bool) -> Response<Full<Bytes>> {
    if is_new {
        served::json(StatusCode::CREATED, &json!({ "id": "p1" }))
    } else {
        refuse(StatusCode::CONFLICT, "this person is registered")
    }
}

fn troubled(status: u16, after: Option<u64>) -> Response<Full<Bytes>> {
    let status = StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
    let mut answer = refuse(status, "trouble");
    if let Some(seconds) = after {
        answer.headers_mut().insert(header::RETRY_AFTER, HeaderValue::from(seconds));
    }
    answer
}

async fn person(headers: &http::HeaderMap, body: Incoming) -> Result<Person, (StatusCode, String)> {
    let unprocessable = |words: &str| Err((StatusCode::UNPROCESSABLE_ENTITY, words.to_owned()));
    let is_json = headers
        .get(header::CONTENT_TYPE)
        .is_some_and(|value| value.as_bytes().starts_with(b"application/json"));
    if !is_json {
        return Err((StatusCode::UNSUPPORTED_MEDIA_TYPE, "send JSON".to_owned()));
    }
    let read = tokio::time::timeout(Duration::from_secs(5), served::body(body, LONGEST)).await;
    let Ok(Ok(body)) = read else { return unprocessable("the body cannot be read") };
    let person: Person = match serde_json::from_slice(&body) {
        Ok(person) => person,
        Err(error) => return unprocessable(&error.to_string()),
    };
    let (user, domain) = person.email.split_once('@').unwrap_or_default();
    if user.is_empty() || !domain.contains('.') {
        return unprocessable("email is no address");
    }
    for name in [&person.first_name, &person.last_name] {
        if name.trim().is_empty() || name.len() > LONGEST_NAME {
            return unprocessable("a name is empty or too long");
        }
    }
    Ok(person)
}

fn refuse(status: StatusCode, words: &str) -> Response<Full<Bytes>> {
    served::json(status, &json!({ "error": words }))
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use serde_json::Value;

    use super::*;

    async fn post(people: &People, token: Option<&str>, body: &Value) -> (u16, Option<String>) {
        let http = reqwest::Client::builder().no_proxy().build().unwrap();
        let mut request = http.post(format!("{}/v1/people", people.url())).json(body);
        if let Some(token) = token {
            request = request.bearer_auth(token);
        }
        let answer = request.send().await.unwrap();
        let after = answer.headers().get("retry-after").map(|it| it.to_str().unwrap().to_owned());
        (answer.status().as_u16(), after)
    }

    fn ann() -> Value {
        json!({ "email": "ann@ai.flow.life", "first_name": "agent", "last_name": "Ann" })
    }

    #[tokio::test]
    async fn it_refuses_what_a_real_service_would() {
        let people = People::start("s3cret").await.unwrap();
        assert_eq!(post(&people, None, &ann()).await.0, 401);
        assert_eq!(post(&people, Some("other"), &ann()).await.0, 401);
        for (field, value) in [
            ("email", json!("ann")),
            ("last_name", json!(" ")),
            ("first_name", Value::Null),
            ("age", json!(7)),
        ] {
            let mut body = ann();
            body[field] = value;
            assert_eq!(post(&people, Some("s3cret"), &body).await.0, 422, "{field}");
        }
        assert_eq!(people.registered(), []);
        assert_eq!(post(&people, Some("s3cret"), &ann()).await.0, 201);
        assert_eq!(post(&people, Some("s3cret"), &ann()).await.0, 409);
        assert_eq!(people.registered().len(), 2);
        people.stop().await;
    }

    #[tokio::test]
    async fn its_moods_are_changed_while_a_call_waits() {
        let people = People::start("s3cret").await.unwrap();
        people.set(Mood::Answers(429, Some(7)));
        let told = post(&people, Some("s3cret"), &ann()).await;
        assert_eq!(told, (429, Some("7".to_owned())));
        people.set(Mood::Hangs(String::new()));
        let body = ann();
        let mut call = Box::pin(post(&people, Some("s3cret"), &body));
        while people.calls().len() < 2 {
            assert!(futures::poll!(call.as_mut()).is_pending());
            tokio::task::yield_now().await;
        }
        people.set(Mood::Well);
        assert_eq!(call.as_mut().await.0, 201);
        drop(call);
        people.stop().await;
    }
}
