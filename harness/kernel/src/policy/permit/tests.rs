use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;
use crate::scenes::{Does, echo, tool};
use crate::tool::Effect;

#[test]
fn an_unknown_tool_is_refused_with_those_that_exist() {
    let write = tool("write", Effect::Write, Does(|_| Ok(String::new())));
    let tools = Toolbox::assemble(vec![write, echo()]).unwrap();
    assert_eq!(
        check(&tools, "grep", &Map::new()),
        Err("there is no tool \"grep\". There are: echo, write".to_owned())
    );
    assert_eq!(check(&tools, "echo", &Map::new()), Ok(()));
}

#[test]
fn a_run_without_tools_says_that_there_are_none() {
    assert_eq!(
        check(&Toolbox::default(), "grep", &Map::new()),
        Err("there is no tool \"grep\", nor any other".to_owned())
    );
}

#[test]
fn arguments_that_do_not_fit_are_refused_with_the_field() {
    let mut strict = (*echo()).clone();
    strict.spec.input_schema = json!({"type": "object", "required": ["text"]});
    let tools = Toolbox::assemble(vec![std::sync::Arc::new(strict)]).unwrap();
    assert_eq!(
        check(&tools, "echo", &Map::new()),
        Err("the arguments do not fit the schema of echo: text is missing".to_owned())
    );
}
