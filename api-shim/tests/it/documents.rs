//! Documents: in the data folder, and in a storage account.

use std::{
    collections::BTreeMap,
    path::PathBuf,
    sync::{Arc, Mutex},
    time::Duration,
};

use axum::{Router, body::Body, extract::Request, response::IntoResponse};
use base64::{Engine, prelude::BASE64_STANDARD};
use hmac::{Hmac, KeyInit, Mac};
use http::{HeaderMap, Method, StatusCode};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use sha2::Sha256;
use tokio::net::TcpListener;
use tokio_util::task::AbortOnDropHandle;
use url::Url;

use super::app::TestApp;

const PLANS: &str = "/v1/agents/mend/plans";
const PLAN: &str = "# Mend it\n\n```mermaid\ngraph TD;\n```\nÄ.\n";

/// SHA-256 of the plan, as another program gives it.
const DIGEST: &str = "ee24608e455fa1ec02957c0c2d309e8386d9bd6255f1e7cb13181ca0ba8f254b";

fn plan(markdown: &str) -> Value {
    json!({"generation": 1, "markdown": markdown})
}

fn path_of(link: &Value) -> String {
    let url = link["url"].as_str().unwrap();
    let url = url.strip_prefix("http://foundry.example").unwrap_or(url);
    url.to_owned()
}

/// The same text with another last digit.
fn flipped(hex: &str) -> String {
    let (rest, last) = hex.split_at(hex.len() - 1);
    format!("{rest}{}", if last == "0" { "1" } else { "0" })
}

/// Every file of the documents' folder.
fn files(app: &TestApp) -> Vec<PathBuf> {
    let mut files = Vec::new();
    let mut folders = vec![app.folder.path().join("documents")];
    while let Some(folder) = folders.pop() {
        for entry in std::fs::read_dir(folder).into_iter().flatten() {
            let path = entry.unwrap().path();
            if path.is_dir() { folders.push(path) } else { files.push(path) }
        }
    }
    files
}

/// ROUTE-13, CODE-29, CODE-30
#[tokio::test]
async fn a_plan_is_stored_and_read_by_a_link_for_five_minutes() {
    let mut app = TestApp::start().await;
    app.create_run("mend", |_| {}).await;
    let pod = app.pod("mend").await;
    let saved = pod.post(PLANS, &plan(PLAN)).await.expect(StatusCode::CREATED);
    let id = saved["document_id"].as_str().unwrap().to_owned();
    assert_eq!(saved["location"], format!("documents:{id}"));
    assert_eq!(saved["sha256"], DIGEST);
    assert_eq!(pod.post(PLANS, &plan(PLAN)).await.expect(StatusCode::CREATED), saved);
    assert_eq!(files(&app).len(), 1, "the same text is one document");

    let ask = format!("{PLANS}/{id}");
    let ann = app.ann().header("host", "foundry.example");
    let link = ann.get(&ask).await.expect(StatusCode::OK);
    assert!(link["url"].as_str().unwrap().starts_with("http://foundry.example/v1/documents/"));
    let path = path_of(&link);
    let read = app.nobody().get(&path).await;
    assert_eq!((read.status, read.text.as_str()), (StatusCode::OK, PLAN));
    assert_eq!(read.headers["content-type"], "text/markdown; charset=utf-8");
    assert_eq!(read.headers["x-content-type-options"], "nosniff");
    assert_eq!(read.headers["cache-control"], "private, no-store");

    app.restart().await;
    let after = app.nobody().get(&path).await;
    assert_eq!(after.text, PLAN, "a link outlives a restart");
    app.pass(Duration::from_mins(4));
    assert_eq!(app.nobody().get(&path).await.status, StatusCode::OK);
    app.pass(Duration::from_mins(1));
    let late = app.nobody().get(&path).await;
    assert_eq!(late.problem(StatusCode::FORBIDDEN), "LinkExpired");
}

/// ROUTE-13
#[tokio::test]
async fn a_link_of_one_replica_opens_at_another() {
    let (mut app, other) = TestApp::start_two_replicas().await;
    app.create_run("mend", |_| {}).await;
    let pod = app.pod("mend").await;
    let saved = pod.post(PLANS, &plan(PLAN)).await.expect(StatusCode::CREATED);
    let ask = format!("{PLANS}/{}", saved["document_id"].as_str().unwrap());
    let link = app.ann().get(&ask).await.expect(StatusCode::OK);
    app.router = foundry_api::router(other);
    assert_eq!(app.nobody().get(&path_of(&link)).await.text, PLAN);
}

/// ROUTE-13
#[tokio::test]
async fn a_document_is_found_only_as_the_coding_plan_of_its_own_agent() {
    let app = TestApp::start().await;
    app.create_run("mend", |_| {}).await;
    app.create_run("other", |_| {}).await;
    let mine = app.pod("mend").await.post(PLANS, &plan(PLAN)).await.expect(StatusCode::CREATED);
    let others = "/v1/agents/other/plans";
    let theirs = app.pod("other").await.post(others, &plan(PLAN)).await;
    let theirs = theirs.expect(StatusCode::CREATED);
    assert_ne!(mine["document_id"], theirs["document_id"], "each agent has its own");
    for id in [theirs["document_id"].as_str().unwrap(), "nope", "..%2f..", "%00"] {
        let missing = app.ann().get(&format!("{PLANS}/{id}")).await;
        assert_eq!(missing.problem(StatusCode::NOT_FOUND), "NotFound", "{id}");
    }
    let stranger = app.person("sam", &["member"]);
    let own = format!("{PLANS}/{}", mine["document_id"].as_str().unwrap());
    assert_eq!(stranger.get(&own).await.problem(StatusCode::FORBIDDEN), "NotAllowed");
}

/// ROUTE-13
#[tokio::test]
async fn a_link_that_was_changed_opens_nothing() {
    let app = TestApp::start().await;
    app.create_run("mend", |_| {}).await;
    let pod = app.pod("mend").await;
    let first = pod.post(PLANS, &plan(PLAN)).await.expect(StatusCode::CREATED);
    let second = pod.post(PLANS, &plan("# Other")).await.expect(StatusCode::CREATED);
    let (first, second) =
        (first["document_id"].as_str().unwrap(), second["document_id"].as_str().unwrap());
    let link = app.ann().get(&format!("{PLANS}/{first}")).await.expect(StatusCode::OK);
    let path = path_of(&link);
    let (bare, query) = path.split_once('?').unwrap();
    let (expires, signature) = query.split_once('&').unwrap();
    for changed in [
        path.replace(first, second),
        path.replace("expires=", "expires=1"),
        format!("{bare}?{expires}&signature="),
        format!("{bare}?{expires}&{}", flipped(signature)),
        format!("{path}00"),
    ] {
        let refused = app.nobody().get(&changed).await;
        assert_eq!(refused.problem(StatusCode::FORBIDDEN), "BadSignature", "{changed}");
    }
    for unsigned in [bare.to_owned(), format!("{bare}?{expires}"), format!("{bare}?{signature}")] {
        let refused = app.ann().get(&unsigned).await;
        assert_eq!(refused.problem(StatusCode::UNAUTHORIZED), "Unauthenticated", "{unsigned}");
    }
}

#[tokio::test]
async fn a_plan_that_is_none_or_too_long_is_refused_and_nothing_is_stored() {
    let app = TestApp::start().await;
    app.create_run("mend", |_| {}).await;
    let pod = app.pod("mend").await;
    for markdown in ["  \n", &"x".repeat(foundry_client::MAX_PLAN_BYTES + 1)] {
        let refused = pod.post(PLANS, &plan(markdown)).await;
        assert_eq!(refused.expect(StatusCode::UNPROCESSABLE_ENTITY)["field"], "markdown");
    }
    let longest = "ä".repeat(foundry_client::MAX_PLAN_BYTES / 2);
    pod.post(PLANS, &plan(&longest)).await.expect(StatusCode::CREATED);
    assert_eq!(files(&app).len(), 1);
}

/// CODE-29
#[tokio::test]
async fn a_plan_that_comes_after_the_result_leaves_no_bytes_behind() {
    let app = TestApp::start().await;
    app.create_run("mend", |_| {}).await;
    let pod = app.pod("mend").await;
    let end = json!({"generation": 1, "result": {"outcome": "failed", "summary": "no"}});
    pod.post("/v1/agents/mend/coding", &end).await.expect(StatusCode::NO_CONTENT);
    let late = pod.post(PLANS, &plan(PLAN)).await;
    assert_eq!(late.problem(StatusCode::CONFLICT), "TaskEnded");
    assert_eq!(files(&app), [] as [PathBuf; 0]);
}

/// ROUTE-13, CODE-31
#[tokio::test]
async fn bytes_that_were_changed_where_they_are_stored_are_not_shown_as_the_plan() {
    let app = TestApp::start().await;
    app.create_run("mend", |_| {}).await;
    let pod = app.pod("mend").await;
    let saved = pod.post(PLANS, &plan(PLAN)).await.expect(StatusCode::CREATED);
    let ask = format!("{PLANS}/{}", saved["document_id"].as_str().unwrap());
    let link = app.ann().get(&ask).await.expect(StatusCode::OK);
    std::fs::write(&files(&app)[0], "# Another plan").unwrap();
    let read = app.nobody().get(&path_of(&link)).await;
    assert_eq!(read.problem(StatusCode::SERVICE_UNAVAILABLE), "StorageUnavailable");
    assert!(!read.text.contains("Another plan"), "{}", read.text);
}

/// CODE-29
#[tokio::test]
async fn the_documents_of_a_deleted_agent_are_deleted_with_its_rows() {
    let app = TestApp::start().await;
    app.create_run("mend", |_| {}).await;
    app.pod("mend").await.post(PLANS, &plan(PLAN)).await.expect(StatusCode::CREATED);
    assert_eq!(files(&app).len(), 1);
    let delete = kube::api::DeleteParams::default();
    app.cluster.agents().delete("mend", &delete).await.unwrap();
    testenv::eventually("the file is gone", Duration::from_secs(20), || async {
        let left = files(&app);
        if left.is_empty() { Ok(()) } else { Err(format!("{left:?}")) }
    })
    .await;
}

const ACCOUNT: &str = "flowfiles";
const KEY: &[u8] = b"planted-account-key-0123456789";

/// Headers and bytes of what was put, by path.
type Blobs = BTreeMap<String, (HeaderMap, Vec<u8>)>;

/// What a storage account keeps, and whether it serves.
#[derive(Clone, Default)]
struct Account {
    blobs: Arc<Mutex<Blobs>>,
    broken: Arc<Mutex<bool>>,
}

/// A storage account as its provider documents it: writes prove themselves by
/// `SharedKey`, reads by a service SAS, which is checked here by the provider's own
/// rules.
async fn storage() -> (String, Account, AbortOnDropHandle<()>) {
    let account = Account::default();
    let kept = account.clone();
    let router = Router::new().fallback(async move |request: Request| {
        let (parts, body) = request.into_parts();
        let path = parts.uri.path().to_owned();
        let url = format!("http://h{}", parts.uri).parse::<Url>().unwrap();
        if *kept.broken.lock().unwrap() {
            return StatusCode::INTERNAL_SERVER_ERROR.into_response();
        }
        let bytes = axum::body::to_bytes(body, 10_000_000).await.unwrap().to_vec();
        let shown = parts.headers.get("authorization").and_then(|value| value.to_str().ok());
        let owner = shown.is_some_and(|value| value.starts_with("SharedKey flowfiles:"));
        let mut blobs = kept.blobs.lock().unwrap();
        match parts.method {
            Method::PUT if owner => {
                blobs.insert(path, (parts.headers, bytes));
                (StatusCode::CREATED, [("etag", "\"1\"")], Body::empty()).into_response()
            }
            Method::POST if owner && parts.uri.query().unwrap().contains("comp=batch") => {
                let deleted = delete_named_in(&String::from_utf8(bytes).unwrap(), &mut blobs);
                let form = "multipart/mixed; boundary=answers";
                (StatusCode::ACCEPTED, [("content-type", form)], deleted).into_response()
            }
            Method::GET if is_signed(&url) => match blobs.get(&path) {
                Some((_, bytes)) => bytes.clone().into_response(),
                None => StatusCode::NOT_FOUND.into_response(),
            },
            _ => StatusCode::FORBIDDEN.into_response(),
        }
    });
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("http://{}/{ACCOUNT}", listener.local_addr().unwrap());
    let serving = async move { axum::serve(listener, router).await.unwrap() };
    #[expect(clippy::disallowed_methods, reason = "ends with the test by its handle")]
    let handle = AbortOnDropHandle::new(tokio::spawn(serving));
    (url, account, handle)
}

/// Carries out a batch of deletions and gives its answer.
fn delete_named_in(batch: &str, blobs: &mut Blobs) -> String {
    let named = batch.lines().filter_map(|line| line.strip_prefix("DELETE ")?.split(' ').next());
    let answers = named.enumerate().map(|(n, path)| {
        let before = blobs.len();
        blobs.retain(|known, _| !known.ends_with(path));
        let status = if blobs.len() < before { "202 Accepted" } else { "404 Not Found" };
        format!(
            "--answers\r\nContent-Type: application/http\r\nContent-ID: {n}\r\n\r\n\
             HTTP/1.1 {status}\r\nx-ms-version: 1\r\n\r\n"
        )
    });
    answers.collect::<String>() + "--answers--\r\n"
}

/// Whether an address carries a service SAS of ours that lets read this blob.
fn is_signed(url: &Url) -> bool {
    let query = url.query_pairs().into_owned().collect::<BTreeMap<String, String>>();
    let field = |name: &str| query.get(name).cloned().unwrap_or_default();
    let text = [
        field("sp"),
        field("st"),
        field("se"),
        format!("/blob{}", url.path()),
        String::new(),
        String::new(),
        String::new(),
        field("sv"),
        field("sr"),
    ];
    let text = format!("{}{}", text.join("\n"), "\n".repeat(7));
    let mut mac = Hmac::<Sha256>::new_from_slice(KEY).unwrap();
    mac.update(text.as_bytes());
    let expected = BASE64_STANDARD.encode(mac.finalize().into_bytes());
    field("sp") == "r" && field("sr") == "b" && field("sig") == expected
}

async fn app_with_account(url: &str) -> TestApp {
    let endpoint = url.to_owned();
    let app = TestApp::start_configured(|config| {
        let key_file = config.data_dir.join("account key");
        std::fs::write(&key_file, format!("{}\n", BASE64_STANDARD.encode(KEY))).unwrap();
        config.file_storage_account = Some(ACCOUNT.to_owned());
        config.file_storage_key_file = Some(key_file);
        config.file_storage_endpoint = Some(endpoint);
    })
    .await;
    app.create_run("mend", |_| {}).await;
    app
}

/// ROUTE-13, CODE-29
#[tokio::test]
async fn a_plan_goes_to_the_configured_account_and_is_read_by_its_own_signed_address() {
    let (url, account, _serving) = storage().await;
    let app = app_with_account(&url).await;
    let pod = app.pod("mend").await;
    let saved = pod.post(PLANS, &plan(PLAN)).await.expect(StatusCode::CREATED);
    let id = saved["document_id"].as_str().unwrap();
    let path = format!("/{ACCOUNT}/agent-storage/{}/mend/{id}.md", app.namespace.name);
    {
        let blobs = account.blobs.lock().unwrap();
        let (headers, bytes) = &blobs[&path];
        assert_eq!(String::from_utf8_lossy(bytes), PLAN);
        for (name, expected) in [
            ("x-ms-meta-source", "coding_plan"),
            ("x-ms-meta-reference_type", "foundry_agent"),
            ("x-ms-meta-reference_id", "mend"),
            ("x-ms-meta-reference_category", "coding-plan"),
            ("x-ms-blob-content-type", "text/markdown; charset=utf-8"),
        ] {
            assert_eq!(headers[name], expected, "{name}");
        }
    }
    assert_eq!(files(&app), [] as [PathBuf; 0], "none in the folder");

    let link = app.ann().get(&format!("{PLANS}/{id}")).await.expect(StatusCode::OK);
    let signed = link["url"].as_str().unwrap();
    assert!(signed.starts_with(&format!("{url}/agent-storage/")), "{signed}");
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let read = http.get(signed).send().await.unwrap();
    assert_eq!((read.status().as_u16(), read.text().await.unwrap().as_str()), (200, PLAN));
    let forged = signed.replace("sp=r", "sp=w");
    assert_eq!(http.get(&forged).send().await.unwrap().status().as_u16(), 403);
    let moment = |text: &str| text.parse::<jiff::Timestamp>().unwrap();
    let signed = signed.parse::<Url>().unwrap();
    let (_, end) = signed.query_pairs().find(|(name, _)| name == "se").unwrap();
    let (_, begin) = signed.query_pairs().find(|(name, _)| name == "st").unwrap();
    assert_eq!(moment(&end).duration_since(moment(&begin)).as_secs(), 300);
    let unsigned = app.nobody().get(&format!("/v1/documents/{id}?expires=1&signature=00")).await;
    unsigned.problem(StatusCode::NOT_FOUND);

    let delete = kube::api::DeleteParams::default();
    app.cluster.agents().delete("mend", &delete).await.unwrap();
    testenv::eventually("the blob is gone", Duration::from_secs(20), || async {
        let left = account.blobs.lock().unwrap().len();
        if left == 0 { Ok(()) } else { Err(left) }
    })
    .await;
}

/// CODE-29
#[tokio::test]
async fn storage_that_does_not_serve_fails_the_plan_and_leaves_no_trace_of_it() {
    let (url, account, _serving) = storage().await;
    let app = app_with_account(&url).await;
    let pod = app.pod("mend").await;
    *account.broken.lock().unwrap() = true;
    let failed = pod.post(PLANS, &plan(PLAN)).await;
    assert_eq!(failed.problem(StatusCode::SERVICE_UNAVAILABLE), "StorageUnavailable");
    for secret in [&*BASE64_STANDARD.encode(KEY), "SharedKey"] {
        assert!(!failed.text.contains(secret), "{}", failed.text);
    }
    let run = app.ann().get("/v1/coding-runs/mend").await.expect(StatusCode::OK);
    assert_eq!(run["plan"], Value::Null);
    *account.broken.lock().unwrap() = false;
    pod.post(PLANS, &plan(PLAN)).await.expect(StatusCode::CREATED);
}
