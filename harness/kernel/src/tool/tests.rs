use pretty_assertions::assert_eq;
use serde_json::Value;

use super::*;
use crate::scenes::{Does, echo, settings, tool};
use crate::{Run, RunOptions, Settled, UserInput};

fn assembled(tools: Vec<Arc<Tool>>) -> Result<(), AssembleError> {
    let input = UserInput::from("go");
    Run::new(RunOptions { settings: settings(), history: Vec::new(), input, tools }).map(|_| ())
}

fn named(name: &str) -> Arc<Tool> {
    tool(name, Effect::Read, Does(|_| Ok(String::new())))
}

/// LOOP-29
#[test]
fn a_tool_without_a_schema_stops_the_run_before_any_model_call() {
    let mut bare = (*echo()).clone();
    bare.spec.input_schema = Value::Null;
    assert_eq!(assembled(vec![Arc::new(bare)]), Err(AssembleError::NoSchema("echo".into())));
}

/// LOOP-29
#[test]
fn two_tools_of_one_name_stop_the_run_before_any_model_call() {
    let twice = assembled(vec![echo(), echo()]);
    assert_eq!(twice, Err(AssembleError::DuplicateName("echo".into())));
}

#[test]
fn a_name_that_a_provider_would_refuse_stops_the_run_before_any_model_call() {
    for name in ["", "a b", "grüß", &"x".repeat(65)] {
        assert_eq!(assembled(vec![named(name)]), Err(AssembleError::IllegalName(name.into())));
    }
    assert_eq!(assembled(vec![named(&"x".repeat(64)), named("A-b_9")]), Ok(()));
}

#[test]
fn an_unset_effect_is_a_write() {
    assert_eq!(Effect::default(), Effect::Write);
}

#[test]
fn each_way_to_end_reads_as_what_it_was() {
    let read = |settled: Settled| (settled.text(), settled.is_error());
    assert_eq!(read(Settled::output("4 files")), ("4 files".into(), false));
    assert_eq!(read(Settled::failed("no such file")), ("no such file".into(), true));
    assert_eq!(read(Settled::not_run("denied")), ("not executed: denied".into(), true));
    let (unknown, is_error) = read(Settled::unknown("the server died"));
    assert!(unknown.starts_with("outcome unknown: the server died.") && is_error, "{unknown}");
}
