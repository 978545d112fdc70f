//! The issuer's routes.

use std::sync::Arc;

use anyhow::Context;
use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body_util::Full;
use hyper::body::Incoming;
use serde_json::{Value, json};

use super::{Signer, TokenRequest};
use crate::http::{self as served, Service};

/// Most bytes of a token request.
const LONGEST: usize = 64 * 1024;

#[derive(Clone)]
pub(super) struct Routes(pub Arc<Signer>);

impl Service for Routes {
    async fn answer(&self, request: Request<Incoming>) -> Response<Full<Bytes>> {
        let Self(signer) = self;
        let route = (request.method().clone(), request.uri().path().to_owned());
        let answer = match (&route.0, route.1.as_str()) {
            (&Method::GET, "/livez") => Ok(json!("ok")),
            (&Method::GET, "/.well-known/openid-configuration") => Ok(signer.discovery_document()),
            (&Method::GET, "/jwks.json") => signer.key_document(),
            (&Method::POST, "/token") => token(request, signer).await,
            (method, path) => {
                let words = format!("{method} {path} is no route of the issuer");
                return served::json(StatusCode::NOT_FOUND, &json!({"error": words}));
            }
        };
        match answer {
            Ok(body) => served::json(StatusCode::OK, &body),
            Err(error) => {
                served::json(StatusCode::BAD_REQUEST, &json!({"error": format!("{error:#}")}))
            }
        }
    }
}

async fn token(request: Request<Incoming>, signer: &Signer) -> anyhow::Result<Value> {
    let body = served::body(request.into_body(), LONGEST).await?;
    let wanted: TokenRequest = serde_json::from_slice(&body)
        .context("send {sub, workspaces, roles, ttl_seconds} as JSON")?;
    let token = signer.token(&wanted)?;
    Ok(json!({"access_token": token, "token_type": "Bearer", "expires_in": wanted.ttl_seconds}))
}
