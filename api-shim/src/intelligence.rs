//! The intelligence service, as agents read it through this API: with the service token
//! and for the person the agent acts as.

use std::{path::PathBuf, time::Duration};

use http::{HeaderName, HeaderValue, StatusCode, header};
use secrecy::ExposeSecret;
use serde_json::Value;
use url::Url;

use crate::{identity::service::read_token, problem::Problem};

/// Header that names whom a service acts for.
const ON_BEHALF_OF: HeaderName = HeaderName::from_static("x-flow-on-behalf-of");
/// Longest answer that is passed on.
const MAX_ANSWER: usize = 4 * 1024 * 1024;
/// Longest time for an answer.
const ANSWER: Duration = Duration::from_secs(10);
/// Longest words of the service that are quoted.
const MAX_WORDS: usize = 500;

/// Where the intelligence service is and what it is shown.
pub struct Intelligence {
    http: reqwest::Client,
    url: Url,
    token_file: PathBuf,
}

impl Intelligence {
    /// The service at this address.
    pub fn new(http: reqwest::Client, url: Url, token_file: PathBuf) -> Self {
        Self { http, url, token_file }
    }

    /// The dead-letter queue: which jobs failed (CODE-36). What the service refuses this
    /// person is refused in its own words (AUTHZ-06).
    pub async fn queue_errors(
        &self,
        owner: &str,
        queue: Option<&str>,
        limit: u32,
    ) -> Result<Value, Problem> {
        let mut url = self.url.clone();
        url.path_segments_mut()
            .map_err(|()| Problem::bug("FOUNDRY_INTELLIGENCE_URL has no path"))?
            .pop_if_empty()
            .extend(["v1", "queue-errors"]);
        url.query_pairs_mut().append_pair("limit", &limit.to_string());
        if let Some(queue) = queue {
            url.query_pairs_mut().append_pair("queue", queue);
        }
        let (status, body) = match tokio::time::timeout(ANSWER, self.get(url, owner)).await {
            Ok(answer) => answer?,
            Err(_) => return Err(away("it did not answer in time")),
        };
        answer(status, &body)
    }

    async fn get(&self, url: Url, owner: &str) -> Result<(StatusCode, Vec<u8>), Problem> {
        let token = read_token(&self.token_file).await.map_err(|error| {
            tracing::error!(path = %self.token_file.display(), cause = %error,
                "failed to read the service token");
            away("the service token cannot be read")
        })?;
        let unsendable = |_| Problem::bug("a header of a call to the intelligence service");
        let mut bearer = HeaderValue::from_str(&format!("Bearer {}", token.expose_secret()))
            .map_err(unsendable)?;
        bearer.set_sensitive(true);
        // A subject may have letters of every script.
        let owner = HeaderValue::from_bytes(owner.as_bytes()).map_err(unsendable)?;
        let request =
            self.http.get(url).header(header::AUTHORIZATION, bearer).header(ON_BEHALF_OF, owner);
        let broken = |error: reqwest::Error| {
            tracing::warn!(cause = %error.without_url(), "the intelligence service does not answer");
            away("it does not answer")
        };
        let mut response = request.send().await.map_err(broken)?;
        let mut body = Vec::new();
        while let Some(chunk) = response.chunk().await.map_err(broken)? {
            if body.len() + chunk.len() > MAX_ANSWER {
                return Err(away("its answer is too long").remedy("ask for fewer with limit"));
            }
            body.extend_from_slice(&chunk);
        }
        Ok((response.status(), strike_out(body, token.expose_secret())))
    }
}

/// The answer without the token, which some services say back when they fail: whoever
/// reads the answer is an agent (BIND-11).
fn strike_out(body: Vec<u8>, token: &str) -> Vec<u8> {
    let says_it = body.windows(token.len()).any(|part| part == token.as_bytes());
    if !says_it {
        return body;
    }
    String::from_utf8_lossy(&body).replace(token, "[redacted]").into_bytes()
}

fn answer(status: StatusCode, body: &[u8]) -> Result<Value, Problem> {
    if status.is_success() {
        return serde_json::from_slice(body).map_err(|_| away("its answer is no JSON"));
    }
    let words = String::from_utf8_lossy(body).trim().chars().take(MAX_WORDS).collect::<String>();
    match status {
        // Our own token, which the agent cannot mend.
        StatusCode::UNAUTHORIZED => Err(away("it does not know the service token")),
        status if status.is_client_error() => {
            let detail = format!("the intelligence service answers {status}: {words}");
            Err(Problem::new(status, "RefusedUpstream", detail))
        }
        status => Err(away(&format!("it answers {status}: {words}"))),
    }
}

/// 503 with what to set: nobody has said where the service is.
pub fn not_configured() -> Problem {
    let detail = "no intelligence service is configured";
    Problem::unavailable("IntelligenceNotConfigured", detail).remedy(
        "have the installation's operator set FOUNDRY_INTELLIGENCE_URL and \
         FOUNDRY_SERVICE_TOKEN_FILE",
    )
}

fn away(words: &str) -> Problem {
    let detail = format!("failed to read the intelligence service: {words}");
    Problem::unavailable("IntelligenceUnavailable", detail)
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// CODE-36, AUTHZ-06
    #[rstest]
    #[case(403, "RefusedUpstream", 403)]
    #[case(404, "RefusedUpstream", 404)]
    #[case(401, "IntelligenceUnavailable", 503)]
    #[case(500, "IntelligenceUnavailable", 503)]
    #[case(302, "IntelligenceUnavailable", 503)]
    fn what_the_service_refuses_the_person_is_told_and_what_is_ours_to_mend_is_not_the_agents(
        #[case] status: u16,
        #[case] reason: &str,
        #[case] expected: u16,
    ) {
        let status = StatusCode::from_u16(status).unwrap();
        let problem = answer(status, b"not for you").unwrap_err();
        assert_eq!((problem.reason(), problem.status().as_u16()), (reason, expected));
    }
}
