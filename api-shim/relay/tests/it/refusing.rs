//! The relay's own refusals, in the form the caller's client understands.

use foundry_crds::model::Provider;
use foundry_relay::Wire;
use http::HeaderMap;
use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::json;

use crate::setup::{caller, read_json, setup, streamed};

/// BIND-02
#[tokio::test]
async fn auto_without_its_model_says_what_to_create() {
    let setup = setup().await;
    setup.model("gpt-5", Provider::OpenAi, "http://127.0.0.1:9");
    let answer = setup.forward(Wire::OpenAi, streamed(Wire::OpenAi, "auto")).await;
    assert_eq!(answer.headers()["content-type"], "application/problem+json");
    let (status, problem) = read_json(answer).await;
    let detail = "model auto means openai / gpt-5-mini, and no such Model exists in this namespace";
    let remedy = "create a Model with provider openai and wireId gpt-5-mini (or upstreamModel \
                  gpt-5-mini), or set the agent's model to the wireId of another";
    let expected = json!({
        "type": "urn:foundry:problem:NoAutoModel",
        "title": "Not Found",
        "status": 404,
        "detail": detail,
        "reason": "NoAutoModel",
        "remedy": remedy,
        "request_id": "req-7",
        "error": {
            "message": format!("{detail}; {remedy}"),
            "type": "invalid_request_error",
            "code": "NoAutoModel",
            "param": null,
        },
    });
    assert_eq!((status.as_u16(), problem), (404, expected));
}

/// ROUTE-19
#[tokio::test]
async fn the_wrong_form_is_told_the_right_route() {
    let setup = setup().await;
    setup.model("gpt-5", Provider::OpenAi, "http://127.0.0.1:9");
    let answer = setup.forward(Wire::Anthropic, streamed(Wire::Anthropic, "gpt-5")).await;
    let (status, problem) = read_json(answer).await;
    let message = "Model gpt-5 speaks the OpenAI form, and this is the Anthropic route; POST the \
                   OpenAI form to /v1/relay/chat/completions";
    assert_eq!(status, 400);
    assert_eq!(problem["type"], "error");
    assert_eq!(problem["error"], json!({"type": "invalid_request_error", "message": message}));
    assert_eq!((&problem["reason"], &problem["status"]), (&json!("WrongWire"), &json!(400)));
}

#[rstest]
#[case::no_json("not json", 400, "InvalidBody")]
#[case::unknown(r#"{"model":"gpt-9"}"#, 404, "UnknownModel")]
#[case::nobody_listens(r#"{"model":"gpt-5"}"#, 502, "UpstreamUnreachable")]
#[tokio::test]
async fn other_refusals_have_their_status_and_word(
    #[case] body: &'static str,
    #[case] status: u16,
    #[case] reason: &str,
    #[values(Wire::OpenAi, Wire::Anthropic)] wire: Wire,
) {
    let setup = setup().await;
    let provider = if wire == Wire::OpenAi { Provider::OpenAi } else { Provider::Anthropic };
    setup.model("gpt-5", provider, "http://127.0.0.1:9");
    let (given, problem) = read_json(setup.forward(wire, body).await).await;
    assert_eq!((given.as_u16(), problem["reason"].as_str()), (status, Some(reason)));
    assert!(problem["error"]["message"].as_str().is_some_and(|text| !text.is_empty()));
    setup.relay.close().await;
    assert_eq!(setup.usage().await, [], "nothing was used");
}

#[tokio::test]
async fn a_missing_key_names_the_secret_and_how_to_make_it() {
    let setup = setup().await;
    setup.model("gpt-5", Provider::OpenAi, "http://127.0.0.1:9");
    setup.cluster.secrets.lock().unwrap().clear();
    let answer = setup.forward(Wire::OpenAi, streamed(Wire::OpenAi, "gpt-5")).await;
    let (status, problem) = read_json(answer).await;
    assert_eq!((status.as_u16(), problem["reason"].as_str()), (503, Some("SecretKeyMissing")));
    assert_eq!(
        problem["detail"],
        "Model gpt-5 needs Secret provider-key with key apiKey, which is not there"
    );
    setup.key(" \n");
    let answer = setup.forward(Wire::OpenAi, streamed(Wire::OpenAi, "gpt-5")).await;
    assert_eq!(read_json(answer).await.1["reason"], "SecretKeyMissing", "blank is missing");
}

#[tokio::test]
async fn a_cluster_that_is_away_is_said_to() {
    let setup = setup().await;
    let body = streamed(Wire::OpenAi, "gpt-5");
    let away = caller("elsewhere");
    let answer = setup.relay.forward(away, Wire::OpenAi, &HeaderMap::new(), body.into()).await;
    let (status, problem) = read_json(answer).await;
    assert_eq!((status.as_u16(), problem["reason"].as_str()), (503, Some("ModelsUnavailable")));
    let detail = "failed to read the Models of namespace elsewhere: the cluster is away";
    assert_eq!(problem["detail"], detail);
}
