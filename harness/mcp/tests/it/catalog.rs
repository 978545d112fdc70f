//! Tools as they are listed.

use std::collections::BTreeSet;

use foundry_kernel::{Effect, Guard};
use foundry_mcp::{Connections, Options, Problem, Server, Servers};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::scene::{HttpServer, call, find, open_at, opened};
use super::server::{World, destroying, reading, tool, tool_with};

/// KERN-08
#[tokio::test]
async fn every_tool_is_deferred_and_carries_its_schema_whole() {
    let schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "type": "object",
        "properties": {"at": {"$ref": "#/$defs/place"}, "mode": {"enum": ["a", "b"]}},
        "required": ["at"],
        "$defs": {"place": {"type": "array", "prefixItems": [{"type": "number"}], "items": false}},
        "x-vendor": {"kept": true},
    });
    let world = World::default();
    world.offer(vec![tool_with("place", schema.clone()), tool("plain")]);
    let server = HttpServer::start(&world);
    let connections = opened(server.url(), Options::default()).await;
    let tools = connections.tools();
    assert_eq!(tools.len(), 2);
    assert!(tools.iter().all(|tool| tool.deferred));
    assert_eq!(find(&connections, "place").spec.input_schema, schema);
}

#[tokio::test]
async fn a_thousand_tools_are_read_page_by_page_and_each_is_called_by_its_true_name() {
    let world = World::default();
    world.offer((0..1_000).map(|n| tool(&format!("tool/{n}"))).collect());
    let server = HttpServer::start(&world);
    let connections = opened(server.url(), Options::default()).await;
    assert_eq!(world.count("list"), 10);
    let tools = connections.tools();
    let names: BTreeSet<_> = tools.iter().map(|tool| tool.spec.name.clone()).collect();
    assert_eq!((tools.len(), names.len()), (1_000, 1_000));
    let legal = |name: &String| {
        name.len() <= 64 && name.bytes().all(|b| b.is_ascii_alphanumeric() || b"_-".contains(&b))
    };
    assert!(names.iter().all(legal), "{names:?}");
    assert_eq!(call(&connections, "tool/999").await, Ok("tool/999 did it".to_owned()));
    assert_eq!(world.count("tool/999"), 1);
}

#[tokio::test]
async fn one_bad_tool_is_left_out_alone() {
    let world = World::default();
    world.offer(vec![
        tool("first"),
        tool_with("crooked", json!({"type": "object", "properties": {"a": {"type": 5}}})),
        tool("twin"),
        tool("twin"),
        tool("last"),
    ]);
    let server = HttpServer::start(&world);
    let (connections, problems) = open_at(server.url(), Options::default()).await;
    let left_out: Vec<_> = problems.iter().map(|problem| problem.tool.as_deref()).collect();
    assert_eq!(left_out, [Some("crooked"), Some("twin")]);
    let words: Vec<String> = problems.iter().map(Problem::to_string).collect();
    assert!(
        words[0].starts_with("MCP server db: tool crooked is left out: its schema is not usable: "),
        "{words:?}"
    );
    assert_eq!(
        words[1],
        "MCP server db: tool twin is left out: the server has another tool of this name, which came first"
    );
    let names: Vec<_> =
        connections.tools().iter().map(|tool| tool.spec.description.clone()).collect();
    assert_eq!(names, ["does first", "does twin", "does last"]);
    for name in ["first", "twin", "last"] {
        assert_eq!(call(&connections, name).await, Ok(format!("{name} did it")));
    }
}

#[tokio::test]
async fn a_hint_to_only_read_counts_where_the_server_is_trusted() {
    let world = World::default();
    world.offer(vec![reading(tool("look")), tool("touch")]);
    let server = HttpServer::start(&world);
    let effects = async |server: Server, options: Options| {
        let (connections, problems) =
            Connections::open(Servers::default().with(server), options).await;
        assert_eq!(problems, []);
        connections.tools().iter().map(|tool| tool.effect).collect::<Vec<_>>()
    };
    let plain = Server::http("db", server.url());
    let trusting = Options { trust_read_only: true, ..Options::default() };
    assert_eq!(effects(plain.clone(), Options::default()).await, [Effect::Write, Effect::Write]);
    assert_eq!(effects(plain.clone(), trusting).await, [Effect::Read, Effect::Write]);
    let trusted = plain.trusting_read_only();
    assert_eq!(effects(trusted, Options::default()).await, [Effect::Read, Effect::Write]);
}

#[tokio::test]
async fn a_server_that_says_its_tools_changed_is_listed_again_before_the_next_run_and_not_otherwise()
 {
    let world = World::default();
    let server = HttpServer::start(&world);
    let connections = opened(server.url(), Options::default()).await;
    assert_eq!(connections.refresh().await, []);
    assert_eq!(world.count("list"), 1);

    let before = connections.tools().len();
    assert_eq!(call(&connections, "grow").await, Ok("grown".to_owned()));
    testenv::eventually("the notice arrives", super::scene::PATIENCE, || async {
        assert_eq!(connections.refresh().await, []);
        if connections.tools().len() > before { Ok(()) } else { Err("as before") }
    })
    .await;
    assert_eq!(world.count("list"), 2);
    assert_eq!(call(&connections, "grown").await, Ok("grown did it".to_owned()));
}

#[tokio::test]
async fn a_session_that_was_opened_again_is_listed_again() {
    let world = World::default();
    let server = HttpServer::start(&world);
    let connections = opened(server.url(), Options::default()).await;
    world.offer_more(tool("new"));
    server.forget_sessions().await;
    assert_eq!(call(&connections, "read").await, Ok("read did it".to_owned()));
    assert_eq!(connections.refresh().await, []);
    assert_eq!(call(&connections, "new").await, Ok("new did it".to_owned()));
}

#[tokio::test]
async fn two_servers_may_have_tools_of_one_name() {
    let (one, two) = (World::default(), World::default());
    let (first, second) = (HttpServer::start(&one), HttpServer::start(&two));
    let servers = Servers::default()
        .with(Server::http("a", first.url()))
        .with(Server::http("b", second.url()));
    let (connections, problems) = Connections::open(servers, Options::default()).await;
    assert_eq!(problems, []);
    let tools = connections.tools();
    let names: BTreeSet<_> = tools.iter().map(|tool| tool.spec.name.clone()).collect();
    assert_eq!(names.len(), tools.len());
    let writes = tools.iter().filter(|tool| tool.spec.description == "does write");
    for tool in writes {
        tool.executor.execute(serde_json::Map::new()).await.unwrap();
    }
    assert_eq!((one.count("write"), two.count("write")), (1, 1));
}

#[tokio::test]
async fn a_server_that_knows_no_handshake_any_more_serves_too_and_is_always_listed_again() {
    let world = World::modern();
    let server = HttpServer::start(&world);
    let connections = opened(server.url(), Options::default()).await;
    assert_eq!(call(&connections, "write").await, Ok("write did it".to_owned()));
    world.offer_more(tool("new"));
    assert_eq!(connections.refresh().await, []);
    assert_eq!(call(&connections, "new").await, Ok("new did it".to_owned()));
    assert_eq!((world.count("write"), world.count("new")), (1, 1));
    connections.close().await;
}

#[tokio::test]
async fn a_tool_that_is_said_to_destroy_is_guarded_without_any_trust() {
    let world = World::default();
    world.offer(vec![destroying(tool("drop_table")), tool("touch")]);
    let server = HttpServer::start(&world);
    let connections = opened(server.url(), Options::default()).await;
    let guards: Vec<Guard> = connections.tools().iter().map(|tool| tool.guard).collect();
    assert_eq!(guards, [Guard::Guarded, Guard::Routine]);
}

#[tokio::test]
async fn a_server_has_a_bounded_number_of_tools() {
    let world = World::default();
    world.offer((0..5_000).map(|n| tool(&format!("t{n}"))).collect());
    let server = HttpServer::start(&world);
    let (connections, problems) = open_at(server.url(), Options::default()).await;
    assert_eq!(connections.tools().len(), 4_096);
    assert_eq!(
        problems.iter().map(Problem::to_string).collect::<Vec<_>>(),
        ["MCP server db: it has more than 4096 tools: what comes after is left out"]
    );
}
