use std::time::Duration;

use foundry_crds::agent::{DesiredState, Lifecycle};
use http::StatusCode;
use pretty_assertions::assert_eq;
use serde_json::json;

use super::{agents::ephemeral, app::TestApp};

/// ROUTE-04
#[tokio::test]
async fn a_start_asks_for_a_run_and_waits_for_the_operator() {
    let app = TestApp::start().await;
    app.create("scout").await;
    let _operator = app.cluster.play_operator(None);
    let view = app.ann().act("/v1/agents/scout/start").await.expect(StatusCode::OK);
    assert_eq!((&view["desired_state"], &view["state"]), (&json!("running"), &json!("Running")));
    assert_eq!((&view["generation"], &view["process_generation"]), (&json!(1), &json!(1)));

    // LIFE-02: starting what runs succeeds and starts nothing new.
    let again = app.ann().act("/v1/agents/scout/start").await.expect(StatusCode::OK);
    assert_eq!(again["generation"], 1);
}

/// ROUTE-04
#[tokio::test]
async fn an_expired_or_archived_agent_is_not_started_and_its_resource_is_unchanged() {
    let app = TestApp::start().await;
    let _operator = app.cluster.play_operator(None);
    for verb in ["expire", "archive"] {
        let id = format!("scout-{verb}");
        app.create(&id).await;
        app.ann().act(&format!("/v1/agents/{id}/{verb}")).await.expect(StatusCode::OK);
        let before = app.cluster.agent(&id).await;
        let refused = app.ann().act(&format!("/v1/agents/{id}/start")).await;
        refused.problem(StatusCode::CONFLICT);
        let after = app.cluster.agent(&id).await;
        assert_eq!(before.metadata.resource_version, after.metadata.resource_version);
    }
}

/// ROUTE-05
#[tokio::test]
async fn a_stop_completes_the_agent_and_leaves_it_active() {
    let app = TestApp::start().await;
    app.create("scout").await;
    let _operator = app.cluster.play_operator(None);
    let started = app.ann().act("/v1/agents/scout/start").await.expect(StatusCode::OK);
    assert_eq!(started["status"], "active");
    let stopped = app.ann().act("/v1/agents/scout/stop").await.expect(StatusCode::OK);
    assert_eq!(
        (&stopped["desired_state"], &stopped["status"]),
        (&json!("completed"), &json!("active"))
    );
    assert_eq!(stopped["state"], "Stopped");

    // LIFE-08: the same agent comes back under the next number.
    let again = app.ann().act("/v1/agents/scout/start").await.expect(StatusCode::OK);
    assert_eq!((&again["id"], &again["generation"]), (&json!("scout"), &json!(2)));
}

/// ROUTE-06, LIFE-13
#[tokio::test]
async fn a_restart_takes_running_persistent_and_expired_ephemeral_agents() {
    let app = TestApp::start().await;
    app.create("scout").await;
    let _operator = app.cluster.play_operator(None);
    let stopped = app.ann().act("/v1/agents/scout/restart").await;
    assert_eq!(stopped.problem(StatusCode::CONFLICT), "NotRunning");
    app.ann().act("/v1/agents/scout/start").await.expect(StatusCode::OK);
    let restarted = app.ann().act("/v1/agents/scout/restart").await.expect(StatusCode::OK);
    assert_eq!(restarted["generation"], 2);

    app.cluster.create_agent("child", ephemeral("scout")).await;
    app.until_listed("child").await;
    app.ann().act("/v1/agents/child/expire").await.expect(StatusCode::OK);
    let back = app.ann().act("/v1/agents/child/restart").await.expect(StatusCode::OK);
    assert_eq!((&back["status"], &back["desired_state"]), (&json!("active"), &json!("running")));
    let ttl: jiff::Timestamp = back["ttl_at"].as_str().unwrap().parse().unwrap();
    let in_four_hours = app.app.clock.now() + jiff::SignedDuration::from_hours(4);
    assert!(ttl.duration_since(in_four_hours).abs() < jiff::SignedDuration::from_mins(1));

    app.ann().act("/v1/agents/scout/archive").await.expect(StatusCode::OK);
    let archived = app.ann().act("/v1/agents/scout/restart").await;
    assert_eq!(archived.problem(StatusCode::CONFLICT), "Archived");
}

/// ROUTE-07
#[tokio::test]
async fn an_expire_is_one_write_of_status_and_desired_state() {
    let app = TestApp::start().await;
    app.create("scout").await;
    let _operator = app.cluster.play_operator(None);
    app.ann().act("/v1/agents/scout/start").await.expect(StatusCode::OK);
    let before = app.cluster.agent("scout").await;
    app.ann().act("/v1/agents/scout/expire").await.expect(StatusCode::OK);
    let after = app.cluster.agent("scout").await;
    assert_eq!(after.spec.lifecycle(), Lifecycle::Expired);
    assert_eq!(after.spec.desired_state(), DesiredState::Completed);
    // The generation counts writes of the spec.
    assert_eq!(after.metadata.generation, before.metadata.generation.map(|g| g + 1));
}

/// ROUTE-08
#[tokio::test]
async fn an_archive_puts_the_agent_away_and_asks_for_nothing_to_run() {
    let app = TestApp::start().await;
    app.create("scout").await;
    let _operator = app.cluster.play_operator(None);
    app.ann().act("/v1/agents/scout/start").await.expect(StatusCode::OK);
    let view = app.ann().act("/v1/agents/scout/archive").await.expect(StatusCode::OK);
    assert_eq!((&view["status"], &view["desired_state"]), (&json!("archive"), &json!("completed")));
    let edit = app.ann().patch("/v1/agents/scout", &json!({"name": "x"})).await;
    assert_eq!(edit.problem(StatusCode::CONFLICT), "Archived");
}

/// LIFE-15
#[tokio::test]
async fn a_start_that_the_cluster_refuses_is_put_back_and_told_in_the_clusters_words() {
    let app = TestApp::start().await;
    app.create("scout").await;
    let _operator = app.cluster.play_operator(Some("pods are forbidden: exceeded quota: small"));
    let refused = app.ann().act("/v1/agents/scout/start").await;
    let problem = refused.expect(StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(problem["reason"], "ClusterRefused");
    assert_eq!(problem["detail"], "pods are forbidden: exceeded quota: small");
    assert_eq!(app.cluster.agent("scout").await.spec.desired_state(), DesiredState::Stopped);
}

/// LIFE-15
#[tokio::test]
async fn an_agent_whose_start_was_refused_can_be_stopped_and_put_away() {
    let app = TestApp::start().await;
    app.create("scout").await;
    let _operator = app.cluster.play_operator(Some("exceeded quota: small"));
    let refused = app.ann().act("/v1/agents/scout/start").await;
    assert_eq!(refused.problem(StatusCode::SERVICE_UNAVAILABLE), "ClusterRefused");
    for verb in ["stop", "expire", "archive"] {
        app.ann().act(&format!("/v1/agents/scout/{verb}")).await.expect(StatusCode::OK);
    }
}

/// LIFE-15
#[tokio::test]
async fn a_silent_operator_is_no_error_and_the_intent_is_kept() {
    let app = TestApp::start().await;
    app.create("scout").await;
    let view = app.ann().act("/v1/agents/scout/start").await.expect(StatusCode::OK);
    assert_eq!((&view["state"], &view["reason"]), (&json!("Pending"), &json!("Pending")));
    let agent = app.cluster.agent("scout").await;
    assert_eq!((agent.spec.desired_state(), agent.spec.starts), (DesiredState::Running, Some(1)));
}

#[tokio::test]
async fn a_verb_on_a_field_that_git_owns_names_the_manager_and_the_way_out() {
    let app = TestApp::start().await;
    app.create("scout").await;
    let git = json!({"desiredState": "running"});
    app.cluster.apply_as("kustomize-controller", "scout", git).await;
    let stop = app.ann().act("/v1/agents/scout/stop").await;
    let problem = stop.expect(StatusCode::CONFLICT);
    assert_eq!(problem["reason"], "FieldOwnedElsewhere");
    assert!(problem["detail"].as_str().unwrap().contains("kustomize-controller"), "{problem}");
    assert!(problem["remedy"].as_str().unwrap().contains("desiredState"), "{problem}");
    assert_eq!(app.cluster.agent("scout").await.spec.desired_state(), DesiredState::Running);
}

/// LIFE-19
#[tokio::test]
async fn a_pod_may_expire_itself_and_what_its_agent_spawned() {
    let app = TestApp::start().await;
    let _operator = app.cluster.play_operator(None);
    app.create("scout").await;
    app.cluster.create_agent("child", ephemeral("scout")).await;
    app.until_listed("child").await;
    let pod = app.pod("scout").await;
    let child = pod.act("/v1/agents/child/expire").await.expect(StatusCode::OK);
    assert_eq!(child["status"], "expired");
    pod.act("/v1/agents/scout/start").await.problem(StatusCode::FORBIDDEN);
    let own = pod.act("/v1/agents/scout/expire").await.expect(StatusCode::OK);
    assert_eq!(own["status"], "expired");
}

/// LIFE-15
#[tokio::test]
async fn a_refused_start_is_put_back_even_when_its_caller_has_hung_up() {
    let app = TestApp::start().await;
    app.create("scout").await;
    let running = || async {
        let state = app.cluster.agent("scout").await.spec.desired_state();
        if state == DesiredState::Running { Ok(()) } else { Err(format!("{state:?}")) }
    };
    let ann = app.ann();
    tokio::select! {
        answer = ann.act("/v1/agents/scout/start") => panic!("nobody acted: {}", answer.text),
        () = testenv::eventually("the start is written", Duration::from_secs(5), running) => {}
    }
    let _operator = app.cluster.play_operator(Some("exceeded quota"));
    testenv::eventually("the start is put back", Duration::from_secs(10), || async {
        let state = app.cluster.agent("scout").await.spec.desired_state();
        if state == DesiredState::Stopped { Ok(()) } else { Err(format!("{state:?}")) }
    })
    .await;
}
