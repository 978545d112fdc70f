//! A development OIDC issuer: signs a token for whoever asks. Never for production.

mod key;
mod serve;

use std::net::SocketAddr;
use std::path::Path;
use std::sync::{Arc, RwLock};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use key::Key;

/// The audience of a token that names none.
pub const AUDIENCE: &str = "foundry";

/// Whom a token is for.
#[derive(Clone, Debug, Deserialize, Serialize)]
#[serde(deny_unknown_fields)]
pub struct TokenRequest {
    /// The person.
    pub sub: String,
    /// Claim `workspaces`.
    #[serde(default)]
    pub workspaces: Vec<String>,
    /// Claim `roles`.
    #[serde(default)]
    pub roles: Vec<String>,
    /// How long it holds.
    #[serde(default = "an_hour")]
    pub ttl_seconds: u64,
    /// Claim `aud`.
    #[serde(default = "audience")]
    pub audience: String,
}

fn an_hour() -> u64 {
    3600
}

fn audience() -> String {
    AUDIENCE.to_owned()
}

impl TokenRequest {
    /// A person of these workspaces, without roles.
    pub fn person(sub: impl Into<String>, workspaces: &[&str]) -> Self {
        Self {
            sub: sub.into(),
            workspaces: workspaces.iter().map(|&name| name.to_owned()).collect(),
            roles: Vec::new(),
            ttl_seconds: an_hour(),
            audience: audience(),
        }
    }

    /// With these roles.
    #[must_use]
    pub fn with_roles(mut self, roles: &[&str]) -> Self {
        self.roles = roles.iter().map(|&name| name.to_owned()).collect();
        self
    }
}

/// A running issuer. Dropping it stops it.
#[derive(Debug)]
pub struct Issuer {
    signer: Arc<Signer>,
    address: SocketAddr,
    stop: CancellationToken,
    tasks: TaskTracker,
}

/// What signs, and what the key documents show.
#[derive(Debug)]
struct Signer {
    url: String,
    keys: RwLock<Vec<Key>>,
}

impl Issuer {
    /// Listens on a free loopback port, with a key of its own.
    pub async fn start() -> anyhow::Result<Self> {
        Self::serve(SocketAddr::from(([127, 0, 0, 1], 0)), Key::generate()?).await
    }

    /// Listens on `address`, with the key kept in `folder`: tokens outlive a restart.
    pub async fn listen(address: SocketAddr, folder: &Path) -> anyhow::Result<Self> {
        Self::serve(address, Key::kept_in(folder)?).await
    }

    async fn serve(address: SocketAddr, key: Key) -> anyhow::Result<Self> {
        let listener = TcpListener::bind(address)
            .await
            .with_context(|| format!("failed to listen on {address}"))?;
        let address = listener.local_addr().context("failed to read the port")?;
        let signer =
            Arc::new(Signer { url: format!("http://{address}"), keys: RwLock::new(vec![key]) });
        let (stop, tasks) = (CancellationToken::new(), TaskTracker::new());
        let routes = serve::Routes(signer.clone());
        tasks.spawn(crate::http::accept(listener, routes, stop.clone(), tasks.clone()));
        Ok(Self { signer, address, stop, tasks })
    }

    /// The issuer's URL, as it stands in `iss`.
    pub fn url(&self) -> &str {
        &self.signer.url
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// A token for this person.
    pub fn token(&self, request: &TokenRequest) -> anyhow::Result<String> {
        self.signer.token(request)
    }

    /// A token with exactly these claims, however wrong.
    pub fn sign(&self, claims: &Value) -> anyhow::Result<String> {
        self.signer.sign(claims)
    }

    /// From now on signs with a new key; the old one stays in the key document.
    pub fn rotate(&self) -> anyhow::Result<()> {
        let key = Key::generate()?;
        self.signer.keys.write().map_err(|_| poisoned())?.insert(0, key);
        Ok(())
    }

    /// Stops listening and waits for the answers under way.
    pub async fn stop(&self) {
        self.stop.cancel();
        self.tasks.close();
        self.tasks.wait().await;
    }
}

impl Drop for Issuer {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

impl Signer {
    fn token(&self, request: &TokenRequest) -> anyhow::Result<String> {
        let TokenRequest { sub, workspaces, roles, ttl_seconds, audience } = request;
        let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_secs();
        self.sign(&json!({
            "iss": self.url, "aud": audience, "sub": sub, "workspaces": workspaces,
            "roles": roles, "iat": now, "nbf": now, "exp": now.saturating_add(*ttl_seconds),
        }))
    }

    fn sign(&self, claims: &Value) -> anyhow::Result<String> {
        let keys = self.keys.read().map_err(|_| poisoned())?;
        keys.first().context("there is no key")?.sign(claims)
    }

    fn key_document(&self) -> anyhow::Result<Value> {
        let keys = self.keys.read().map_err(|_| poisoned())?;
        let keys: Vec<&jsonwebtoken::jwk::Jwk> = keys.iter().map(Key::public).collect();
        Ok(json!({"keys": keys}))
    }

    fn discovery_document(&self) -> Value {
        json!({
            "issuer": self.url, "jwks_uri": format!("{}/jwks.json", self.url),
            "token_endpoint": format!("{}/token", self.url),
            "id_token_signing_alg_values_supported": ["ES256"],
            "response_types_supported": ["token"], "subject_types_supported": ["public"],
        })
    }
}

fn poisoned() -> anyhow::Error {
    anyhow::anyhow!("a thread died while it held the keys")
}

#[cfg(test)]
mod tests;
