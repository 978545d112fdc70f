//! How objects of the cluster are read.

use pretty_assertions::assert_eq;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;

fn object<K: serde::de::DeserializeOwned>(value: Value) -> K {
    serde_json::from_value(value).unwrap()
}

fn metadata(owner_kind: &str, owner_uid: &str) -> Value {
    json!({
        "name": "it", "uid": "uid-it",
        "annotations": { "foundry.flow.life/process-start": "3" },
        "ownerReferences": [{
            "apiVersion": "v1", "kind": owner_kind, "name": "ann", "uid": owner_uid, "controller": true,
        }],
    })
}

fn pod(status: &Value) -> Pod {
    object(json!({ "metadata": metadata("ReplicaSet", "uid-set"), "status": status }))
}

fn deployment() -> Deployment {
    object(json!({
        "metadata": metadata("Agent", "uid-ann"),
        "spec": {
            "replicas": 1, "selector": {},
            "template": { "metadata": { "annotations": { "foundry.flow.life/process-start": "3" } } },
        },
    }))
}

fn in_state(state: &Value) -> Value {
    json!({ "phase": "Pending", "containerStatuses": [{
        "name": "harness", "image": "", "imageID": "", "ready": false, "restartCount": 0, "state": state,
    }]})
}

#[rstest]
#[case::running(in_state(&json!({ "running": {} })), Health::Running)]
#[case::pulling(
    in_state(&json!({ "waiting": { "reason": "ImagePullBackOff", "message": "no such image" } })),
    Health::Waiting("ImagePullBackOff: no such image".to_owned())
)]
#[case::crashing(
    in_state(&json!({ "waiting": { "reason": "CrashLoopBackOff", "message": "back-off 10s" } })),
    Health::Crashing("CrashLoopBackOff: back-off 10s".to_owned())
)]
#[case::just_ended(
    in_state(&json!({ "terminated": { "reason": "OOMKilled", "exitCode": 137 } })),
    Health::Crashing("OOMKilled: its process ended with exit status 137".to_owned())
)]
#[case::no_node(
    json!({ "phase": "Pending", "conditions": [{
        "type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/3 nodes",
    }]}),
    Health::Waiting("Unschedulable: 0/3 nodes".to_owned())
)]
// Nobody has to act: the Deployment makes another pod.
#[case::evicted(
    json!({ "phase": "Failed", "reason": "Evicted", "message": "low on memory" }),
    Health::Waiting("Evicted: low on memory; another pod is made".to_owned())
)]
#[case::ended_well(
    json!({ "phase": "Succeeded" }),
    Health::Waiting("its pod ended; another pod is made".to_owned())
)]
fn a_deployment_fares_as_its_pod_does(#[case] status: Value, #[case] health: Health) {
    let pod = pod(&status);
    assert_eq!(Workload::from_deployment(&deployment(), &[&pod], "uid-ann").health, health);
}

/// A pod of an earlier start says nothing of this one (LIFE-03).
#[test]
fn a_pod_of_another_start_is_not_looked_at() {
    let mut earlier = pod(&in_state(&json!({ "running": {} })));
    let annotations = earlier.metadata.annotations.as_mut().unwrap();
    annotations.insert("foundry.flow.life/process-start".to_owned(), "2".to_owned());
    let workload = Workload::from_deployment(&deployment(), &[&earlier], "uid-ann");
    assert!(matches!(workload.health, Health::Waiting(_)), "{:?}", workload.health);
}

#[test]
fn why_no_pod_can_be_made_is_read_from_the_deployment() {
    let mut deployment = deployment();
    deployment.status = object(json!({ "conditions": [{
        "type": "ReplicaFailure", "status": "True", "message": "exceeded quota",
    }]}));
    let workload = Workload::from_deployment(&deployment, &[], "uid-ann");
    assert_eq!(workload.health, Health::Waiting("exceeded quota".to_owned()));
}

#[rstest]
#[case::ours("Agent", "uid-ann", Belongs::ToAgent)]
#[case::of_an_earlier_agent("Agent", "uid-old", Belongs::ToAnother)]
fn whose_a_workload_is_says_its_owner_not_its_label(
    #[case] kind: &str,
    #[case] uid: &str,
    #[case] belongs: Belongs,
) {
    let job: Job = object(json!({ "metadata": metadata(kind, uid) }));
    assert_eq!(Workload::from_job(&job, &[], "uid-ann").belongs, belongs);
    let orphan: Job = object(json!({ "metadata": { "name": "it" } }));
    assert_eq!(Workload::from_job(&orphan, &[], "uid-ann").belongs, Belongs::ToNobody);
}

#[rstest]
#[case("Complete", Health::Succeeded)]
#[case("Failed", Health::Failed("DeadlineExceeded: too long".to_owned()))]
fn a_job_ends_by_its_condition(#[case] kind: &str, #[case] health: Health) {
    let job: Job = object(json!({
        "metadata": metadata("Agent", "uid-ann"),
        "status": { "conditions": [{
            "type": kind, "status": "True", "reason": "DeadlineExceeded", "message": "too long",
        }]},
    }));
    assert_eq!(Workload::from_job(&job, &[], "uid-ann").health, health);
}

/// What killed a pod is told, and not that its Job gave up.
#[rstest]
#[case::out_of_memory(
    json!({ "phase": "Failed", "containerStatuses": [{
        "name": "harness", "image": "", "imageID": "", "ready": false, "restartCount": 0,
        "state": { "terminated": { "reason": "OOMKilled", "exitCode": 137 } },
    }]}),
    "OOMKilled: its process ended with exit status 137"
)]
#[case::evicted(
    json!({ "phase": "Failed", "reason": "Evicted", "message": "low on memory" }),
    "Evicted: low on memory"
)]
fn a_job_that_gave_up_says_what_its_last_pod_died_of(#[case] status: Value, #[case] why: &str) {
    let job: Job = object(json!({
        "metadata": metadata("Agent", "uid-ann"),
        "status": { "conditions": [{
            "type": "Failed", "status": "True", "reason": "BackoffLimitExceeded", "message": "no",
        }]},
    }));
    let at = |second: &str, status: &Value| -> Pod {
        let mut metadata = metadata("Job", "uid-it");
        metadata["creationTimestamp"] = json!(format!("2030-01-01T00:00:{second}Z"));
        object(json!({ "metadata": metadata, "status": status }))
    };
    let drained = json!({ "phase": "Failed", "reason": "Terminated", "message": "node drained" });
    let (earlier, last) = (at("01", &drained), at("02", &status));
    let health = Workload::from_job(&job, &[&last, &earlier], "uid-ann").health;
    assert_eq!(health, Health::Failed(why.to_owned()));
}

/// A pod that was drained long before is not what ran out of time.
#[test]
fn a_job_that_ran_out_of_time_says_so_whatever_its_drained_pods_died_of() {
    let job: Job = object(json!({
        "metadata": metadata("Agent", "uid-ann"),
        "status": { "conditions": [{
            "type": "Failed", "status": "True", "reason": "DeadlineExceeded", "message": "too long",
        }]},
    }));
    let drained: Pod = object(json!({
        "metadata": metadata("Job", "uid-it"),
        "status": { "phase": "Failed", "reason": "Terminated", "message": "node drained" },
    }));
    let health = Workload::from_job(&job, &[&drained], "uid-ann").health;
    assert_eq!(health, Health::Failed("DeadlineExceeded: too long".to_owned()));
}

#[test]
fn how_long_a_job_may_run_is_counted_from_its_begin() {
    let mut metadata = metadata("Agent", "uid-ann");
    metadata["uid"] = json!("uid-job");
    let job: Job = object(json!({
        "metadata": metadata,
        "spec": { "activeDeadlineSeconds": 90, "template": {} },
        "status": { "startTime": "2030-01-01T00:00:00Z" },
    }));
    let began = "2030-01-01T00:00:00Z".parse().unwrap();
    let limit = Workload::from_job(&job, &[], "uid-ann").limit;
    assert_eq!(limit, Some(Limit { began, seconds: 90 }));
}

/// LIFE-09: a drained node ends a pod and not the Job, which makes it again elsewhere.
#[rstest]
#[case::drained(json!({ "phase": "Failed", "reason": "Terminated", "message": "node drained" }))]
#[case::before_the_job_says_so(json!({ "phase": "Succeeded" }))]
fn the_end_of_a_pod_is_not_the_end_of_its_job(#[case] status: Value) {
    let job: Job = object(json!({ "metadata": metadata("Agent", "uid-ann") }));
    let pod: Pod = object(json!({ "metadata": metadata("Job", "uid-it"), "status": status }));
    let health = Workload::from_job(&job, &[&pod], "uid-ann").health;
    assert!(matches!(health, Health::Waiting(_)), "{health:?}");
}

/// LIFE-09: while a pod of it lives, an earlier process polls the inbox.
#[test]
fn a_pod_whose_workload_is_gone_is_left_behind_until_it_ends() {
    let running = json!({ "phase": "Running" });
    let of_set = pod(&running);
    let of_job: Pod = object(json!({ "metadata": metadata("Job", "uid-job"), "status": running }));
    let bare: Pod = object(json!({ "metadata": metadata("Agent", "uid-ann"), "status": running }));
    let deployment = deployment();
    let mut job = metadata("Agent", "uid-ann");
    job["uid"] = json!("uid-job");
    let job: Job = object(json!({ "metadata": job }));
    let other: Job = object(json!({ "metadata": metadata("Agent", "uid-ann") }));

    assert!(is_left_behind(&[&of_set], &[], &[]));
    assert!(!is_left_behind(&[&of_set], &[&deployment], &[]));
    assert!(is_left_behind(&[&of_job], &[], &[&other]));
    assert!(!is_left_behind(&[&of_job], &[], &[&job]));
    assert!(!is_left_behind(&[&bare, &pod(&json!({ "phase": "Failed" }))], &[], &[]));
}
