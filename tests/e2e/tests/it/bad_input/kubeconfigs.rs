//! Kubeconfigs that lead nowhere. One that cannot be read is refused at once; a
//! server that is not there may come, so processes wait for it, visibly not ready.

use std::path::PathBuf;
use std::time::Duration;

use rstest::rstest;
use rustix::process::Signal;
use testenv::Process;

use super::attempt::{Attempt, Place, assert_says};

const DEADLINE: Duration = Duration::from_secs(30);
/// How soon a process that only waits is gone when told to end.
const PROMPT: Duration = Duration::from_secs(10);

fn missing(place: &Place) -> PathBuf {
    place.path("no such kubeconfig")
}

fn broken(place: &Place) -> PathBuf {
    place.give("broken", "clusters: [one\nusers: two\n")
}

fn something_else(place: &Place) -> PathBuf {
    place.give("something else", "just a sentence\n")
}

fn without_context(place: &Place) -> PathBuf {
    place.give("without context", "apiVersion: v1\nkind: Config\n")
}

fn without_certificate(place: &Place) -> PathBuf {
    place.give(
        "without certificate",
        r#"{"apiVersion": "v1", "kind": "Config", "current-context": "it",
            "clusters": [{"name": "it", "cluster": {
                "server": "https://127.0.0.1:1", "certificate-authority": "/none/ca.crt"}}],
            "contexts": [{"name": "it", "context": {"cluster": "it", "user": "it"}}],
            "users": [{"name": "it", "user": {}}]}"#,
    )
}

#[rstest]
#[tokio::test]
async fn a_kubeconfig_of_no_use_is_named_by_the_api_and_the_operator(
    #[values(Attempt::api, Attempt::operator)] program: fn(&Place) -> Attempt,
    #[values(missing, broken, something_else, without_context, without_certificate)]
    give: fn(&Place) -> PathBuf,
) {
    let place = Place::new();
    let kubeconfig = give(&place);
    let line = program(&place).set("KUBECONFIG", &kubeconfig).refusal().await;
    assert_says(&line, &[&kubeconfig.display().to_string(), "KUBECONFIG"]);
}

#[rstest]
#[case::missing(missing)]
#[case::broken(broken)]
#[case::something_else(something_else)]
#[case::without_context(without_context)]
#[case::without_certificate(without_certificate)]
#[case::without_server(Place::give_kubeconfig_of_no_server)]
#[tokio::test]
async fn the_demo_names_a_kubeconfig_of_no_use_before_it_builds_anything(
    #[case] give: fn(&Place) -> PathBuf,
) {
    let place = Place::new();
    let kubeconfig = give(&place);
    let demo = Attempt::xtask(&place, "demo").argument("--exit");
    let demo = demo.argument("--kubeconfig").argument(&kubeconfig);
    let demo = demo.argument("--data-dir").argument(place.path("demo"));
    let line = demo.refusal_leaving(&["demo/foundry-demo"]).await;
    assert_says(&line, &[&kubeconfig.display().to_string(), "KUBECONFIG"]);
}

#[tokio::test]
async fn the_api_waits_for_its_cluster_and_says_that_it_is_not_ready() {
    let place = Place::new();
    let address = format!("127.0.0.1:{}", testenv::free_port().unwrap());
    let mut api = Attempt::api(&place).set("FOUNDRY_API_LISTEN", &address).start();
    assert_waits_for_its_cluster(&mut api, &address, "cluster").await;
}

#[tokio::test]
async fn the_operator_waits_for_its_cluster_and_says_that_it_is_not_ready() {
    let place = Place::new();
    let address = format!("127.0.0.1:{}", testenv::free_port().unwrap());
    let mut operator = Attempt::operator(&place).set("FOUNDRY_OPERATOR_LISTEN", &address).start();
    assert_waits_for_its_cluster(&mut operator, &address, "control plane").await;
}

/// Alive, not ready with a reason, and gone when told to end.
async fn assert_waits_for_its_cluster(process: &mut Process, address: &str, missing: &str) {
    let (status, reason) = ask(process, address, "readyz").await;
    assert_eq!(status, 503, "{reason}");
    assert!(reason.contains(missing), "{reason}");
    assert_eq!(ask(process, address, "livez").await.0, 200);

    process.signal(Signal::TERM);
    let status = process.finish(PROMPT).await.unwrap();
    assert!(status.success(), "{status}: {}", process.last_words());
}

/// The answer, once it listens.
async fn ask(process: &mut Process, address: &str, path: &str) -> (u16, String) {
    testenv::install_tls_provider();
    let http = reqwest::Client::builder().no_proxy().timeout(PROMPT).build().unwrap();
    let url = format!("http://{address}/{path}");
    let answer = || async {
        let answer = http.get(&url).send().await?;
        let status = answer.status().as_u16();
        Ok::<_, reqwest::Error>((status, answer.text().await?))
    };
    process.wait_for("it listened", DEADLINE, answer).await.unwrap()
}
