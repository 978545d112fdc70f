//! A session that dies.

use std::time::{Duration, Instant};

use foundry_mcp::Options;
use futures::future::join_all;
use pretty_assertions::assert_eq;

use super::scene::{HttpServer, Way, call, failure, open_at, opened, seen, unknown};
use super::server::World;

/// Calls that wait on one session.
const WAITING: usize = 12;

/// KERN-41
#[tokio::test]
async fn a_forgotten_session_is_reopened_once_for_all_waiting_calls_and_each_read_repeated_once() {
    let world = World::default();
    let server = HttpServer::start(&world);
    let connections = opened(server.url(), Options::default()).await;
    server.forget_sessions().await;

    let results = join_all((0..WAITING).map(|_| call(&connections, "read"))).await;

    assert_eq!(results, vec![Ok("read did it".to_owned()); WAITING]);
    assert_eq!(world.count("initialize"), 2);
    assert_eq!(world.count("read"), WAITING);
}

/// KERN-41
#[tokio::test]
async fn reads_under_way_when_the_server_restarts_are_each_repeated_once_on_one_new_session() {
    let (before, after) = (World::default(), World::default());
    let mut first = HttpServer::start(&before);
    let second = HttpServer::start(&after);
    let way = Way::to(&first).await;
    let connections = opened(way.url(), Options::default()).await;
    after.gate.add_permits(WAITING);

    let restart = async {
        seen(&before, "held_read", WAITING).await;
        way.lead_to(&second);
        first.kill();
    };
    let reads = join_all((0..WAITING).map(|_| call(&connections, "held_read")));
    let (results, ()) = tokio::join!(reads, restart);

    assert_eq!(results, vec![Ok("let go".to_owned()); WAITING]);
    assert_eq!((before.count("held_read"), after.count("held_read")), (WAITING, WAITING));
    assert_eq!((before.count("initialize"), after.count("initialize")), (1, 1));
}

/// KERN-41
#[tokio::test]
async fn a_mutation_under_way_when_the_server_restarts_is_of_unknown_outcome_and_never_fires_twice()
{
    let (before, after) = (World::default(), World::default());
    let mut first = HttpServer::start(&before);
    let second = HttpServer::start(&after);
    let way = Way::to(&first).await;
    let connections = opened(way.url(), Options::default()).await;
    after.gate.add_permits(1);

    let restart = async {
        seen(&before, "held_write", 1).await;
        way.lead_to(&second);
        first.kill();
    };
    let (result, ()) = tokio::join!(call(&connections, "held_write"), restart);

    let words = unknown(result);
    assert!(
        words.starts_with("MCP server db: ") && words.ends_with("while held_write ran"),
        "{words}"
    );
    assert_eq!((before.count("held_write"), after.count("held_write")), (1, 0));
    // What comes next is served by a new session.
    assert_eq!(call(&connections, "write").await, Ok("write did it".to_owned()));
    assert_eq!((after.count("initialize"), after.count("held_write")), (1, 0));
}

/// KERN-41
#[tokio::test]
async fn a_mutation_into_a_forgotten_session_is_of_unknown_outcome_and_is_not_repeated() {
    let world = World::default();
    let server = HttpServer::start(&world);
    let connections = opened(server.url(), Options::default()).await;
    server.forget_sessions().await;

    let words = unknown(call(&connections, "write").await);

    assert_eq!(words, "MCP server db: it no longer knows this session (HTTP 404) while write ran");
    assert_eq!((world.count("write"), world.count("initialize")), (0, 1));
    assert_eq!(call(&connections, "write").await, Ok("write did it".to_owned()));
    assert_eq!((world.count("write"), world.count("initialize")), (1, 2));
}

/// KERN-41
#[tokio::test]
async fn a_server_that_is_restarted_on_its_port_serves_the_next_call() {
    let world = World::default();
    let mut server = HttpServer::start(&world);
    let connections = opened(server.url(), Options::default()).await;
    server.kill();
    let _again = HttpServer::start_at(&world, server.address);

    assert_eq!(call(&connections, "read").await, Ok("read did it".to_owned()));
    assert_eq!((world.count("read"), world.count("initialize")), (1, 2));
}

/// KERN-41
#[tokio::test]
async fn a_server_that_is_gone_fails_all_waiting_calls_at_once_and_may_come_back() {
    let world = World::default();
    let mut server = HttpServer::start(&world);
    let connections = opened(server.url(), Options::default()).await;

    let began = Instant::now();
    let kill = async {
        seen(&world, "held_read", WAITING / 2).await;
        seen(&world, "held_write", WAITING / 2).await;
        server.kill();
    };
    let names = (0..WAITING).map(|n| if n % 2 == 0 { "held_read" } else { "held_write" });
    let (results, ()) = tokio::join!(join_all(names.map(|name| call(&connections, name))), kill);
    assert!(began.elapsed() < Duration::from_secs(8), "{:?}", began.elapsed());

    for (n, result) in results.into_iter().enumerate() {
        if n % 2 == 0 {
            let words = failure(result);
            assert!(words.contains("could not be opened again"), "{words}");
            assert!(words.contains("it cannot be reached"), "{words}");
        } else {
            unknown(result);
        }
    }
    // A call that never left changed nothing, and says so.
    let words = failure(call(&connections, "write").await);
    assert!(words.ends_with("write was not called"), "{words}");

    let _again = HttpServer::start_at(&world, server.address);
    testenv::eventually("the server serves again", super::scene::PATIENCE, || async {
        call(&connections, "write").await.map(|_| ())
    })
    .await;
    assert_eq!(world.count("write"), 1);
}

#[tokio::test]
async fn a_server_that_cannot_be_reached_is_a_problem_that_names_itself() {
    let world = World::default();
    let mut server = HttpServer::start(&world);
    server.kill();
    let (connections, problems) = open_at(server.url(), Options::default()).await;
    let [problem] = problems.as_slice() else { panic!("{problems:?}") };
    let words = problem.to_string();
    assert!(words.starts_with("MCP server db: it cannot be reached: "), "{words}");
    assert!(words.ends_with(": check its URL and that it runs"), "{words}");
    assert!(connections.tools().is_empty());

    // It is tried again between runs, once it may have come back.
    let _up = HttpServer::start_at(&world, server.address);
    testenv::eventually("its tools are there", super::scene::PATIENCE, || async {
        connections.refresh().await;
        if connections.tools().is_empty() { Err("none") } else { Ok(()) }
    })
    .await;
}

/// KERN-41
#[tokio::test]
async fn an_interrupted_call_neither_spoils_a_reopening_nor_begins_a_second_one() {
    let world = World::default();
    let server = HttpServer::start(&world);
    let connections = opened(server.url(), Options::default()).await;
    server.forget_sessions().await;

    let interrupted = async {
        // Dropped at whatever point it has reached, again and again.
        for _ in 0..20 {
            let call = call(&connections, "read");
            tokio::select! {
                biased;
                _ = call => return,
                () = tokio::task::yield_now() => {}
            }
        }
    };
    let reads = join_all((0..WAITING).map(|_| call(&connections, "read")));
    let (results, ()) = tokio::join!(reads, interrupted);
    assert_eq!(results, vec![Ok("read did it".to_owned()); WAITING]);
    assert_eq!(world.count("initialize"), 2);
}
