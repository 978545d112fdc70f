//! The binary: how it refuses to start and how it ends.

use std::{
    net::TcpListener,
    process::{Command, Output, Stdio},
    sync::Arc,
    time::Duration,
};

use fakes::issuer::TokenRequest;
use foundry_client::{Client, StaticToken};
use pretty_assertions::assert_eq;

use super::app::TestApp;

fn command() -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_foundry-api"));
    command.env_clear().env("HOME", "/nonexistent").stdin(Stdio::null());
    command
}

/// The one line on stderr of a start that fails.
fn refusal(command: &mut Command) -> String {
    let Output { status, stderr, .. } = command.output().unwrap();
    let stderr = String::from_utf8(stderr).unwrap();
    assert!(!status.success(), "{stderr}");
    assert_eq!(stderr.lines().count(), 1, "{stderr}");
    stderr
}

async fn with_cluster(folder: &tempfile::TempDir) -> Command {
    let control_plane = testenv::control_plane().await;
    let mut command = command();
    command
        .env("KUBECONFIG", control_plane.kubeconfig())
        .env("FOUNDRY_DATA_DIR", folder.path())
        .env("FOUNDRY_API_LISTEN", "127.0.0.1:0");
    command
}

#[test]
fn the_openapi_document_is_printed_without_any_setting() {
    let Output { status, stdout, .. } = command().arg("openapi").output().unwrap();
    assert!(status.success());
    assert_eq!(String::from_utf8(stdout).unwrap(), foundry_api::openapi());
}

#[test]
fn a_kubeconfig_that_is_not_there_is_named() {
    let line = refusal(command().env("KUBECONFIG", "/nonexistent/kubeconfig"));
    assert!(line.contains("KUBECONFIG"), "{line}");
}

#[tokio::test]
async fn an_address_in_use_is_named_with_its_setting() {
    let folder = tempfile::tempdir().unwrap();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = taken.local_addr().unwrap().to_string();
    let line = refusal(with_cluster(&folder).await.env("FOUNDRY_API_LISTEN", &address));
    assert!(line.contains(&address) && line.contains("FOUNDRY_API_LISTEN"), "{line}");
}

#[tokio::test]
async fn a_bad_database_a_missing_token_file_and_a_bad_folder_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("no database");
    std::fs::write(&file, "certainly not SQLite, and long enough to be read as a header").unwrap();
    for (name, value, words) in [
        ("FOUNDRY_DATABASE_URL", "mysql://x".to_owned(), "database url"),
        ("FOUNDRY_DATABASE_URL", format!("sqlite:{}", file.display()), "not a SQLite database"),
        ("FOUNDRY_SERVICE_TOKEN_FILE", "/nonexistent".to_owned(), "FOUNDRY_SERVICE_TOKEN_FILE"),
        ("FOUNDRY_DATA_DIR", "/proc/nowhere".to_owned(), "FOUNDRY_DATA_DIR"),
        ("FOUNDRY_LOG", "=,=".to_owned(), "FOUNDRY_LOG"),
        ("FOUNDRY_BROKER_URL", "http://broker:8080".to_owned(), "FOUNDRY_BROKER_TOKEN_FILE"),
        ("FOUNDRY_FILE_STORAGE_ACCOUNT", "a".to_owned(), "FOUNDRY_FILE_STORAGE_KEY_FILE"),
        ("FOUNDRY_FILE_STORAGE_ENDPOINT", "http://e".to_owned(), "FOUNDRY_FILE_STORAGE_ACCOUNT"),
        ("FOUNDRY_INTELLIGENCE_URL", "http://i:8080".to_owned(), "FOUNDRY_SERVICE_TOKEN_FILE"),
    ] {
        let line = refusal(with_cluster(&folder).await.env(name, value));
        assert!(line.contains(words), "{name}: {line}");
    }
}

/// BIND-04, CODE-29
#[tokio::test]
async fn a_token_or_key_file_that_is_of_no_use_is_named_before_anything_is_stored() {
    let folder = tempfile::tempdir().unwrap();
    let empty = folder.path().join("empty");
    std::fs::write(&empty, "\n").unwrap();
    for (setting, value, file_setting) in [
        ("FOUNDRY_BROKER_URL", "http://broker:8080", "FOUNDRY_BROKER_TOKEN_FILE"),
        ("FOUNDRY_FILE_STORAGE_ACCOUNT", "a", "FOUNDRY_FILE_STORAGE_KEY_FILE"),
    ] {
        for file in ["/nonexistent", empty.to_str().unwrap()] {
            let mut command = with_cluster(&folder).await;
            let line = refusal(command.env(setting, value).env(file_setting, file));
            assert!(line.contains(file_setting) && line.contains(file), "{line}");
            assert!(!folder.path().join("foundry.db").exists());
        }
    }
}

/// BIND-11, AUTHZ-03
#[tokio::test]
async fn a_served_request_leaves_an_audit_record_and_no_credential_and_sigterm_ends_it_well() {
    let app = TestApp::start().await;
    app.create("scout").await;
    let folder = tempfile::tempdir().unwrap();
    let log = folder.path().join("log");
    let port = testenv::free_port().unwrap();
    let service_token = folder.path().join("service-token");
    std::fs::write(&service_token, "svc-planted-77").unwrap();
    let mut child = with_cluster(&folder)
        .await
        .env("FOUNDRY_API_LISTEN", format!("127.0.0.1:{port}"))
        .env("FOUNDRY_WATCH_NAMESPACES", &app.namespace.name)
        .env("FOUNDRY_OIDC_ISSUER", app.issuer.url())
        .env("FOUNDRY_SERVICE_TOKEN_FILE", &service_token)
        .env("FOUNDRY_LOG", "debug")
        .env("FOUNDRY_PDEATHSIG", "1")
        .stdout(std::fs::File::create(&log).unwrap())
        .spawn()
        .unwrap();
    let person = TokenRequest::person("ann", &[&app.namespace.name]).with_roles(&["member"]);
    let person = app.issuer.token(&person).unwrap();
    let client = |token: &str| {
        let token = StaticToken::new(token.to_owned());
        Client::new(&format!("http://127.0.0.1:{port}"), Arc::new(token)).unwrap()
    };
    let agent = testenv::eventually("the API answers", Duration::from_secs(30), || async {
        client(&person).get_agent("scout").await
    })
    .await;
    assert_eq!(agent.owner, "ann");
    client("svc-planted-77").list_tools().await.unwrap();
    client("svc-wrong-78").list_tools().await.unwrap_err();
    let expired = app.issuer.sign(&serde_json::json!({"iss": app.issuer.url(), "exp": 1})).unwrap();
    client(&expired).me().await.unwrap_err();

    let pid = rustix::process::Pid::from_child(&child);
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let status = testenv::eventually("the API ends", Duration::from_secs(30), || {
        let ended = child.try_wait().unwrap().ok_or("it still runs");
        async move { ended }
    })
    .await;
    assert!(status.success(), "{status}");

    let log = std::fs::read_to_string(&log).unwrap();
    for planted in [person.as_str(), "svc-planted-77", "svc-wrong-78", &expired] {
        assert!(!log.contains(planted), "a credential is in the log");
    }
    let records = log
        .lines()
        .map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap())
        .filter(|line| line["target"] == "audit")
        .collect::<Vec<_>>();
    let read = records.iter().find(|record| record["action"] == "ReadAgent").unwrap();
    assert_eq!(
        (&read["subject"], &read["resource"], &read["allowed"], &read["because"]),
        (&"ann".into(), &"scout".into(), &true.into(), &"policy person-looks".into())
    );
    assert!(read["request_id"].is_string(), "{read}");
}
