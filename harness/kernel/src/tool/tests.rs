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

#[test]
fn a_schema_that_cannot_be_used_stops_the_run_with_the_tool_and_the_reason() {
    let mut broken = (*echo()).clone();
    broken.spec.input_schema = serde_json::json!({"type": "object", "required": "text"});
    let Err(error @ AssembleError::BadSchema { .. }) =
        assembled(vec![named("fine"), Arc::new(broken)])
    else {
        panic!("the schema is refused")
    };
    let said = error.to_string();
    assert!(
        said.starts_with("tool echo has an argument schema that cannot be used: at /required"),
        "{said}"
    );
}

#[test]
fn a_tool_cannot_take_the_name_of_one_of_the_kernels_own() {
    let own = named("ToolSearch");
    assert_eq!(assembled(vec![own.clone()]), Ok(()));
    let deferred = Arc::new((*named("other")).clone().deferred());
    let both = assembled(vec![deferred, own]);
    assert_eq!(both, Err(AssembleError::DuplicateName("ToolSearch".into())));
}

#[test]
fn the_tools_in_sight_are_the_same_bytes_until_one_is_found() {
    let late = |name: &str| Arc::new((*named(name)).clone().deferred());
    let tools =
        Toolbox::assemble(vec![late("z"), named("b"), late("a"), named("c")], None).unwrap();
    let names = |activated: &[&str]| {
        let activated: Vec<String> = activated.iter().map(|name| (*name).to_owned()).collect();
        let names: Vec<String> = tools.names(&activated).map(str::to_owned).collect();
        (names, tools.spec_bytes(&activated))
    };
    let (none, bytes) = names(&[]);
    assert_eq!(none, ["b", "c", "ToolSearch"]);
    assert_eq!(names(&["z", "a"]).0, ["b", "c", "ToolSearch", "z", "a"]);
    assert!(names(&["z", "a"]).1 > bytes);
    // What a stored run found and is gone, or was never deferred, adds nothing.
    assert_eq!(names(&["gone", "b"]), (none, bytes));
}

#[test]
fn the_size_of_the_tools_is_about_their_bytes_in_a_request() {
    let tools = Toolbox::assemble(vec![named("b"), echo()], None).unwrap();
    let real = serde_json::to_string(&tools.specs(&[])).unwrap().len() as u64;
    let counted = tools.spec_bytes(&[]);
    assert!(counted.abs_diff(real) <= real / 10, "{counted} for {real}");
}
