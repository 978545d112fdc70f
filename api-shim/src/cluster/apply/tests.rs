use k8s_openapi::apimachinery::pkg::apis::meta::v1::{FieldsV1, ManagedFieldsEntry};
use kube::core::response::{StatusCause, StatusDetails};
use pretty_assertions::assert_eq;
use serde_json::json;

use super::*;

fn refused(causes: &[(&str, &str)]) -> Status {
    let causes = causes
        .iter()
        .map(|(field, message)| StatusCause {
            reason: "FieldManagerConflict".to_owned(),
            message: (*message).to_owned(),
            field: (*field).to_owned(),
        })
        .collect();
    Status::failure("conflict", "Conflict").with_code(409).with_details(StatusDetails {
        name: "scout".to_owned(),
        group: foundry_crds::meta::GROUP.to_owned(),
        kind: "Agent".to_owned(),
        uid: String::new(),
        causes,
        retry_after_seconds: 0,
    })
}

#[test]
fn a_field_of_somebody_else_is_named_with_its_manager() {
    let status = refused(&[
        (".spec.starts", "conflict with \"foundry-api/edit\" using foundry.flow.life/v1alpha1"),
        (
            ".spec.desiredState",
            "conflict with \"argocd-controller\" using foundry.flow.life/v1alpha1",
        ),
    ]);
    assert_eq!(
        Conflict::of(&status),
        Conflict::Owned {
            field: "spec.desiredState".to_owned(),
            manager: "argocd-controller".to_owned()
        }
    );
}

#[test]
fn our_own_managers_give_way_to_each_other() {
    let status =
        refused(&[(".spec.desiredState", "conflict with \"foundry-api/edit\" using v1alpha1")]);
    assert_eq!(Conflict::of(&status), Conflict::Ours);
}

#[test]
fn a_conflict_without_managers_is_a_newer_version() {
    assert_eq!(Conflict::of(&refused(&[])), Conflict::Version);
}

#[test]
fn an_apply_carries_on_what_its_manager_owns() {
    let mut agent = Agent::new("a", AgentSpec::default());
    agent.metadata.managed_fields = Some(vec![
        ManagedFieldsEntry {
            manager: Some(manager::API_VERBS.to_owned()),
            operation: Some("Apply".to_owned()),
            fields_v1: Some(FieldsV1(json!({"f:spec": {"f:starts": {}, "f:desiredState": {}}}))),
            ..ManagedFieldsEntry::default()
        },
        ManagedFieldsEntry {
            manager: Some("kubectl".to_owned()),
            operation: Some("Apply".to_owned()),
            fields_v1: Some(FieldsV1(json!({"f:spec": {"f:owner": {}}}))),
            ..ManagedFieldsEntry::default()
        },
    ]);
    let owned = owned_fields(&agent, manager::API_VERBS);
    assert_eq!(owned, ["desiredState", "starts"].map(str::to_owned).into());
}
