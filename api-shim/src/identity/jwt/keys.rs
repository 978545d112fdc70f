//! The issuer's public keys: cached, and fetched again when a token names a key that
//! is not among them, but not more often than every few seconds.

use std::time::Duration;

use arc_swap::ArcSwap;
use jsonwebtoken::{
    DecodingKey,
    jwk::{Jwk, JwkSet},
};
use serde::Deserialize;
use tokio::{sync::Mutex, time::Instant};

use crate::problem::Problem;

/// Shortest time between two fetches, whatever keys callers invent.
const MIN_BETWEEN_FETCHES: Duration = Duration::from_secs(5);
/// Time one fetch may take.
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);
/// Largest key document that is read.
const MAX_DOCUMENT: usize = 256 * 1024;

pub struct Keys {
    http: reqwest::Client,
    issuer: String,
    jwks_url: Option<String>,
    known: ArcSwap<JwkSet>,
    last_fetch: Mutex<Option<Instant>>,
}

#[derive(Deserialize)]
struct Discovery {
    jwks_uri: String,
}

impl Keys {
    pub fn new(http: reqwest::Client, issuer: String, jwks_url: Option<String>) -> Self {
        let known = ArcSwap::from_pointee(JwkSet { keys: Vec::new() });
        Self { http, issuer, jwks_url, known, last_fetch: Mutex::new(None) }
    }

    pub async fn find(&self, kid: &str) -> Result<DecodingKey, Problem> {
        if let Some(key) = self.known.load().find(kid) {
            return decoding(key);
        }
        self.refresh(kid).await?;
        let known = self.known.load();
        let key = known.find(kid).ok_or_else(|| {
            Problem::unauthenticated("the token's key (kid) is not of this issuer")
        })?;
        decoding(key)
    }

    async fn refresh(&self, kid: &str) -> Result<(), Problem> {
        let mut last_fetch = self.last_fetch.lock().await;
        // Somebody else may have fetched while we waited for the lock.
        let recently = last_fetch.is_some_and(|last| last.elapsed() < MIN_BETWEEN_FETCHES);
        if recently || self.known.load().find(kid).is_some() {
            return Ok(());
        }
        *last_fetch = Some(Instant::now());
        let keys = tokio::time::timeout(FETCH_TIMEOUT, self.fetch())
            .await
            .unwrap_or_else(|_| Err("no answer in time".to_owned()))
            .map_err(|cause| {
                tracing::warn!(issuer = %self.issuer, %cause, "failed to fetch the issuer's keys");
                Problem::unavailable("IssuerUnavailable", "the token's issuer does not answer")
            })?;
        self.known.store(std::sync::Arc::new(keys));
        Ok(())
    }

    async fn fetch(&self) -> Result<JwkSet, String> {
        if let Some(url) = &self.jwks_url {
            return self.document(url).await;
        }
        let issuer = self.issuer.trim_end_matches('/');
        let discovery = format!("{issuer}/.well-known/openid-configuration");
        let discovery: Discovery = self.document(&discovery).await?;
        self.document(&discovery.jwks_uri).await
    }

    async fn document<T: for<'de> Deserialize<'de>>(&self, url: &str) -> Result<T, String> {
        let failed = |error: &dyn std::fmt::Display| format!("failed to read {url}: {error}");
        let response = self.http.get(url).send().await.map_err(|error| failed(&error))?;
        let mut response = response.error_for_status().map_err(|error| failed(&error))?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(|error| failed(&error))? {
            body.extend_from_slice(&chunk);
            if body.len() > MAX_DOCUMENT {
                return Err(failed(&"the document is too long"));
            }
        }
        serde_json::from_slice(&body).map_err(|error| failed(&error))
    }
}

fn decoding(key: &Jwk) -> Result<DecodingKey, Problem> {
    DecodingKey::from_jwk(key)
        .map_err(|error| Problem::unauthenticated(format!("the issuer's key is unusable: {error}")))
}
