//! The tool catalog that migrations seed.

use std::collections::BTreeSet;

use foundry_store::{Effect, Family};
use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::Value;

use crate::backend::Backend;

/// OPS-02, ROUTE-17
#[rstest]
#[tokio::test]
async fn migrations_alone_seed_every_tool_with_description_and_schema(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    let tools = store.tools().await.unwrap();
    let names: BTreeSet<&str> = tools.iter().map(|tool| tool.name.as_str()).collect();
    for name in [
        "remember",
        "recall",
        "save_research_checkpoint",
        "search",
        "list_insights",
        "get_insight",
        "get_conversation",
        "get_evidence",
        "get_evidence_utterances",
        "list_discovery_packets",
        "get_discovery_packet",
        "save_note",
        "save_output",
        "list_queue_errors",
        "requeue_queue_jobs",
        "expire_queue_job",
        "get_agent",
        "spawn_coding_agent",
        "run_command",
        "edit_file",
        "write_file",
        "delete_file",
        "finish",
    ] {
        assert!(names.contains(name), "{name} is missing");
    }
    for tool in &tools {
        let legal = |c: char| c.is_ascii_lowercase() || c == '_';
        assert!(tool.name.chars().all(legal) && tool.name.len() <= 64, "{}", tool.name);
        assert!(tool.description.ends_with('.'), "{}: {}", tool.name, tool.description);
        let schema = &tool.input_schema;
        assert_eq!(schema["type"], "object", "{}", tool.name);
        let properties = schema["properties"].as_object().unwrap();
        for (property, form) in properties {
            let described = form["description"].as_str().is_some_and(|text| !text.is_empty());
            assert!(described, "{}.{property} has no description", tool.name);
        }
        for required in schema["required"].as_array().unwrap_or(&Vec::new()) {
            let known = required.as_str().is_some_and(|name| properties.contains_key(name));
            assert!(known, "{} requires unknown {required}", tool.name);
        }
    }
    assert!(tools.is_sorted_by_key(|tool| tool.name.as_str()));
}

/// OPS-02
#[rstest]
#[tokio::test]
async fn discovery_packets_can_be_filtered_as_documented(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    let tools = store.tools().await.unwrap();
    let packets = tools.iter().find(|tool| tool.name == "list_discovery_packets").unwrap();
    assert_eq!((packets.family, packets.effect), (Family::Intelligence, Effect::Read));
    for filter in ["lens", "inquiry", "entity", "created_after", "updated_after"] {
        assert_ne!(packets.input_schema["properties"][filter], Value::Null, "{filter}");
    }
}

/// OPS-02
#[rstest]
#[tokio::test]
async fn the_tools_that_change_a_file_say_so(
    #[values(Backend::Sqlite, Backend::Postgres)] backend: Backend,
) {
    let (store, _folder) = backend.store().await;
    let tools = store.tools().await.unwrap();
    for name in ["edit_file", "write_file", "delete_file"] {
        let tool = tools.iter().find(|tool| tool.name == name).unwrap();
        assert_eq!((tool.family, tool.effect), (Family::Coding, Effect::Write), "{name}");
        assert_eq!(tool.input_schema["additionalProperties"], false, "{name}");
    }
}
