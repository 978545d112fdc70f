//! Tools that stay out of sight until they are found (KERN-08).

use pretty_assertions::assert_eq;

use super::*;
use crate::tool::Tool;

fn deferring() -> Run {
    let hidden = tool("tide_table", Effect::Read, Does(|_| Ok("high at 4".to_owned())));
    run_with(settings(), vec![echo(), Arc::new(Tool::clone(&hidden).deferred())])
}

fn names(call: &crate::ModelCall) -> Vec<&str> {
    call.request.tools.iter().map(|tool| tool.name.as_str()).collect()
}

/// KERN-08
#[test]
fn a_deferred_tool_is_in_the_request_once_it_was_found_and_can_be_called_then() {
    let mut run = deferring();
    let first = model_call(&mut run);
    assert!(!names(&first).contains(&"tide_table"), "{:?}", names(&first));
    assert!(!format!("{:?}", first.request.tools).contains("does tide_table"));

    run.replied(Ok(calls([("a", "ToolSearch", r#"{"query": "select:tide_table"}"#)])));
    let second = model_call(&mut run);
    assert_eq!(names(&second).last(), Some(&"tide_table"));
    assert!(!last_results(&run)[0].settled.is_error(), "{:?}", last_results(&run));
    assert_eq!(second.request.tools[..first.request.tools.len()], first.request.tools);

    run.replied(Ok(calls([("b", "tide_table", "{}")])));
    assert_eq!(batch(&mut run).calls[0].call.name, "tide_table");
}

/// KERN-08
#[test]
fn a_deferred_tool_that_was_not_found_yet_is_not_run() {
    let mut run = deferring();
    model_call(&mut run);
    run.replied(Ok(calls([("a", "tide_table", "{}")])));
    model_call(&mut run);
    let refused = last_results(&run)[0].settled.text();
    assert!(refused.contains("ToolSearch"), "{refused}");
}

/// KERN-08: what was found stays found when the run is taken up elsewhere.
#[test]
fn a_stored_run_keeps_the_tools_it_has_found() {
    let mut run = deferring();
    model_call(&mut run);
    run.replied(Ok(calls([("a", "ToolSearch", r#"{"query": "select:tide_table"}"#)])));
    let stored = serde_json::to_string(run.state()).unwrap();
    let tools = deferring().tools;
    let state = serde_json::from_str(&stored).unwrap();
    let mut resumed = Run { state, tools, tool_bytes: None };
    assert_eq!(model_call(&mut resumed), model_call(&mut run));
    assert_eq!(names(&model_call(&mut resumed)).last(), Some(&"tide_table"));
}
