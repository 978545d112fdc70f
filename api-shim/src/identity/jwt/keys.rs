//! The issuer's public keys: cached, and fetched again when they are old or a token names
//! a key that is not among them, but not more often than every few seconds.

use std::time::Duration;

use arc_swap::ArcSwap;
use jiff::{SignedDuration, Timestamp};
use jsonwebtoken::{
    DecodingKey,
    jwk::{Jwk, JwkSet},
};
use serde::Deserialize;
use tokio::sync::Mutex;

use crate::{app::Clock, problem::Problem};

/// Shortest time between two fetches, whatever keys callers invent.
const MIN_BETWEEN_FETCHES: SignedDuration = SignedDuration::from_secs(5);
/// How long fetched keys are believed: a key that the issuer takes back is refused after
/// that.
const BELIEVED: SignedDuration = SignedDuration::from_mins(10);
/// Time one fetch may take.
const FETCH_TIMEOUT: Duration = Duration::from_secs(5);
/// Largest key document that is read.
const MAX_DOCUMENT: usize = 256 * 1024;

pub struct Keys {
    http: reqwest::Client,
    issuer: String,
    jwks_url: Option<String>,
    clock: Clock,
    known: ArcSwap<Known>,
    last: Mutex<Option<Attempt>>,
}

/// What a fetch brought.
struct Known {
    keys: JwkSet,
    fetched_at: Timestamp,
}

/// The last fetch.
#[derive(Clone, Copy)]
struct Attempt {
    at: Timestamp,
    succeeded: bool,
}

#[derive(Deserialize)]
struct Discovery {
    jwks_uri: String,
}

impl Keys {
    pub fn new(
        http: reqwest::Client,
        issuer: String,
        jwks_url: Option<String>,
        clock: Clock,
    ) -> Self {
        let none = Known { keys: JwkSet::default(), fetched_at: Timestamp::UNIX_EPOCH };
        let known = ArcSwap::from_pointee(none);
        Self { http, issuer, jwks_url, clock, known, last: Mutex::new(None) }
    }

    pub async fn find(&self, kid: &str) -> Result<DecodingKey, Problem> {
        match self.known.load().keys.find(kid) {
            Some(key) if self.are_recent() => return decoding(key),
            // Old keys serve while one caller fetches, and while the issuer is away.
            Some(_) => {
                if let Ok(mut last) = self.last.try_lock() {
                    self.refresh(&mut last).await;
                }
            }
            None => {
                let mut last = self.last.lock().await;
                // Somebody else may have fetched while we waited for the lock.
                if self.known.load().keys.find(kid).is_none() && !self.refresh(&mut last).await {
                    return Err(Problem::unavailable(
                        "IssuerUnavailable",
                        "the token's issuer does not answer",
                    ));
                }
            }
        }
        let known = self.known.load();
        let key = known.keys.find(kid).ok_or_else(|| {
            Problem::unauthenticated("the token's key (kid) is not of this issuer")
        })?;
        decoding(key)
    }

    fn are_recent(&self) -> bool {
        self.clock.now().duration_since(self.known.load().fetched_at) < BELIEVED
    }

    /// Fetches the keys, unless that was tried just now; says whether the last try
    /// brought them.
    async fn refresh(&self, last: &mut Option<Attempt>) -> bool {
        let now = self.clock.now();
        if let Some(attempt) = last
            && now.duration_since(attempt.at) < MIN_BETWEEN_FETCHES
        {
            return attempt.succeeded;
        }
        let fetched = tokio::time::timeout(FETCH_TIMEOUT, self.fetch())
            .await
            .unwrap_or_else(|_| Err("no answer in time".to_owned()));
        *last = Some(Attempt { at: self.clock.now(), succeeded: fetched.is_ok() });
        match fetched {
            Ok(keys) => {
                self.known.store(Known { keys, fetched_at: now }.into());
                true
            }
            Err(cause) => {
                tracing::warn!(issuer = %self.issuer, %cause, "failed to fetch the issuer's keys");
                false
            }
        }
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

#[cfg(test)]
mod tests;
