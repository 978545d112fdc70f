//! How Argo CD reads our conditions: its health script, run as Argo CD runs it.

use foundry_crds::condition::reason;
use mlua::{Lua, LuaOptions, LuaSerdeExt as _, StdLib};
use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::{Value, json};

use super::manifests;

/// What Argo CD makes of an object: health and message, by the script that the example lays
/// into its settings for objects of this kind. Like Argo CD it opens the base library and
/// `table` alone, and the script has no part of the machine.
pub fn of(object: &Value) -> (String, String) {
    let script = manifests::examples().join("gitops/argocd/health/health.lua");
    let script = std::fs::read_to_string(script).unwrap();
    let lua = Lua::new_with(StdLib::TABLE, LuaOptions::default()).unwrap();
    lua.globals().set("obj", without_nulls(&lua, object)).unwrap();
    let health: mlua::Table = lua.load(script).eval().unwrap();
    let word = |key| health.get::<Option<String>>(key).unwrap().unwrap_or_default();
    (word("status"), word("message"))
}

/// To Go a null and a field that is not there are one thing in Lua.
fn without_nulls(lua: &Lua, object: &Value) -> mlua::Value {
    let options = mlua::serde::SerializeOptions::new().serialize_none_to_null(false);
    lua.to_value_with(object, options.serialize_unit_to_null(false)).unwrap()
}

fn condition(kind: &str, status: bool, reason: &str) -> Value {
    let status = if status { "True" } else { "False" };
    json!({"type": kind, "status": status, "reason": reason, "message": format!("told by {kind}")})
}

fn object(conditions: &[Value]) -> Value {
    json!({
        "metadata": {"name": "x", "generation": 3},
        "status": {"observedGeneration": 3, "conditions": conditions},
    })
}

const READY: &str = "Ready";

#[rstest]
#[case::runs(&[condition(READY, true, reason::RUNNING)], "Healthy")]
#[case::is_woken_on_demand(&[condition(READY, true, reason::ON_DEMAND)], "Healthy")]
#[case::is_expired(&[condition(READY, true, reason::EXPIRED)], "Healthy")]
#[case::was_stopped(&[condition(READY, true, reason::STOPPED)], "Suspended")]
#[case::comes_up(
    &[condition(READY, false, reason::PENDING), condition("Reconciling", true, reason::PENDING)],
    "Progressing"
)]
#[case::waits_for_a_secret(
    &[
        condition(READY, false, reason::SECRET_NOT_FOUND),
        condition("Reconciling", true, reason::SECRET_NOT_FOUND),
    ],
    "Progressing"
)]
#[case::cannot_go_on(
    &[condition(READY, false, reason::INVALID), condition("Stalled", true, reason::INVALID)],
    "Degraded"
)]
#[case::is_told_nothing_of(&[], "Progressing")]
#[case::plans(
    &[condition(READY, true, reason::PLANNING), condition("Complete", false, reason::PLANNING)],
    "Healthy"
)]
#[case::waits_for_approval(
    &[condition(READY, true, reason::AWAITING_APPROVAL)],
    "Suspended"
)]
#[case::waits_for_an_answer(
    &[condition(READY, true, reason::AWAITING_ANSWER)],
    "Suspended"
)]
#[case::is_done(
    &[condition(READY, true, reason::SUCCEEDED), condition("Complete", true, reason::SUCCEEDED)],
    "Healthy"
)]
#[case::failed(
    &[
        condition(READY, false, reason::RUN_FAILED),
        condition("Stalled", true, reason::RUN_FAILED),
        condition("Complete", false, reason::RUN_FAILED),
    ],
    "Degraded"
)]
fn an_object_that(#[case] conditions: &[Value], #[case] expected: &str) {
    assert_eq!(of(&object(conditions)).0, expected);
}

#[test]
fn the_message_is_the_one_of_the_condition_that_decides() {
    let stalled = [condition(READY, false, "Invalid"), condition("Stalled", true, "Invalid")];
    let expected = ("Degraded".to_owned(), "Invalid: told by Stalled".to_owned());
    assert_eq!(of(&object(&stalled)), expected);
}

/// What was said of an older spec says nothing of this one.
#[test]
fn a_newer_generation_is_progressing_until_the_operator_has_seen_it() {
    let mut edited = object(&[condition(READY, true, reason::RUNNING)]);
    edited["metadata"]["generation"] = 4.into();
    assert_eq!(of(&edited).0, "Progressing");
    let unseen = json!({
        "metadata": {"name": "x", "generation": 1}, "status": {"observedGeneration": -1},
    });
    assert_eq!(of(&unseen).0, "Progressing");
    assert_eq!(of(&json!({"metadata": {"name": "x", "generation": 1}})).0, "Progressing");
}

#[test]
fn what_is_being_deleted_is_progressing() {
    let mut going = object(&[condition(READY, true, reason::RUNNING)]);
    going["metadata"]["deletionTimestamp"] = "2026-01-01T00:00:00Z".into();
    assert_eq!(of(&going), ("Progressing".to_owned(), "it is being deleted".to_owned()));
}
