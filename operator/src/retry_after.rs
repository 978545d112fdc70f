//! When the API server wants to be asked again.
//!
//! It says so in a header, which kube does not hand on; what kube does hand on is the
//! `Status` in the body.

use std::convert::Infallible;

use axum::http::header::{CONTENT_LENGTH, CONTENT_TYPE, RETRY_AFTER};
use axum::http::{HeaderValue, Response, StatusCode};
use http_body_util::{BodyExt as _, Full};
use kube::client::DynBody;
use kube::core::Status;
use kube::core::response::StatusDetails;

type BoxError = Box<dyn std::error::Error + Send + Sync>;

/// Writes `Retry-After` of an answer that refuses for now into its `Status`.
pub fn keep(response: Response<Box<DynBody>>) -> Response<Box<DynBody>> {
    let asked = seconds(&response).and_then(|seconds| status(response.status(), seconds));
    let Some(body) = asked else { return response };
    let (mut parts, _) = response.into_parts();
    parts.headers.remove(CONTENT_LENGTH);
    parts.headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/json"));
    Response::from_parts(parts, whole(body))
}

fn whole(text: Vec<u8>) -> Box<DynBody> {
    let never = |never: Infallible| -> BoxError { match never {} };
    Box::new(Full::new(text.into()).map_err(never))
}

fn seconds<B>(response: &Response<B>) -> Option<u32> {
    let is_for_now = [StatusCode::TOO_MANY_REQUESTS, StatusCode::SERVICE_UNAVAILABLE]
        .contains(&response.status());
    let header = response.headers().get(RETRY_AFTER).filter(|_| is_for_now)?;
    header.to_str().ok()?.parse().ok()
}

fn status(code: StatusCode, seconds: u32) -> Option<Vec<u8>> {
    let (words, reason) = if code == StatusCode::TOO_MANY_REQUESTS {
        ("the API server has too much to do", "TooManyRequests")
    } else {
        ("the API server cannot answer now", "ServiceUnavailable")
    };
    let details = StatusDetails {
        name: String::new(),
        group: String::new(),
        kind: String::new(),
        uid: String::new(),
        causes: Vec::new(),
        retry_after_seconds: seconds,
    };
    let message = format!("{words}; it wants to be asked again in {seconds} s");
    let status = Status::failure(&message, reason).with_code(code.as_u16()).with_details(details);
    serde_json::to_vec(&status).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    async fn kept(code: u16, retry_after: Option<&str>) -> String {
        let mut response = Response::new(whole(b"busy".to_vec()));
        *response.status_mut() = StatusCode::from_u16(code).unwrap();
        if let Some(header) = retry_after {
            response.headers_mut().insert(RETRY_AFTER, HeaderValue::from_str(header).unwrap());
        }
        let bytes = keep(response).into_body().collect().await.unwrap().to_bytes();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[tokio::test]
    async fn what_the_header_says_is_in_the_status_and_all_else_is_left_alone() {
        for code in [429, 503] {
            let status: Status = serde_json::from_str(&kept(code, Some("7")).await).unwrap();
            assert_eq!(status.code, code);
            assert_eq!(status.details.map(|details| details.retry_after_seconds), Some(7));
        }
        assert_eq!(kept(429, None).await, "busy");
        assert_eq!(kept(429, Some("Fri, 31 Dec 1999 23:59:59 GMT")).await, "busy");
        assert_eq!(kept(200, Some("7")).await, "busy");
    }
}
