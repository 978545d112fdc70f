use pretty_assertions::assert_eq;
use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;

fn rewritten(body: &str, wire: Wire) -> String {
    let body = Body::read(Bytes::copy_from_slice(body.as_bytes()), wire).unwrap();
    String::from_utf8(body.with_model("up\"stream").to_vec()).unwrap()
}

/// ROUTE-19
#[rstest]
#[case::only_the_model(
    r#" { "messages" : [ {"role":"user","content":"model \u00e9 1.0"} ],  "model":"auto", "n": 1.00 }  "#,
    r#" { "messages" : [ {"role":"user","content":"model \u00e9 1.0"} ],  "model":"up\"stream", "n": 1.00 }  "#
)]
#[case::one_shot_as_it_is(
    r#"{"model":"auto","stream":false}"#,
    r#"{"model":"up\"stream","stream":false}"#
)]
#[case::streamed_asks_for_usage(
    r#"{"model":"auto","stream":true} "#,
    r#"{"model":"up\"stream","stream":true,"stream_options":{"include_usage":true}} "#
)]
#[case::options_are_kept(
    r#"{"stream_options":{"x":1},"stream":true,"model":"auto"}"#,
    r#"{"stream_options":{"include_usage":true,"x":1},"stream":true,"model":"up\"stream"}"#
)]
#[case::empty_options(
    r#"{"stream_options":{ },"stream":true,"model":"auto"}"#,
    r#"{"stream_options":{"include_usage":true },"stream":true,"model":"up\"stream"}"#
)]
#[case::null_options(
    r#"{"stream_options":null,"stream":true,"model":"auto"}"#,
    r#"{"stream_options":{"include_usage":true},"stream":true,"model":"up\"stream"}"#
)]
#[case::the_callers_no_is_kept(
    r#"{"stream_options":{"include_usage":false},"stream":true,"model":"auto"}"#,
    r#"{"stream_options":{"include_usage":false},"stream":true,"model":"up\"stream"}"#
)]
#[case::the_callers_null_is_kept(
    r#"{"stream_options":{"include_usage":null},"stream":true,"model":"auto"}"#,
    r#"{"stream_options":{"include_usage":null},"stream":true,"model":"up\"stream"}"#
)]
#[case::nonsense_is_the_providers_to_refuse(
    r#"{"stream_options":7,"stream":true,"model":"auto"}"#,
    r#"{"stream_options":7,"stream":true,"model":"up\"stream"}"#
)]
fn an_openai_body_keeps_every_other_byte(#[case] body: &str, #[case] expected: &str) {
    assert_eq!(rewritten(body, Wire::OpenAi), expected);
}

/// ROUTE-19
#[test]
fn an_anthropic_body_keeps_every_byte_but_the_model() {
    let body = r#"{"model": "claude","stream":true, "system":[{"model":"inner"}]}"#;
    let expected = r#"{"model": "up\"stream","stream":true, "system":[{"model":"inner"}]}"#;
    assert_eq!(rewritten(body, Wire::Anthropic), expected);
}

#[rstest]
#[case::empty("")]
#[case::no_object("[1]")]
#[case::no_model(r#"{"messages":[]}"#)]
#[case::model_no_string(r#"{"model":5}"#)]
#[case::two_models(r#"{"model":"a","model":"b"}"#)]
#[case::cut(r#"{"model":"a""#)]
#[case::more_behind(r#"{"model":"a"} {}"#)]
fn a_body_without_one_model_is_refused(#[case] body: &str) {
    let refused = Body::read(Bytes::copy_from_slice(body.as_bytes()), Wire::OpenAi).unwrap_err();
    assert!(matches!(refused, BadBody::Unreadable(_)), "{refused:?}");
}

#[test]
fn a_body_that_is_not_utf8_is_refused() {
    let refused = Body::read(Bytes::from_static(b"{\"model\":\"\xff\"}"), Wire::OpenAi);
    assert_eq!(refused.unwrap_err(), BadBody::NotUtf8);
}

proptest! {
    /// ROUTE-19
    #[test]
    fn whatever_the_body_says_only_the_model_and_the_usage_wish_differ(
        model in "\\PC{1,12}",
        text in "\\PC{0,40}",
        stream in any::<bool>(),
        pretty in any::<bool>(),
    ) {
        let mut value = json!({"a": [text, {"model": "inner"}], "model": model, "stream": stream});
        let written = if pretty { format!("{value:#}") } else { value.to_string() };
        let body = Body::read(Bytes::from(written), Wire::OpenAi).unwrap();
        prop_assert_eq!(&body.model, value["model"].as_str().unwrap());
        let after: Value = serde_json::from_slice(&body.with_model("gpt")).unwrap();
        value["model"] = json!("gpt");
        if stream {
            value["stream_options"] = json!({"include_usage": true});
        }
        prop_assert_eq!(after, value);
    }
}
