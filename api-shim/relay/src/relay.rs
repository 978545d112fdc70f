//! One call, from the caller's bytes to the provider's answer.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use foundry_crds::Model;
use foundry_llm::{Wire, chain};
use foundry_store::{AgentKey, Store};
use futures::StreamExt as _;
use http::{HeaderMap, HeaderValue, Response, header};
use jiff::Timestamp;
use secrecy::{ExposeSecret as _, SecretString};
use tokio_util::{sync::CancellationToken, task::TaskTracker};

use crate::body::Body;
use crate::broker::Broker;
use crate::client::Clients;
use crate::headers;
use crate::meter::{Book, Call, Meter, Outcome};
use crate::models::{ModelSource, SourceError};
use crate::redact::Redactor;
use crate::refusal::Refusal;
use crate::resolve::{resolve, upstream_model, wire_of};
use crate::stream::{Answer, Passage, whole};
use crate::upstream::upstream_url;

/// Tells the time.
pub type Clock = Arc<dyn Fn() -> Timestamp + Send + Sync>;

/// How long a provider may take.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limits {
    /// Until its response headers (LOOP-20).
    pub headers: Duration,
    /// Between two arrivals of bytes after them.
    pub idle: Duration,
}

impl Default for Limits {
    fn default() -> Self {
        Self { headers: Duration::from_mins(10), idle: Duration::from_mins(10) }
    }
}

/// What a relay works with.
pub struct RelayOptions {
    /// Where Models and keys come from.
    pub models: Arc<dyn ModelSource>,
    /// Where usage is kept.
    pub store: Store,
    /// The binary's clock.
    pub clock: Clock,
    /// How long providers may take.
    pub limits: Limits,
    /// The broker that takes the shared service token, where there is one.
    pub broker: Option<Broker>,
}

/// The HTTP client could not be set up.
#[derive(Debug, thiserror::Error)]
#[error("failed to set up the relay's http client: {0}")]
pub struct BuildError(String);

/// Who calls, for whom, under which id.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallerContext {
    /// Namespace of the agent: its Models are used.
    pub namespace: String,
    /// The agent that the call is metered to.
    pub agent: String,
    /// Its mailbox, the usage person (BIND-04).
    pub mailbox: Option<String>,
    /// Our id of the request.
    pub request_id: String,
}

/// The broker of model calls. Clones share their connections.
#[derive(Clone)]
pub struct Relay {
    models: Arc<dyn ModelSource>,
    clients: Clients,
    limits: Limits,
    broker: Option<Broker>,
    book: Book,
    /// Ends the calls under way.
    ending: CancellationToken,
}

/// A call that is ready to be sent.
struct Prepared {
    model_name: String,
    request: reqwest::RequestBuilder,
    redactor: Redactor,
    call: Call,
}

impl Relay {
    /// A relay that has answered nothing yet.
    pub fn new(options: RelayOptions) -> Result<Self, BuildError> {
        let RelayOptions { models, store, clock, limits, broker } = options;
        let clients = Clients::new().map_err(|error| BuildError(chain(&error)))?;
        let book = Book { store, clock, open: TaskTracker::new() };
        Ok(Self { models, clients, limits, broker, book, ending: CancellationToken::new() })
    }

    /// Sends a caller's request body, in the form of `wire`, to the provider of its
    /// model and gives the provider's answer: status, body as it comes, form, pacing
    /// and request ids. Where there is no such answer, the relay's own refusal.
    pub async fn forward(
        &self,
        caller: CallerContext,
        wire: Wire,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Response<Answer> {
        let request_id = caller.request_id.clone();
        let agent = caller.agent.clone();
        match self.answer(caller, wire, headers, body).await {
            Ok(answer) => answer,
            Err(refusal) => {
                tracing::warn!(
                    agent.name = agent,
                    request_id,
                    reason = refusal.reason(),
                    "model call refused: {refusal}",
                );
                refused(&refusal, wire, &request_id)
            }
        }
    }

    /// Ends the calls that are still under way and waits until the usage of each is
    /// recorded; for shutdown, after answers had their time to end by themselves.
    pub async fn close(&self) {
        self.ending.cancel();
        self.book.open.close();
        self.book.open.wait().await;
    }

    async fn answer(
        &self,
        caller: CallerContext,
        wire: Wire,
        headers: &HeaderMap,
        body: Bytes,
    ) -> Result<Response<Answer>, Refusal> {
        let body = Body::read(body, wire)?;
        let model = self.model(&caller.namespace, &body.model).await?;
        let prepared = self.prepare(caller, wire, headers, &body, &model).await?;
        self.send(prepared).await
    }

    async fn model(&self, namespace: &str, asked: &str) -> Result<Model, Refusal> {
        let models = self.models.models(namespace).await.map_err(|error| Refusal::Source {
            what: format!("the Models of namespace {namespace}"),
            words: error.to_string(),
        })?;
        Ok(resolve(asked, &models)?.clone())
    }

    async fn prepare(
        &self,
        caller: CallerContext,
        wire: Wire,
        headers: &HeaderMap,
        body: &Body,
        model: &Model,
    ) -> Result<Prepared, Refusal> {
        let name = model.metadata.name.clone().unwrap_or_default();
        let speaks = wire_of(model.spec.provider);
        if speaks != wire {
            return Err(Refusal::Wire { model: name, speaks });
        }
        let url = upstream_url(&model.spec)
            .map_err(|problem| Refusal::Address { model: name.clone(), problem })?;
        let key = self.key(&caller.namespace, &name, model).await?;
        let mut headers = headers::to_provider(headers, wire, key.as_ref()).map_err(|_| {
            let secret = model.spec.api_key.as_ref().map(|key| key.name.clone());
            Refusal::SecretUnusable { model: name.clone(), secret: secret.unwrap_or_default() }
        })?;
        let key = match self.broker.as_ref().filter(|broker| broker.serves(model, &url)) {
            None => key,
            Some(broker) => {
                let failed = |problem| Refusal::Broker { model: name.clone(), problem };
                let mailbox = caller.mailbox.as_deref();
                Some(broker.sign(&mut headers, mailbox).await.map_err(failed)?)
            }
        };
        let upstream_model = upstream_model(model);
        let request = self
            .clients
            .for_url(&url)
            .post(url)
            .headers(headers)
            .body(body.with_model(upstream_model));
        let call = Call {
            key: AgentKey::new(caller.namespace, caller.agent),
            mailbox: caller.mailbox,
            request_id: caller.request_id,
            model: model.spec.wire_id.clone(),
            upstream_model: upstream_model.to_owned(),
            wire,
            prices: model.spec.prices.clone().unwrap_or_default(),
            request_bytes: body.len(),
            started_at: (self.book.clock)(),
        };
        Ok(Prepared { model_name: name, request, redactor: Redactor::new(key), call })
    }

    /// The provider's key, without the line break that files end with.
    async fn key(
        &self,
        namespace: &str,
        model_name: &str,
        model: &Model,
    ) -> Result<Option<SecretString>, Refusal> {
        let Some(reference) = &model.spec.api_key else { return Ok(None) };
        let found = self.models.secret(namespace, &reference.name, &reference.key).await;
        let missing = || Refusal::SecretMissing {
            model: model_name.to_owned(),
            secret: reference.name.clone(),
            key: reference.key.clone(),
        };
        let key = found.map_err(|error| match error {
            SourceError::NotFound => missing(),
            SourceError::Unavailable(words) => {
                Refusal::Source { what: format!("Secret {}", reference.name), words }
            }
        })?;
        match key.expose_secret().trim() {
            "" => Err(missing()),
            trimmed => Ok(Some(trimmed.into())),
        }
    }

    async fn send(&self, prepared: Prepared) -> Result<Response<Answer>, Refusal> {
        let Prepared { model_name, request, redactor, call } = prepared;
        // From here on the provider may work: whatever ends the call, it is counted.
        let mut meter = Meter::start(call, self.book.clone());
        let sending = tokio::time::timeout(self.limits.headers, request.send());
        let Some(sent) = self.ending.run_until_cancelled(sending).await else {
            meter.settle(Outcome::Interrupted).await;
            return Err(Refusal::Ending);
        };
        let response = match sent {
            Ok(Ok(response)) => response,
            Ok(Err(error)) => {
                meter.forget();
                let words = chain(&error.without_url());
                return Err(Refusal::Unreachable { model: model_name, words });
            }
            Err(_) => {
                meter.settle(Outcome::TimedOut).await;
                let seconds = self.limits.headers.as_secs();
                return Err(Refusal::Timeout { model: model_name, seconds });
            }
        };
        let status = response.status();
        let headers = headers::to_caller(response.headers(), &redactor);
        let meter = if status.is_success() {
            let content_type = headers.get(header::CONTENT_TYPE).and_then(|v| v.to_str().ok());
            meter.answered(status.as_u16(), content_type);
            Some(meter)
        } else {
            meter.forget();
            None
        };
        let body = response.bytes_stream().boxed();
        let (idle, ending) = (self.limits.idle, self.ending.clone());
        let passage = Passage { body, meter, redactor, idle, ending };
        let mut answer = Response::new(passage.into_answer());
        *answer.status_mut() = status;
        *answer.headers_mut() = headers;
        Ok(answer)
    }
}

fn refused(refusal: &Refusal, wire: Wire, request_id: &str) -> Response<Answer> {
    let mut response = Response::new(whole(refusal.body(wire, request_id)));
    *response.status_mut() = refusal.status();
    let form = HeaderValue::from_static("application/problem+json");
    response.headers_mut().insert(header::CONTENT_TYPE, form);
    response
}
