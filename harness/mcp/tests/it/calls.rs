//! Calls and their limits.

use std::time::Duration;

use foundry_mcp::{Connections, Options, Server, Servers};
use pretty_assertions::assert_eq;

use super::scene::{HttpServer, call, failure, opened, seen, unknown};
use super::server::World;

/// Long enough for a busy machine, and shorter than what is to be cut off.
fn hasty() -> Options {
    let call = Duration::from_millis(1_500);
    Options { call, call_cap: Duration::from_millis(2_500), ..Options::default() }
}

#[tokio::test]
async fn results_errors_and_refusals_are_told_as_what_they_are() {
    let world = World::default();
    let server = HttpServer::start(&world);
    let connections = opened(server.url(), Options::default()).await;
    assert_eq!(call(&connections, "write").await, Ok("write did it".to_owned()));
    assert_eq!(failure(call(&connections, "fail").await), "the disk is full");
    assert_eq!(
        failure(call(&connections, "refuse").await),
        "MCP server db: no such row ({\"row\":7})"
    );
    assert_eq!(call(&connections, "huge").await.map(|text| text.len()), Ok(2_000_000));
    connections.close().await;
}

#[tokio::test]
async fn an_answer_beyond_the_limit_is_a_failure_and_the_session_lives() {
    let world = World::default();
    let server = HttpServer::start(&world);
    let connections = opened(server.url(), Options::default()).await;
    let words = unknown(call(&connections, "giant").await);
    assert!(words.contains("its answer is too large"), "{words}");
    assert_eq!(call(&connections, "read").await, Ok("read did it".to_owned()));
    assert_eq!(world.count("initialize"), 1);
}

#[tokio::test]
async fn a_server_that_hangs_holds_no_call_beyond_its_limit_and_is_told_to_stop() {
    let world = World::default();
    let server = HttpServer::start(&world);
    let connections = opened(server.url(), hasty()).await;
    assert_eq!(
        unknown(call(&connections, "hang").await),
        "MCP server db: it did not answer within 1.5s while hang ran"
    );
    assert_eq!(
        failure(call(&connections, "hang_reading").await),
        "MCP server db: it did not answer within 1.5s"
    );
    seen(&world, "cancelled", 2).await;
    // The session is as good as before.
    assert_eq!(call(&connections, "read").await, Ok("read did it".to_owned()));
    assert_eq!(world.count("initialize"), 1);
}

#[tokio::test]
async fn progress_extends_a_call_but_not_beyond_its_cap() {
    let world = World::default();
    let server = HttpServer::start(&world);
    let patient = Options { call_cap: Duration::from_mins(1), ..hasty() };
    let connections = opened(server.url(), patient).await;
    assert_eq!(call(&connections, "progress").await, Ok("done at last".to_owned()));
    let connections = opened(server.url(), hasty()).await;
    assert_eq!(
        unknown(call(&connections, "chatter").await),
        "MCP server db: it did not answer within 2.5s while chatter ran"
    );
    seen(&world, "cancelled", 1).await;
}

#[tokio::test]
async fn a_call_that_is_interrupted_is_cancelled_at_its_server() {
    let world = World::default();
    let server = HttpServer::start(&world);
    let connections = opened(server.url(), Options::default()).await;
    tokio::select! {
        result = call(&connections, "hang") => panic!("{result:?}"),
        () = seen(&world, "hang", 1) => {}
    }
    seen(&world, "cancelled", 1).await;
}

#[tokio::test]
async fn calls_of_tools_that_outlive_their_connections_fail_with_words() {
    let world = World::default();
    let server = HttpServer::start(&world);
    let connections = opened(server.url(), Options::default()).await;
    let tool = super::scene::find(&connections, "write");
    connections.close().await;
    let words = failure(tool.executor.execute(serde_json::Map::new()).await);
    assert_eq!(words, "MCP server db: it is closed; write was not called");
    assert_eq!(world.count("write"), 0);
}

#[tokio::test]
async fn a_server_that_fails_leaves_the_others_serving() {
    let world = World::default();
    let server = HttpServer::start(&world);
    let mut gone = HttpServer::start(&world);
    gone.kill();
    let servers = Servers::default()
        .with(Server::http("db", server.url()))
        .with(Server::http("gone", gone.url()));
    let (connections, problems) = Connections::open(servers, Options::default()).await;
    assert_eq!(problems.len(), 1);
    assert_eq!(problems[0].server, "gone");
    assert_eq!(call(&connections, "write").await, Ok("write did it".to_owned()));
}
