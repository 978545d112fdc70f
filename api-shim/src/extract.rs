//! What a handler takes from a request: the caller first, and content that is only
//! read once the caller is allowed.

use std::error::Error as _;

use axum::{
    body::Bytes,
    extract::{FromRequest, FromRequestParts, Request},
    http::request::Parts,
};
use http::StatusCode;
use serde::de::DeserializeOwned;

use crate::{app::App, identity::Principal, problem::Problem};

/// The authenticated caller of this request.
#[derive(Clone, Debug)]
pub struct Caller(pub Principal);

impl FromRequestParts<App> for Caller {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, app: &App) -> Result<Self, Problem> {
        // Until the lists are whole, absence means nothing: a list would be short, a
        // slug would seem free.
        if !app.cluster.unready().is_empty() {
            let detail = "the API has not read the cluster yet";
            return Err(Problem::unavailable("NotReady", detail).remedy("try again in a moment"));
        }
        app.identity.authenticate(&parts.headers).await.map(Self)
    }
}

/// The bytes of a body. They are bounded when read and parsed only after the caller is
/// authorized, so that a refusal never depends on content.
pub struct Payload(Bytes);

impl Payload {
    /// Reads the body as `T`: 400 when it is no JSON, 422 when a field is wrong.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        axum::Json::<T>::from_bytes(&self.0)
            .map(|axum::Json(value)| value)
            .map_err(|rejection| unreadable_body(&rejection))
    }

    /// The bytes as they came.
    pub fn into_bytes(self) -> Bytes {
        self.0
    }
}

impl FromRequest<App> for Payload {
    type Rejection = Problem;

    async fn from_request(request: Request, app: &App) -> Result<Self, Problem> {
        Bytes::from_request(request, app).await.map(Self).map_err(|rejection| {
            match rejection.status() {
                StatusCode::PAYLOAD_TOO_LARGE => Problem::new(
                    StatusCode::PAYLOAD_TOO_LARGE,
                    "BodyTooLarge",
                    "the body is longer than this route takes",
                )
                .remedy("send less at once"),
                _ => Problem::malformed("the body could not be read to its end"),
            }
        })
    }
}

/// The query string, parsed only after the caller is authorized.
pub struct Params(String);

impl Params {
    /// Reads the query as `T`, or answers 422.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, Problem> {
        let uri = http::Uri::builder().path_and_query(format!("/?{}", self.0)).build();
        let uri = uri.map_err(|_| Problem::malformed("the query string is not readable"))?;
        axum::extract::Query::<T>::try_from_uri(&uri)
            .map(|axum::extract::Query(value)| value)
            .map_err(|rejection| {
                let cause = rejection.source().map_or_else(String::new, ToString::to_string);
                let (field, sentence) = split_field(&cause);
                wrong_field(field, format!("the query string does not fit: {sentence}"))
            })
    }
}

impl FromRequestParts<App> for Params {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &App) -> Result<Self, Problem> {
        Ok(Self(parts.uri.query().unwrap_or_default().to_owned()))
    }
}

fn unreadable_body(rejection: &axum::extract::rejection::JsonRejection) -> Problem {
    let cause = rejection.source().map_or_else(|| rejection.body_text(), ToString::to_string);
    if rejection.status() != StatusCode::UNPROCESSABLE_ENTITY {
        return Problem::malformed(format!("the body is not JSON: {cause}"));
    }
    let (field, sentence) = split_field(&cause);
    wrong_field(field, format!("the body does not fit: {sentence}"))
}

fn wrong_field(field: Option<String>, detail: String) -> Problem {
    let problem = Problem::new(StatusCode::UNPROCESSABLE_ENTITY, "InvalidField", detail);
    match field {
        Some(field) => problem.field(field),
        None => problem,
    }
}

/// Finds the field in serde's sentence: the path before the colon, or the name between
/// backticks of a missing or unknown field.
fn split_field(cause: &str) -> (Option<String>, &str) {
    let sentence = cause.split(" at line ").next().unwrap_or(cause);
    if let Some((path, rest)) = sentence.split_once(": ") {
        let is_path = !path.is_empty() && !path.contains(' ');
        if is_path {
            return (Some(path.to_owned()), rest);
        }
    }
    for opening in ["missing field `", "unknown field `"] {
        if let Some((_, rest)) = sentence.split_once(opening) {
            return (rest.split('`').next().map(str::to_owned), sentence);
        }
    }
    (None, sentence)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_field_at_fault_is_named() {
        for (cause, field) in [
            ("max_turns: invalid type: string \"x\", expected i64 at line 1 column 9", "max_turns"),
            ("missing field `name` at line 1 column 2", "name"),
            ("unknown field `colour`, expected one of `name`, `slug` at line 1 column 9", "colour"),
            ("skills[0].version: invalid type: map, expected i64", "skills[0].version"),
        ] {
            assert_eq!(split_field(cause).0.as_deref(), Some(field), "{cause}");
        }
    }
}
