//! How every failed request is answered: `application/problem+json`, from one
//! `IntoResponse`.

use std::fmt;

use axum::response::{IntoResponse, Response};
use http::{HeaderValue, StatusCode, header};

use crate::request_id;

/// A request that fails, in words for a person and one stable word for a program.
#[derive(Debug)]
pub struct Problem(Box<Parts>);

#[derive(Clone, Debug)]
struct Parts {
    status: StatusCode,
    reason: &'static str,
    detail: String,
    field: Option<String>,
    remedy: Option<String>,
    retry_after_seconds: Option<u32>,
}

impl Problem {
    /// A problem with its status, its stable `CamelCase` word and its sentence.
    pub fn new(status: StatusCode, reason: &'static str, detail: impl Into<String>) -> Self {
        Self(Box::new(Parts {
            status,
            reason,
            detail: detail.into(),
            field: None,
            remedy: None,
            retry_after_seconds: None,
        }))
    }

    /// 400: the request is not even readable.
    pub fn malformed(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::BAD_REQUEST, "Malformed", detail)
    }

    /// 401: who is asking?
    pub fn unauthenticated(detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNAUTHORIZED, "Unauthenticated", detail)
            .remedy("send Authorization: Bearer with a token this API knows")
    }

    /// 403: the caller may not.
    pub fn forbidden(reason: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::FORBIDDEN, reason, detail)
    }

    /// 404: there is none, or the caller may not know of it (AUTHZ-08).
    pub fn not_found(what: &str, id: &str) -> Self {
        Self::new(StatusCode::NOT_FOUND, "NotFound", format!("there is no {what} {id:?}"))
    }

    /// 409: not in this state.
    pub fn conflict(reason: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::CONFLICT, reason, detail)
    }

    /// 422: the named field holds what it may not.
    pub fn invalid(field: &str, reason: &'static str, detail: impl Into<String>) -> Self {
        Self::new(StatusCode::UNPROCESSABLE_ENTITY, reason, detail).field(field)
    }

    /// 500: a bug of ours; the log has the cause under the request id.
    pub fn bug(cause: impl fmt::Display) -> Self {
        tracing::error!(cause = %cause, "request failed by a bug");
        Self::new(StatusCode::INTERNAL_SERVER_ERROR, "Bug", "the API failed on this request")
            .remedy("report the request id; the API's log has the cause")
    }

    /// 503: something this API stands on does not answer; the same request may
    /// succeed later.
    pub fn unavailable(reason: &'static str, detail: impl Into<String>) -> Self {
        let mut problem = Self::new(StatusCode::SERVICE_UNAVAILABLE, reason, detail);
        problem.0.retry_after_seconds = Some(2);
        problem
    }

    /// Names the field at fault.
    #[must_use]
    pub fn field(mut self, field: impl Into<String>) -> Self {
        self.0.field = Some(field.into());
        self
    }

    /// Says what to do about it.
    #[must_use]
    pub fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.0.remedy = Some(remedy.into());
        self
    }

    /// The same problem for another caller who waited for the same answer.
    #[must_use]
    pub fn repeat(&self) -> Self {
        Self(self.0.clone())
    }

    /// The HTTP status.
    pub fn status(&self) -> StatusCode {
        self.0.status
    }

    /// The stable word.
    pub fn reason(&self) -> &'static str {
        self.0.reason
    }

    /// The sentence.
    pub fn detail(&self) -> &str {
        &self.0.detail
    }

    /// The document a client reads.
    pub fn document(&self) -> foundry_client::Problem {
        let Parts { status, reason, detail, field, remedy, retry_after_seconds: _ } = &*self.0;
        foundry_client::Problem {
            kind: format!("urn:foundry:problem:{reason}"),
            title: status.canonical_reason().unwrap_or("Error").to_owned(),
            status: status.as_u16(),
            detail: detail.clone(),
            field: field.clone(),
            reason: Some((*reason).to_owned()),
            remedy: remedy.clone(),
            request_id: request_id::current(),
        }
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let body = match serde_json::to_vec(&self.document()) {
            Ok(body) => body,
            Err(error) => {
                tracing::error!(cause = %error, "failed to write a problem document");
                Vec::new()
            }
        };
        let mut response = (self.status(), body).into_response();
        let headers = response.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        if self.status() == StatusCode::UNAUTHORIZED {
            headers.insert(
                header::WWW_AUTHENTICATE,
                HeaderValue::from_static("Bearer realm=\"foundry\""),
            );
        }
        if let Some(seconds) = self.0.retry_after_seconds {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        response
    }
}
