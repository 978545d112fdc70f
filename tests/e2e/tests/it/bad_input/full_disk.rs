//! A full disk, played by a limit on the size of files.

use std::sync::Arc;
use std::time::Duration;

use foundry_client::{Client, ClientError, StaticToken};
use foundry_crds::Agent;
use kube::Api;
use kube::api::PostParams;
use pretty_assertions::assert_eq;
use rstest::rstest;
use rustix::process::Signal;
use serde_json::json;
use testenv::Process;
use tokio::net::TcpListener;
use uuid::Uuid;

use super::attempt::{Attempt, LOG, Place, assert_says};

const DEADLINE: Duration = Duration::from_secs(30);
const AGENT: &str = "scout";
const TOKEN: &str = "sesame";

/// What SQLite has begun it takes up again by itself.
const BEGUN: [&str; 3] = ["data/foundry.db", "data/foundry.db-shm", "data/foundry.db-wal"];

#[rstest]
#[case::not_even_one_page(2)]
#[case::not_the_schema(30)]
#[tokio::test]
async fn an_api_that_cannot_make_its_database_says_so_and_starts_when_there_is_room(
    #[case] blocks: u32,
) {
    let place = Place::new();
    let attempt = Attempt::api(&place).limit_files(blocks);
    let line = attempt.refusal_leaving(&BEGUN).await;
    assert_says(&line, &["data/foundry.db", "disk is full", "free some space"]);

    let address = format!("127.0.0.1:{}", testenv::free_port().unwrap());
    let mut api = Attempt::api(&place).set("FOUNDRY_API_LISTEN", &address).start();
    until_it_answers(&mut api, &address, "livez").await;
}

#[tokio::test]
async fn a_demo_without_room_says_so_before_it_builds_anything() {
    let place = Place::new();
    let demo = Attempt::xtask(&place, "demo").argument("--exit").limit_files(2_000);
    let demo = demo.argument("--data-dir").argument(place.path("demo"));
    let line = demo.refusal_leaving(&["demo/foundry-demo"]).await;
    let folder = place.path("demo").display().to_string();
    assert_says(&line, &[&folder, "16 MiB", "make room", "--data-dir"]);
}

#[rstest]
#[case::api(Attempt::api, "FOUNDRY_API_LISTEN")]
#[case::operator(Attempt::operator, "FOUNDRY_OPERATOR_LISTEN")]
#[tokio::test]
async fn a_server_whose_log_cannot_grow_lives_on(
    #[case] program: fn(&Place) -> Attempt,
    #[case] listen: &str,
) {
    let place = Place::new();
    let address = format!("127.0.0.1:{}", testenv::free_port().unwrap());
    let mut process = program(&place).set(listen, &address).fill_outputs().start();
    until_it_answers(&mut process, &address, "livez").await;
    until_it_answers(&mut process, &address, "metrics").await;
    assert_ends_well(&mut process).await;
}

#[tokio::test]
async fn a_harness_whose_log_cannot_grow_lives_on() {
    let place = Place::new();
    let api = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = format!("http://{}", api.local_addr().unwrap());
    let attempt = Attempt::harness(&place).set("FOUNDRY_API_URL", address);
    let mut harness = attempt.fill_outputs().start();
    // It has told of its start by then, and goes on to its API.
    tokio::time::timeout(DEADLINE, api.accept()).await.unwrap().unwrap();
    assert_ends_well(&mut harness).await;
}

#[rstest]
#[case::operator(Attempt::operator)]
#[case::harness(Attempt::harness)]
#[tokio::test]
async fn a_program_whose_log_has_reached_its_limit_lives_on(
    #[case] program: fn(&Place) -> Attempt,
) {
    let place = Place::new();
    let log = place.path(LOG);
    let mut process = program(&place).limit_files(1).start();
    // A block is 512 or 1,024 bytes; only a write that was cut ends at it.
    let at_the_limit = || async {
        let length = std::fs::metadata(&log).map_or(0, |file| file.len());
        if matches!(length, 512 | 1_024) { Ok(()) } else { Err(format!("{length} bytes")) }
    };
    process.wait_for("its log was at the limit", DEADLINE, at_the_limit).await.unwrap();
    assert_ends_well(&mut process).await;
}

/// Told to end, it ends by itself, and well.
async fn assert_ends_well(process: &mut Process) {
    process.signal(Signal::TERM);
    let status = process.finish(DEADLINE).await.unwrap();
    assert!(status.success(), "{status}: {}", process.last_words());
}

#[tokio::test(flavor = "multi_thread")]
async fn an_api_whose_disk_fills_refuses_what_it_cannot_keep_and_keeps_what_it_took() {
    let control_plane = testenv::control_plane().await;
    let namespace = testenv::namespace(control_plane, "full").await;
    let agent: Agent = serde_json::from_value(json!({
        "apiVersion": "foundry.flow.life/v1alpha1",
        "kind": "Agent",
        "metadata": {"name": AGENT},
        "spec": {"owner": "ann", "harness": "agent-v1"},
    }))
    .unwrap();
    let agents: Api<Agent> = Api::namespaced(namespace.client.clone(), &namespace.name);
    agents.create(&PostParams::default(), &agent).await.unwrap();

    let place = Place::new();
    let kubeconfig = control_plane.kubeconfig_for_service_account("default", "foundry-api").await;
    let address = format!("127.0.0.1:{}", testenv::free_port().unwrap());
    let api = || {
        Attempt::api(&place)
            .set("KUBECONFIG", &kubeconfig)
            .set("FOUNDRY_API_LISTEN", &address)
            .set("FOUNDRY_WATCH_NAMESPACES", &namespace.name)
            .set("FOUNDRY_SERVICE_TOKEN_FILE", place.give("service token", TOKEN))
            .set("FOUNDRY_LOG", "warn")
    };
    let token = Arc::new(StaticToken::new(TOKEN.to_owned()));
    let client = Client::new(&format!("http://{address}"), token).unwrap();
    let client = client.for_agent(AGENT).unwrap();

    let mut filling = api().limit_files(1_500).start();
    until_it_answers(&mut filling, &address, "readyz").await;
    let (kept, refused) = remember_until_refused(&client).await;
    assert!(!kept.is_empty(), "nothing was kept: {refused}");
    assert!(matches!(refused.status(), Some(503 | 507)), "{refused}");
    assert_says(&refused.to_string(), &["disk is full", "free some space"]);
    assert_eq!(memories(&client).await, kept, "what is there can still be read");
    assert_ends_well(&mut filling).await;

    let mut roomy = api().start();
    until_it_answers(&mut roomy, &address, "readyz").await;
    assert_eq!(memories(&client).await, kept);
    client.remember(AGENT, "there is room again").await.unwrap();
}

/// The ids of what was kept, and the refusal of what was not.
async fn remember_until_refused(client: &Client) -> (Vec<Uuid>, ClientError) {
    let mut kept = Vec::new();
    let text = "x".repeat(10_000);
    for _ in 0..1_000 {
        match client.remember(AGENT, &text).await {
            Ok(memory) => kept.push(memory.id),
            Err(refused) => {
                kept.sort_unstable();
                return (kept, refused);
            }
        }
    }
    panic!("the disk never filled")
}

/// The ids of all memories.
async fn memories(client: &Client) -> Vec<Uuid> {
    let mut ids = Vec::new();
    let mut cursor = None;
    loop {
        let page = client.list_memories(AGENT, None, None, cursor.as_deref()).await.unwrap();
        ids.extend(page.items.iter().map(|memory| memory.id));
        cursor = page.next_cursor;
        if cursor.is_none() {
            ids.sort_unstable();
            return ids;
        }
    }
}

async fn until_it_answers(api: &mut Process, address: &str, path: &str) {
    testenv::install_tls_provider();
    let http = reqwest::Client::builder().no_proxy().timeout(DEADLINE).build().unwrap();
    let url = format!("http://{address}/{path}");
    let probe = || async { http.get(&url).send().await?.error_for_status().map(drop) };
    api.wait_for("it answered", DEADLINE, probe).await.unwrap();
}
