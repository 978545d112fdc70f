//! Wrong flags and values.

use rstest::rstest;

use super::attempt::{Attempt, Place, assert_says};

#[rstest]
#[case::api(Attempt::api)]
#[case::operator(Attempt::operator)]
#[case::harness(Attempt::harness)]
#[case::scripted_model(|place: &Place| Attempt::scripted_model(place, "rules: []"))]
#[case::demo(|place: &Place| Attempt::xtask(place, "demo"))]
#[case::test(|place: &Place| Attempt::xtask(place, "test"))]
#[case::control_plane(|place: &Place| Attempt::xtask(place, "control-plane"))]
#[tokio::test]
async fn an_unknown_flag_is_named(#[case] good: fn(&Place) -> Attempt) {
    let place = Place::new();
    let line = good(&place).argument("--moon").refusal().await;
    assert_says(&line, &["unexpected argument '--moon'"]);
}

#[tokio::test]
async fn an_unknown_verb_is_named_with_the_one_that_was_meant() {
    let place = Place::new();
    let line = Attempt::xtask(&place, "dmo").refusal().await;
    assert_says(&line, &["'dmo'", "'demo'"]);
}

#[rstest]
#[case::address("FOUNDRY_API_LISTEN", "nowhere", &["nowhere", "--listen", "address and a port"])]
#[case::port("FOUNDRY_API_LISTEN", "127.0.0.1:70000", &["127.0.0.1:70000", "address and a port"])]
#[case::namespace("FOUNDRY_WATCH_NAMESPACES", "a,Not_One", &["Not_One", "--watch-namespaces"])]
#[case::filter("FOUNDRY_LOG", "a=b=c", &["FOUNDRY_LOG"])]
#[case::flag("FOUNDRY_PDEATHSIG", "maybe", &["maybe", "1 nor 0"])]
#[case::issuer("FOUNDRY_OIDC_ISSUER", "issuer", &["issuer", "--oidc-issuer", "http"])]
#[case::keys("FOUNDRY_OIDC_JWKS_URL", "keys", &["keys", "--oidc-jwks-url", "http"])]
#[case::database("FOUNDRY_DATABASE_URL", "mysql://me:sesame@it/x", &["database url", "sqlite:<path>"])]
#[case::database_file("FOUNDRY_DATABASE_URL", "foundry.db", &["database url", "sqlite:<path>"])]
#[tokio::test]
async fn the_api_names_a_setting_it_cannot_use(
    #[case] variable: &str,
    #[case] value: &str,
    #[case] words: &[&str],
) {
    let place = Place::new();
    let line = Attempt::api(&place).set(variable, value).refusal().await;
    assert_says(&line, words);
    assert!(!line.contains("sesame"), "a password is told: {line}");
}

#[rstest]
#[case::runtime("FOUNDRY_RUNTIME", "banana", &["banana", "local", "cluster"])]
#[case::no_runtime("FOUNDRY_RUNTIME", "", &["local", "cluster"])]
#[case::address("FOUNDRY_OPERATOR_LISTEN", "nowhere", &["nowhere", "--listen", "address and a port"])]
#[case::api("FOUNDRY_API_URL", "an api", &["an api", "--api-url"])]
#[case::namespace("FOUNDRY_WATCH_NAMESPACES", "a,Not_One", &["Not_One", "--watch-namespaces"])]
#[case::rhythm("FOUNDRY_EVALUATE_SECONDS", "0", &["--evaluate-seconds", "86400"])]
#[case::heartbeat("FOUNDRY_HEARTBEAT_SECONDS", "0", &["--heartbeat-seconds", "86400"])]
#[case::selector("FOUNDRY_AGENT_NODE_SELECTOR", "pool", &["pool", "key=value"])]
#[case::filter("FOUNDRY_LOG", "a=b=c", &["FOUNDRY_LOG"])]
#[tokio::test]
async fn the_operator_names_a_setting_it_cannot_use(
    #[case] variable: &str,
    #[case] value: &str,
    #[case] words: &[&str],
) {
    let place = Place::new();
    let line = Attempt::operator(&place).set(variable, value).refusal().await;
    assert_says(&line, words);
}

#[rstest]
#[case::api("FOUNDRY_API_URL", "an api", &["an api", "--api-url"])]
#[case::scheme("FOUNDRY_API_URL", "ftp://127.0.0.1:1", &["ftp://127.0.0.1:1", "http or https"])]
#[case::rhythm("FOUNDRY_EVALUATE_SECONDS", "0", &["--evaluate-every", "86400"])]
#[case::lock("FOUNDRY_LOCK_FILE", "/proc/none/lock", &["/proc/none/lock", "FOUNDRY_LOCK_FILE"])]
#[case::lifeline("FOUNDRY_LIFELINE", "/proc/none/line", &["/proc/none/line", "FOUNDRY_LIFELINE"])]
#[tokio::test]
async fn the_harness_names_a_setting_it_cannot_use(
    #[case] variable: &str,
    #[case] value: &str,
    #[case] words: &[&str],
) {
    let place = Place::new();
    let line = Attempt::harness(&place).set(variable, value).refusal().await;
    assert_says(&line, words);
}

#[rstest]
#[case::field("rules: [{reply: {txt: hello}}]", &["unknown field `txt`", "`text`", "line 1"])]
#[case::form("rules: 7", &["rules", "line 1"])]
#[case::syntax("rules: [", &["line "])]
#[tokio::test]
async fn the_scripted_model_names_what_is_wrong_in_a_script(
    #[case] script: &str,
    #[case] words: &[&str],
) {
    let place = Place::new();
    let line = Attempt::scripted_model(&place, script).refusal().await;
    assert_says(&line, &["given/script.yaml"]);
    assert_says(&line, words);
}

#[rstest]
#[case::port_file("--port-file")]
#[case::capture("--capture")]
#[tokio::test]
async fn the_scripted_model_names_a_file_it_cannot_write(#[case] flag: &str) {
    let place = Place::new();
    let attempt = Attempt::scripted_model(&place, "rules: []");
    let line = attempt.argument(flag).argument("/proc/none/file").refusal().await;
    assert_says(&line, &["/proc/none/file"]);
}
