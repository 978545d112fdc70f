//! A relay with Models, Secrets and a store of its own.

use std::collections::HashMap;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use foundry_crds::model::{Prices, Provider, SecretKeyRef};
use foundry_crds::{Model, ModelSpec};
use foundry_relay::{
    Answer, Broker, CallerContext, Limits, ModelSource, Relay, RelayOptions, SourceError,
    StreamError, Wire,
};
use foundry_store::{AgentKey, PageRequest, Store, Usage};
use futures::StreamExt as _;
use http::{HeaderMap, Response, StatusCode};
use jiff::Timestamp;
use secrecy::SecretString;
use serde_json::{Value, json};
use tempfile::TempDir;

pub const NAMESPACE: &str = "foundry-agents";
pub const MAILBOX: &str = "ann@dev-ai.example";
pub const KEY: &str = "sk-planted-0123456789-abcdefghijkl";

/// Models and Secrets as a cluster would hold them.
#[derive(Default)]
pub struct Cluster {
    pub models: Mutex<Vec<Arc<Model>>>,
    pub secrets: Mutex<HashMap<(String, String), String>>,
}

#[async_trait]
impl ModelSource for Cluster {
    async fn models(&self, namespace: &str) -> Result<Vec<Arc<Model>>, SourceError> {
        if namespace != NAMESPACE {
            return Err(SourceError::Unavailable("the cluster is away".into()));
        }
        Ok(self.models.lock().unwrap().clone())
    }

    async fn secret(&self, _: &str, name: &str, key: &str) -> Result<SecretString, SourceError> {
        let secrets = self.secrets.lock().unwrap();
        let found = secrets.get(&(name.to_owned(), key.to_owned()));
        found.map(|key| key.clone().into()).ok_or(SourceError::NotFound)
    }
}

pub struct Setup {
    pub relay: Relay,
    pub cluster: Arc<Cluster>,
    pub store: Store,
    pub folder: TempDir,
    /// Kept as long as the relay.
    pub folders: Vec<TempDir>,
}

pub async fn setup() -> Setup {
    setup_with(Limits::default()).await
}

pub async fn setup_with(limits: Limits) -> Setup {
    setup_of(limits, None).await
}

pub async fn setup_of(limits: Limits, broker: Option<Broker>) -> Setup {
    drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open_file(folder.path().join("foundry.db")).await.unwrap();
    let cluster = Arc::new(Cluster::default());
    let options = RelayOptions {
        models: cluster.clone(),
        store: store.clone(),
        clock: Arc::new(now),
        limits,
        broker,
    };
    Setup { relay: Relay::new(options).unwrap(), cluster, store, folder, folders: Vec::new() }
}

fn now() -> Timestamp {
    "2026-03-01T08:00:00Z".parse().unwrap()
}

impl Setup {
    /// Adds a Model at `base_url` whose key is in Secret `provider-key`.
    pub fn model(&self, wire_id: &str, provider: Provider, base_url: &str) {
        let spec = ModelSpec {
            wire_id: wire_id.into(),
            provider,
            upstream_model: Some(format!("{wire_id}-upstream")),
            base_url: Some(base_url.into()),
            api_key: Some(SecretKeyRef { name: "provider-key".into(), key: "apiKey".into() }),
            max_context_tokens: None,
            reasoning_efforts: Vec::new(),
            prices: Some(Prices {
                input: 1_000_000,
                output: 2_000_000,
                cache_read: Some(100_000),
                cache_write: None,
            }),
        };
        self.cluster.models.lock().unwrap().push(Arc::new(Model::new(wire_id, spec)));
        self.key(KEY);
    }

    /// Puts the provider's key into its Secret.
    pub fn key(&self, value: &str) {
        let place = ("provider-key".to_owned(), "apiKey".to_owned());
        self.cluster.secrets.lock().unwrap().insert(place, value.to_owned());
    }

    pub async fn forward(&self, wire: Wire, body: impl Into<Bytes>) -> Response<Answer> {
        self.forward_with(wire, &HeaderMap::new(), body).await
    }

    pub async fn forward_with(
        &self,
        wire: Wire,
        headers: &HeaderMap,
        body: impl Into<Bytes>,
    ) -> Response<Answer> {
        self.relay.forward(caller(NAMESPACE), wire, headers, body.into()).await
    }

    /// The agent's usage records; a caller that read to the end finds its own.
    pub async fn usage(&self) -> Vec<Usage> {
        let page = PageRequest { limit: 50, cursor: None };
        self.store.list_usage(&ann(), &page).await.unwrap().items
    }

    /// The one record there is, once all is written.
    pub async fn settled_usage(&self) -> Usage {
        tokio::time::timeout(Duration::from_secs(20), self.relay.close()).await.unwrap();
        let mut usage = self.usage().await;
        assert_eq!(usage.len(), 1, "{usage:?}");
        usage.remove(0)
    }
}

pub fn ann() -> AgentKey {
    AgentKey::new(NAMESPACE, "ann")
}

pub fn caller(namespace: &str) -> CallerContext {
    CallerContext {
        namespace: namespace.into(),
        agent: "ann".into(),
        mailbox: Some(MAILBOX.into()),
        request_id: "req-7".into(),
    }
}

/// A small streamed request of either form.
pub fn streamed(wire: Wire, model: &str) -> String {
    request(wire, model, true)
}

pub fn request(wire: Wire, model: &str, stream: bool) -> String {
    let user = json!({"role": "user", "content": "hello"});
    match wire {
        Wire::OpenAi => json!({"model": model, "stream": stream, "messages": [user]}),
        Wire::Anthropic => {
            json!({"model": model, "max_tokens": 64, "stream": stream, "messages": [user]})
        }
    }
    .to_string()
}

/// The whole body, or how it broke.
pub async fn read(answer: Response<Answer>) -> (StatusCode, Result<Vec<u8>, StreamError>) {
    let status = answer.status();
    let mut body = answer.into_body();
    let mut bytes = Vec::new();
    while let Some(chunk) = body.next().await {
        match chunk {
            Ok(chunk) => bytes.extend_from_slice(&chunk),
            Err(error) => return (status, Err(error)),
        }
    }
    (status, Ok(bytes))
}

pub async fn read_json(answer: Response<Answer>) -> (StatusCode, Value) {
    let (status, bytes) = read(answer).await;
    (status, serde_json::from_slice(&bytes.unwrap()).unwrap())
}
