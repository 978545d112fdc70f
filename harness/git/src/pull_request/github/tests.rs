use pretty_assertions::assert_eq;
use proptest::prelude::*;
use rstest::rstest;

use super::*;
use crate::error::Class;

const TOKEN: &str = "ghp_abcdef";

fn client() -> GitHub {
    let _installed = rustls::crypto::aws_lc_rs::default_provider().install_default();
    let api = Url::parse("http://127.0.0.1:9/api/v3/").unwrap();
    GitHub::new(&api, "acme", "greeting", TOKEN.into()).unwrap()
}

fn answer(status: u16, headers: &[(&'static str, &str)], body: &str) -> Answer {
    let mut map = HeaderMap::new();
    for (name, value) in headers {
        map.insert(*name, HeaderValue::from_str(value).unwrap());
    }
    Answer {
        status: StatusCode::from_u16(status).unwrap(),
        headers: map,
        body: body.as_bytes().to_vec(),
    }
}

#[test]
fn the_path_is_put_behind_that_of_the_api() {
    let client = client();
    assert_eq!(client.pulls.as_str(), "http://127.0.0.1:9/api/v3/repos/acme/greeting/pulls");
    assert_eq!(client.url_of(7).unwrap().path(), "/api/v3/repos/acme/greeting/pulls/7");
}

/// CODE-06
#[test]
fn a_dump_shows_no_token() {
    assert!(!format!("{:?}", client()).contains("ghp_"));
}

/// CODE-06
#[rstest]
#[case::token(401, &[], "TokenRefused", Class::Refused, None)]
#[case::right(403, &[], "TokenRefused", Class::Refused, None)]
#[case::limit(403, &[("retry-after", "7")], "Limited", Class::Transient, Some(7))]
#[case::many(429, &[], "Limited", Class::Transient, Some(60))]
#[case::reset(
    403,
    &[
        ("x-ratelimit-remaining", "0"),
        ("x-ratelimit-reset", "1700000090"),
        ("date", "Tue, 14 Nov 2023 22:13:20 GMT"),
    ],
    "Limited", Class::Transient, Some(90)
)]
#[case::reset_that_has_passed(
    429,
    &[("x-ratelimit-reset", "1600000000"), ("date", "Tue, 14 Nov 2023 22:13:20 GMT")],
    "Limited", Class::Transient, Some(0)
)]
#[case::reset_without_a_clock(
    429, &[("x-ratelimit-reset", "1700000090")], "Limited", Class::Transient, Some(60)
)]
#[case::remaining(403, &[("x-ratelimit-remaining", "12")], "TokenRefused", Class::Refused, None)]
#[case::down(503, &[], "Unreachable", Class::Transient, None)]
#[case::gone(404, &[], "PullRequestRefused", Class::Refused, None)]
#[case::fields(422, &[], "PullRequestRefused", Class::Refused, None)]
#[case::moved(301, &[("location", "https://x/y")], "PullRequestRefused", Class::Refused, None)]
fn a_status_has_one_meaning(
    #[case] status: u16,
    #[case] headers: &[(&'static str, &str)],
    #[case] category: &str,
    #[case] class: Class,
    #[case] seconds: Option<u64>,
) {
    let error = client().refusal(&answer(status, headers, r#"{"message":"No."}"#));
    assert_eq!((error.category(), error.class()), (category, class), "{error}");
    assert_eq!(error.retry_after(), seconds.map(Duration::from_secs));
    assert!(error.to_string().contains("No."), "{error}");
}

/// CODE-06
#[test]
fn an_error_carries_githubs_own_words_about_each_field() {
    let body = r#"{"message":"Validation Failed","errors":[
        {"resource":"PullRequest","field":"head","code":"invalid"},
        {"resource":"PullRequest","code":"custom","message":"No commits between main and flow/x"},
        "and more"
    ]}"#;
    let error = client().refusal(&answer(422, &[], body));
    assert_eq!(
        error.to_string(),
        "127.0.0.1:9 refused the pull request (422): Validation Failed; head: invalid; No \
         commits between main and flow/x; and more"
    );
}

/// CODE-06
#[test]
fn a_token_that_a_server_repeats_is_not_repeated() {
    let body = format!(r#"{{"message":"Bad {TOKEN}","errors":["{TOKEN}"]}}"#);
    for status in [401, 403, 422, 429, 500] {
        let error = client().refusal(&answer(status, &[], &body));
        assert!(!error.to_string().contains(TOKEN), "{error}");
        assert!(!format!("{error:?}").contains(TOKEN));
    }
    let error = client().refusal(&answer(502, &[], &format!("<html>{TOKEN}</html>")));
    assert!(!error.to_string().contains(TOKEN), "{error}");
}

#[test]
fn an_answer_without_a_document_is_quoted_and_bounded() {
    let error = client().refusal(&answer(400, &[], &"<p>no</p>\n".repeat(10_000)));
    assert!(error.to_string().len() < 1200);
    let moved = client().refusal(&answer(301, &[("location", "https://x/y")], ""));
    assert!(moved.to_string().contains("it has moved to https://x/y"), "{moved}");
}

#[test]
fn a_title_is_one_line() {
    assert_eq!(one_line("  Greet\nin full\t now "), "Greet in full now");
    assert_eq!(one_line(&"ü".repeat(300)).chars().count(), TITLE);
}

proptest! {
    #[test]
    fn no_answer_makes_the_reader_fail(
        status in 300_u16..600,
        body in prop::collection::vec(any::<u8>(), 0..200),
        pace in "\\PC{0,20}",
    ) {
        let mut answer = answer(status, &[], "");
        answer.body = body;
        if let Ok(value) = HeaderValue::from_str(&pace) {
            answer.headers.insert("retry-after", value.clone());
            answer.headers.insert("x-ratelimit-reset", value);
        }
        let _error = client().refusal(&answer);
    }
}
