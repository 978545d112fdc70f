use std::sync::{
    Arc, Mutex,
    atomic::{AtomicI64, Ordering},
};

use axum::{Json, Router};
use http::StatusCode;
use jiff::Timestamp;
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use tokio_util::task::AbortOnDropHandle;

use super::*;

/// A key document that can be changed, or be away, and a clock that can be moved on.
struct Setup {
    keys: Keys,
    document: Arc<Mutex<Option<Value>>>,
    seconds: Arc<AtomicI64>,
    _server: AbortOnDropHandle<()>,
}

#[expect(clippy::disallowed_methods, reason = "a test's own server, which ends with it")]
async fn setup(document: Option<Value>) -> Setup {
    drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
    let document = Arc::new(Mutex::new(document));
    let shown = document.clone();
    let answer = move || {
        let document = shown.lock().unwrap().clone();
        async move { document.map(Json).ok_or(StatusCode::BAD_GATEWAY) }
    };
    let router = Router::new().fallback(answer);
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/", listener.local_addr().unwrap());
    let server = tokio::spawn(async move { axum::serve(listener, router).await.unwrap() });
    let seconds = Arc::new(AtomicI64::new(0));
    let told = seconds.clone();
    let clock = Clock::new(move || Timestamp::from_second(told.load(Ordering::SeqCst)).unwrap());
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let keys = Keys::new(http, "https://issuer".to_owned(), Some(url), clock);
    Setup { keys, document, seconds, _server: AbortOnDropHandle::new(server) }
}

impl Setup {
    fn pass(&self, time: SignedDuration) {
        self.seconds.fetch_add(time.as_secs(), Ordering::SeqCst);
    }

    async fn find(&self, kid: &str) -> StatusCode {
        self.keys.find(kid).await.map_or_else(|problem| problem.status(), |_| StatusCode::OK)
    }
}

fn keys(kids: &[&str]) -> Value {
    let key = |kid: &&str| {
        let x = "11qYAYKxCrfVS_7TyWQHOg7hcvPapiMlrwIaaPcHURo";
        json!({"kty": "OKP", "crv": "Ed25519", "kid": kid, "x": x})
    };
    json!({"keys": kids.iter().map(key).collect::<Vec<_>>()})
}

#[tokio::test]
async fn while_the_issuer_is_away_every_caller_is_told_so_and_none_that_its_token_is_bad() {
    let setup = setup(None).await;
    for _ in 0..2 {
        assert_eq!(setup.find("a").await, StatusCode::SERVICE_UNAVAILABLE);
    }
    *setup.document.lock().unwrap() = Some(keys(&["a"]));
    setup.pass(MIN_BETWEEN_FETCHES);
    assert_eq!(setup.find("a").await, StatusCode::OK);
    assert_eq!(setup.find("invented").await, StatusCode::UNAUTHORIZED);
}

#[tokio::test]
async fn a_key_that_the_issuer_has_taken_back_is_refused_after_a_while() {
    let setup = setup(Some(keys(&["a", "b"]))).await;
    assert_eq!(setup.find("a").await, StatusCode::OK);
    *setup.document.lock().unwrap() = Some(keys(&["b"]));
    setup.pass(BELIEVED);
    assert_eq!(setup.find("a").await, StatusCode::UNAUTHORIZED);
    assert_eq!(setup.find("b").await, StatusCode::OK);

    // An issuer that is away takes nothing back.
    *setup.document.lock().unwrap() = None;
    setup.pass(BELIEVED);
    assert_eq!(setup.find("b").await, StatusCode::OK);
}
