//! Which versions are stored and which go.

use foundry_crds::AgentStatus;
use k8s_openapi::jiff::Timestamp;
use pretty_assertions::assert_eq;
use proptest::prelude::*;
use rstest::rstest;

use super::*;

fn agent() -> AgentId {
    AgentId { namespace: "team".to_owned(), name: "ann".to_owned(), uid: "uid-ann".to_owned() }
}

fn spec(instructions: &str) -> AgentSpec {
    AgentSpec {
        owner: "eve".to_owned(),
        harness: "agent-v1".to_owned(),
        instructions: Some(instructions.to_owned()),
        ..AgentSpec::default()
    }
}

/// The ledger of a spec at a start number.
fn at(number: i64, spec: &AgentSpec) -> Ledger {
    let ledger = Ledger::next(spec, &AgentStatus::default(), Timestamp::UNIX_EPOCH);
    Ledger { start_number: number, ..ledger }
}

fn stored(number: i64, spec: &AgentSpec) -> Stored {
    Stored {
        number,
        uid: format!("uid-{number}"),
        agent_uid: "uid-ann".to_owned(),
        digest: at(number, spec).config_digest,
    }
}

fn stores(due: &Due) -> Option<i64> {
    due.store.as_ref().map(|revision| revision.revision)
}

fn drops(due: &Due) -> Vec<i64> {
    due.drop.iter().map(|version| version.number).collect()
}

/// SPEC-01
#[test]
fn a_version_holds_what_the_agent_is_told_and_belongs_to_it() {
    let mut spec = spec("be kind");
    spec.display_name = Some("Ann".to_owned());
    spec.skills = vec![SkillRef { name: "style".to_owned(), version: Some(2) }];
    let ledger = at(3, &spec);
    let revision = due(&agent(), &spec, &ledger, &[]).store.unwrap();
    assert_eq!(
        json!(revision),
        json!({
            "apiVersion": "apps/v1",
            "kind": "ControllerRevision",
            "metadata": {
                "name": "foundry-agent-ann-3",
                "namespace": "team",
                "labels": {
                    "app.kubernetes.io/managed-by": "foundry-operator",
                    "foundry.flow.life/agent": "ann",
                    "foundry.flow.life/start": "3",
                },
                "annotations": { "foundry.flow.life/config-digest": ledger.config_digest },
                "ownerReferences": [{
                    "apiVersion": "foundry.flow.life/v1alpha1", "kind": "Agent", "name": "ann",
                    "uid": "uid-ann", "controller": true, "blockOwnerDeletion": false,
                }],
            },
            "revision": 3,
            "data": { "spec": {
                "instructions": "be kind", "model": "auto", "harness": "agent-v1",
                "skills": [{ "name": "style", "version": 2 }], "tools": [], "toolServers": [],
            } },
        })
    );
}

/// `apply::create_revision` says why nothing may be null.
#[test]
fn a_version_says_what_is_not_there_without_a_null() {
    let nothing = AgentSpec { harness: "agent-v1".to_owned(), ..AgentSpec::default() };
    assert_eq!(
        data(&nothing),
        json!({ "spec": {
            "instructions": "", "model": "auto", "harness": "agent-v1",
            "skills": [], "tools": [], "toolServers": [],
        } })
    );
}

/// SPEC-01
#[rstest]
#[case::first_look(1, "a", &[], Some(1))]
#[case::stored(1, "a", &[(1, "a")], None)]
#[case::restart(4, "a", &[(1, "a")], None)]
#[case::edit(2, "b", &[(1, "a")], Some(2))]
#[case::edit_back(3, "a", &[(1, "a"), (2, "b")], Some(3))]
#[case::deleted_current(2, "b", &[(1, "a")], Some(2))]
#[case::deleted_earlier(3, "c", &[(3, "c")], None)]
#[case::count_began_anew(2, "b", &[(1, "a"), (7, "z")], Some(2))]
#[case::count_began_anew_and_stored(2, "b", &[(1, "a"), (2, "b"), (7, "z")], None)]
fn an_edit_is_stored_and_nothing_else(
    #[case] number: i64,
    #[case] told: &str,
    #[case] present: &[(i64, &str)],
    #[case] wanted: Option<i64>,
) {
    let present: Vec<_> =
        present.iter().map(|(number, told)| stored(*number, &spec(told))).collect();
    let due = due(&agent(), &spec(told), &at(number, &spec(told)), &present);
    assert_eq!((stores(&due), drops(&due)), (wanted, vec![]));
}

/// SPEC-01
#[test]
fn versions_beyond_the_limit_go_the_oldest_first_and_never_the_current_one() {
    let present: Vec<_> =
        [(1, "a"), (2, "b"), (4, "c"), (5, "d")].map(|(n, told)| stored(n, &spec(told))).into();
    let with = |limit: Option<i64>, told: &str, number: i64| {
        let spec = AgentSpec { revision_history_limit: limit, ..spec(told) };
        let due = due(&agent(), &spec, &at(number, &spec), &present);
        (stores(&due), drops(&due))
    };
    assert_eq!(with(None, "d", 5), (None, vec![]));
    assert_eq!(with(Some(3), "d", 5), (None, vec![]));
    assert_eq!(with(Some(1), "d", 5), (None, vec![1, 2]));
    assert_eq!(
        with(Some(2), "e", 6),
        (Some(6), vec![1, 2]),
        "the one before is an earlier one now"
    );
}

#[test]
fn an_ephemeral_agent_has_no_versions_and_those_of_an_earlier_agent_are_none_of_ours() {
    let ephemeral = AgentSpec { lifetime: Some(Lifetime::Ephemeral), ..spec("a") };
    assert_eq!(due(&agent(), &ephemeral, &at(1, &ephemeral), &[]), Due::default());

    let foreign = Stored { agent_uid: "uid-before".to_owned(), ..stored(1, &spec("a")) };
    let limited = AgentSpec { revision_history_limit: Some(1), ..spec("a") };
    let due = due(&agent(), &limited, &at(1, &limited), &[foreign]);
    assert_eq!((stores(&due), drops(&due)), (Some(1), vec![]));
}

proptest! {
    /// SPEC-01: whatever is edited and lost, a look settles it, and the next finds nothing
    /// to do.
    #[test]
    fn one_look_settles_it(
        number in 1_i64..9,
        told in "[a-c]",
        limit in prop::option::of(1_i64..4),
        present in prop::collection::btree_map(1_i64..9, "[a-c]", 0..8),
    ) {
        let spec = AgentSpec { revision_history_limit: limit, ..spec(&told) };
        let ledger = at(number, &spec);
        let mut there: Vec<_> =
            present.iter().map(|(number, told)| stored(*number, &self::spec(told))).collect();
        let first = due(&agent(), &spec, &ledger, &there);
        // A number that holds something else is told, and left alone.
        prop_assume!(first.store.is_none() || !present.contains_key(&number));
        there.retain(|it| !first.drop.contains(it));
        if first.store.is_some() {
            there.push(stored(number, &spec));
            there.sort_by_key(|it| it.number);
        }
        prop_assert_eq!(due(&agent(), &spec, &ledger, &there), Due::default());
        prop_assert!(limit.is_none_or(|limit| i64::try_from(there.len()).unwrap() <= limit + 1));
    }
}
