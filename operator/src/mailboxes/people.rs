//! The people service: one call, `POST /v1/people`.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use reqwest::header::{AUTHORIZATION, CONTENT_TYPE, HeaderMap, HeaderValue, RETRY_AFTER};
use reqwest::{StatusCode, Url};
use serde::Serialize;

use super::Person;
use crate::conditions::clip;
use crate::config::PeopleConfig;

/// How long a call may take, from the first byte out to the last byte in.
const DEADLINE: Duration = Duration::from_secs(10);
/// How long a connection may take.
const CONNECT: Duration = Duration::from_secs(5);
/// Most bytes of an answer that are read.
const MOST_BYTES: usize = 4_096;
/// Most bytes of an answer that are quoted.
const MOST_WORDS: usize = 300;
/// First name of every agent (BIND-03).
const FIRST_NAME: &str = "agent";

/// Where the people service is and what it is shown.
pub struct People {
    http: reqwest::Client,
    url: Url,
    token_file: PathBuf,
}

/// What the service answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Answer {
    /// The person is registered, now or since before.
    Registered,
    /// The service takes this person not.
    Refused {
        /// The status of the answer.
        status: u16,
        /// What the service said, without secrets.
        words: String,
    },
    /// The service could not be used, for anybody.
    Trouble {
        /// Why.
        why: Trouble,
        /// When it wants to be asked again, where it says so.
        after: Option<Duration>,
    },
}

/// Why the service cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trouble {
    /// No connection.
    Unreachable,
    /// No answer in time.
    Silent,
    /// An answer that is none.
    Answers(u16),
    /// The file with the service token cannot be read, or holds none.
    NoToken,
    /// The service does not know the token.
    TokenRefused,
}

impl Trouble {
    /// Whether it is certain, from one call, that all others would meet the same.
    pub fn is_for_all(&self) -> bool {
        match self {
            Self::NoToken | Self::TokenRefused => true,
            Self::Unreachable | Self::Silent | Self::Answers(_) => false,
        }
    }
}

impl fmt::Display for Trouble {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreachable => out.write_str("the people service cannot be reached"),
            Self::Silent => {
                write!(out, "the people service does not answer within {} s", DEADLINE.as_secs())
            }
            Self::Answers(status) => write!(out, "the people service answers {status}"),
            Self::NoToken => out.write_str(
                "the service token cannot be read; see that FOUNDRY_PEOPLE_TOKEN_FILE names a file \
                 that holds it",
            ),
            Self::TokenRefused => out.write_str(
                "the people service does not know the service token (401); put the right one into \
                 the file of FOUNDRY_PEOPLE_TOKEN_FILE",
            ),
        }
    }
}

/// A person as the service takes it.
#[derive(Debug, Serialize)]
struct Body<'a> {
    email: &'a str,
    first_name: &'static str,
    last_name: &'a str,
}

impl People {
    /// The service of these settings. Nothing is asked of it yet.
    pub fn new(config: &PeopleConfig) -> Result<Self, reqwest::Error> {
        let http = reqwest::Client::builder()
            .connect_timeout(CONNECT)
            .timeout(DEADLINE)
            // A token goes where the settings say, and nowhere else.
            .redirect(reqwest::redirect::Policy::none())
            .build()?;
        let PeopleConfig { url, token_file } = config;
        Ok(Self { http, url: people(url), token_file: token_file.clone() })
    }

    /// Registers a person.
    pub async fn register(&self, person: &Person) -> Answer {
        match tokio::time::timeout(DEADLINE, self.post(person)).await {
            Ok(answer) => answer,
            Err(_) => trouble(Trouble::Silent),
        }
    }

    async fn post(&self, person: &Person) -> Answer {
        let Some(token) = self.token().await else { return trouble(Trouble::NoToken) };
        let Ok(mut bearer) = HeaderValue::from_str(&format!("Bearer {token}")) else {
            return trouble(Trouble::NoToken);
        };
        bearer.set_sensitive(true);
        let Person { mailbox, name } = person;
        let body = Body { email: mailbox, first_name: FIRST_NAME, last_name: name };
        // Three strings have no form that fails.
        let body = serde_json::to_vec(&body).unwrap_or_default();
        let request = self
            .http
            .post(self.url.clone())
            .header(AUTHORIZATION, bearer)
            .header(CONTENT_TYPE, "application/json")
            .body(body);
        let mut response = match request.send().await {
            Ok(response) => response,
            Err(error) if error.is_timeout() && !error.is_connect() => {
                return trouble(Trouble::Silent);
            }
            Err(error) => {
                tracing::debug!(error = %error.without_url(), "the people service is not reached");
                return trouble(Trouble::Unreachable);
            }
        };
        let status = response.status();
        let after = retry_after(response.headers());
        let mut said = Vec::new();
        if is_refusal(status) {
            // Words are a help; without them the status is enough.
            while let Ok(Some(chunk)) = response.chunk().await {
                said.extend_from_slice(&chunk);
                if said.len() >= MOST_BYTES {
                    break;
                }
            }
        }
        answer(status, after, &words(&said, &token))
    }

    /// Read at each call, so that it can be rotated without a restart.
    async fn token(&self) -> Option<String> {
        match tokio::fs::read_to_string(&self.token_file).await {
            Ok(text) => Some(text.trim().to_owned()).filter(|token| !token.is_empty()),
            Err(error) => {
                let path = self.token_file.display();
                tracing::debug!(%path, %error, "the service token cannot be read");
                None
            }
        }
    }
}

fn trouble(why: Trouble) -> Answer {
    Answer::Trouble { why, after: None }
}

/// The address of the call: `v1/people` beneath the service's own path.
fn people(url: &Url) -> Url {
    let mut url = url.clone();
    url.set_query(None);
    url.set_fragment(None);
    let path = format!("{}/v1/people", url.path().trim_end_matches('/'));
    url.set_path(&path);
    url
}

fn answer(status: StatusCode, after: Option<Duration>, words: &str) -> Answer {
    let code = status.as_u16();
    match status {
        // Known already is as good as known now.
        _ if status.is_success() || status == StatusCode::CONFLICT => Answer::Registered,
        StatusCode::UNAUTHORIZED => Answer::Trouble { why: Trouble::TokenRefused, after },
        _ if is_refusal(status) => Answer::Refused { status: code, words: words.to_owned() },
        _ => Answer::Trouble { why: Trouble::Answers(code), after },
    }
}

/// Whether an answer is about the person, and not about the service, the token or the
/// address.
fn is_refusal(status: StatusCode) -> bool {
    let is_of_all = [
        StatusCode::UNAUTHORIZED,
        StatusCode::NOT_FOUND,
        StatusCode::METHOD_NOT_ALLOWED,
        StatusCode::REQUEST_TIMEOUT,
        StatusCode::CONFLICT,
        StatusCode::TOO_EARLY,
        StatusCode::TOO_MANY_REQUESTS,
    ];
    status.is_client_error() && !is_of_all.contains(&status)
}

/// Seconds alone; of a date a wrong clock would make nonsense.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}

/// What the service said, on one line and without the token, should it say that back.
fn words(said: &[u8], token: &str) -> String {
    let said = String::from_utf8_lossy(said).replace(token, "[redacted]");
    let line = said.split_whitespace().collect::<Vec<_>>().join(" ");
    clip(&line, MOST_WORDS).to_owned()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use rstest::rstest;

    use super::*;

    /// BIND-03
    #[rstest]
    #[case(200, "registered")]
    #[case(201, "registered")]
    #[case(204, "registered")]
    #[case(409, "registered")]
    #[case(400, "refused")]
    #[case(403, "refused")]
    #[case(422, "refused")]
    #[case(401, "token")]
    #[case(302, "trouble")]
    #[case(404, "trouble")]
    #[case(405, "trouble")]
    #[case(408, "trouble")]
    #[case(429, "trouble")]
    #[case(500, "trouble")]
    #[case(503, "trouble")]
    fn an_answer_is_about_the_person_or_about_the_service(
        #[case] status: u16,
        #[case] expected: &str,
    ) {
        let after = Some(Duration::from_secs(7));
        let said = answer(StatusCode::from_u16(status).unwrap(), after, "words");
        let refused = Answer::Refused { status, words: "words".to_owned() };
        let expected = match expected {
            "registered" => Answer::Registered,
            "refused" => refused,
            "token" => Answer::Trouble { why: Trouble::TokenRefused, after },
            _ => Answer::Trouble { why: Trouble::Answers(status), after },
        };
        assert_eq!(said, expected);
    }

    #[test]
    fn what_the_service_says_is_quoted_short_and_without_the_token() {
        let said = words(b"no,\n  Bearer s3cret is\tnot welcome", "s3cret");
        assert_eq!(said, "no, Bearer [redacted] is not welcome");
        assert_eq!(words(&[b'x'; 9_999], "s3cret").len(), MOST_WORDS);
    }

    #[rstest]
    #[case("http://broker:8080", "http://broker:8080/v1/people")]
    #[case("http://broker:8080/", "http://broker:8080/v1/people")]
    #[case("https://x.example/api/?q=1#f", "https://x.example/api/v1/people")]
    fn the_address_is_beneath_the_path_of_the_service(#[case] given: &str, #[case] called: &str) {
        assert_eq!(people(&given.parse().unwrap()).as_str(), called);
    }

    #[rstest]
    #[case("17", Some(17))]
    #[case("Wed, 21 Oct 2026 07:28:00 GMT", None)]
    #[case("-1", None)]
    fn seconds_to_wait_are_read_from_the_header(#[case] value: &str, #[case] seconds: Option<u64>) {
        let headers = HeaderMap::from_iter([(RETRY_AFTER, value.parse().unwrap())]);
        assert_eq!(retry_after(&headers), seconds.map(Duration::from_secs));
    }
}
