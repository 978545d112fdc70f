use foundry_client::ToolFamily;
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use serde_json::json;

use super::*;
use crate::fake::{self, FakeApi};
use crate::tools;

fn executors() -> Executors {
    let api: Arc<dyn crate::api::Api> = Arc::new(FakeApi::default());
    tools::executors(&api)
}

fn select_for(grants: &[&str]) -> Result<Selected, Blocker> {
    let api = FakeApi::default();
    let state = api.state();
    let mut agent = state.agent.clone();
    agent.tools = grants.iter().map(ToString::to_string).collect();
    select(&state.tools, &agent, &state.harness, &executors())
}

fn names(selected: &Selected) -> Vec<&str> {
    selected.tools.iter().map(|tool| tool.spec.name.as_str()).collect()
}

/// MEM-12, LOOP-03
#[test]
fn a_run_gets_what_is_always_granted_and_what_is_granted_to_the_agent() {
    assert_eq!(names(&select_for(&[]).unwrap()), ["recall", "remember"]);
    assert_eq!(
        names(&select_for(&["list_agents"]).unwrap()),
        ["list_agents", "recall", "remember"]
    );
}

/// LOOP-03
#[test]
fn what_the_harness_does_not_permit_is_left_out_and_named() {
    let selected = select_for(&["search", "get_agent"]).unwrap();
    assert_eq!(names(&selected), ["get_agent", "recall", "remember"]);
    assert_eq!(selected.not_permitted, ["search"]);
}

/// LOOP-29
#[test]
fn a_selected_tool_without_a_schema_blocks_by_name() {
    let api = FakeApi::default();
    let mut state = api.state();
    state.tools.retain(|tool| tool.name != "recall");
    assert_eq!(
        select(&state.tools, &state.agent, &state.harness, &executors()).unwrap_err(),
        Blocker::NoSchema("recall".to_owned())
    );
    state.tools.push(CatalogTool { input_schema: json!({}), ..fake::tool("recall") });
    let blocker = select(&state.tools, &state.agent, &state.harness, &executors()).unwrap_err();
    assert!(blocker.to_string().starts_with("tool recall is selected, but"), "{blocker}");
}

/// LOOP-29
#[test]
fn a_selected_tool_without_an_executor_blocks_by_name() {
    let api = FakeApi::default();
    let mut state = api.state();
    state.tools.push(CatalogTool { family: ToolFamily::Intelligence, ..fake::tool("search") });
    state.harness.always_granted.push("search".to_owned());
    assert_eq!(
        select(&state.tools, &state.agent, &state.harness, &executors()).unwrap_err(),
        Blocker::NoExecutor("search".to_owned())
    );
}

proptest! {
    /// LOOP-07
    #[test]
    fn a_result_that_is_too_long_reaches_the_model_as_whole_json_within_the_limit(
        result in "[\"\\\\\\n\\x01a-zäß]{0,4000}", limit in 600_usize..3000
    ) {
        let selected = select_for(&[]).unwrap();
        let cut = (selected.tools[0].form)(&result, limit);
        let value: Value = serde_json::from_str(&cut).unwrap();
        prop_assert_eq!(&value["truncated"], &json!(true));
        prop_assert!(cut.len() <= limit, "{} bytes", cut.len());
        prop_assert!(result.starts_with(value["preview"].as_str().unwrap()));
    }
}
