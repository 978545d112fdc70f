//! The demo's own parts on a real control plane; the whole of it is what
//! `cargo xtask demo --exit` shows.

use std::path::Path;

use pretty_assertions::assert_eq;
use testenv::stack::GitAccess;

use super::*;

async fn field(kubectl: &kubectl::Kubectl, object: &str, path: &str) -> String {
    let output = format!("jsonpath={path}");
    kubectl.run(&["get", object, "--output", &output]).await.unwrap()
}

/// The folder's name has a blank and an apostrophe, and everything is done twice.
#[tokio::test]
async fn a_person_applies_the_examples_with_this_runs_addresses() {
    let scratch = tempfile::tempdir().unwrap();
    let data = scratch.path().join("a demo's data");
    let folder = DataFolder::open(Some(&data), false).unwrap();
    let cluster = Cluster::reach(None, folder.path()).await.unwrap();
    for url in ["http://127.0.0.1:1/v1", "http://127.0.0.1:2/v1"] {
        install::install(&cluster).await.unwrap();
        quickstart::apply(&cluster, url, &folder).await.unwrap();
        assert_eq!(field(&cluster.person, "model/gpt-5-mini", "{.spec.baseUrl}").await, url);
    }
    assert_eq!(field(&cluster.person, "agent/scout", "{.spec.owner}").await, cluster::PERSON);

    let stop = r#"{"spec":{"desiredState":"completed"}}"#;
    cluster.person.run(&["patch", "agent/scout", "--type=merge", "--patch", stop]).await.unwrap();
    quickstart::take_back_what_was_stopped(&cluster).await.unwrap();
    assert_eq!(field(&cluster.person, "agent/scout", "{.spec.desiredState}").await, "");

    a_person_applies_the_coding_run_with_this_runs_addresses(&cluster, &folder).await;
    every_example_is_valid_as_it_stands(&cluster).await;

    let theirs = cluster.admin.kubeconfig.clone();
    a_cluster_of_ones_own_serves_as_well(&theirs, scratch.path()).await;
    cluster.stop().await.unwrap();
}

/// CODE-09, CODE-31
async fn a_person_applies_the_coding_run_with_this_runs_addresses(
    cluster: &Cluster,
    folder: &DataFolder,
) {
    let file = |name: &str| {
        let path = folder.path().join(name);
        std::fs::write(&path, format!("a {name}\n")).unwrap();
        path
    };
    let access = GitAccess {
        host: "127.0.0.1:2222".into(),
        api_url: "http://127.0.0.1:4".into(),
        private_key: file("key"),
        known_hosts: file("host key"),
        token: file("token"),
    };
    for port in ["2222", "2223"] {
        let remote = format!("ssh://git@127.0.0.1:{port}/acme/greeting.git");
        coding::forget(cluster).await.unwrap();
        let example = coding::lay(remote.clone(), &access, folder).await.unwrap();
        cluster.person.run(&["apply", "-k", &example.display().to_string()]).await.unwrap();
        let run = format!("codingrun/{}", coding::RUN);
        assert_eq!(field(&cluster.person, &run, "{.spec.repository.remote}").await, remote);
        assert_eq!(field(&cluster.person, &run, "{.spec.approval}").await, "person");
    }
    let person = &cluster.person;
    let env = field(person, "harness/coding-v1", "{range .spec.env[*]}{.name}={.value} {end}");
    let env = env.await;
    let given = "FOUNDRY_GITHUB_HOST=127.0.0.1:2222 FOUNDRY_GITHUB_API_URL=http://127.0.0.1:4 ";
    assert!(env.starts_with(given), "{env}");
    let token = field(person, "secret/foundry-harness-git", "{.data.GITHUB_TOKEN}").await;
    assert_eq!(token, "YSB0b2tlbg==", "without the end of its line");
    let keys = field(person, "secret/foundry-harness-ssh", "{.data}").await;
    assert!(keys.contains("ssh-privatekey") && keys.contains("known_hosts"), "{keys}");
}

async fn every_example_is_valid_as_it_stands(cluster: &Cluster) {
    coding::forget(cluster).await.unwrap();
    for (form, example) in [("-k", "quickstart"), ("-k", "coding"), ("-f", "models")] {
        let path = workspace_root().join("examples").join(example).display().to_string();
        let apply = ["apply", "--dry-run=server", form, &path];
        cluster.person.run(&apply).await.unwrap();
    }
}

async fn a_cluster_of_ones_own_serves_as_well(kubeconfig: &Path, scratch: &Path) {
    // kubectl of the cache serves where the machine has none.
    let folder = DataFolder::open(Some(&scratch.join("theirs")), false).unwrap();
    let cluster = Cluster::reach(Some(kubeconfig), folder.path()).await.unwrap();
    install::install(&cluster).await.unwrap();
    quickstart::apply(&cluster, "http://127.0.0.1:3/v1", &folder).await.unwrap();
    let kubeconfig = cluster.service_account_kubeconfig("foundry-operator").await.unwrap();
    let operator = kubectl::Kubectl { kubeconfig, person: None, ..cluster.person.clone() };
    assert!(operator.run(&["get", "agents"]).await.unwrap().contains("scout"));
    let refused = operator.run(&["get", "nodes"]).await.unwrap_err().to_string();
    assert!(refused.contains("system:serviceaccount:default:foundry-operator"), "{refused}");
}

#[tokio::test]
async fn a_broken_kubeconfig_is_one_line_that_says_what_to_do() {
    let scratch = tempfile::tempdir().unwrap();
    let broken = scratch.path().join("broken");
    std::fs::write(&broken, "not: [a kubeconfig").unwrap();
    let error = match Cluster::reach(Some(&broken), scratch.path()).await {
        Ok(_) => "reached".to_owned(),
        Err(error) => format!("{error:#}"),
    };
    assert!(error.contains("is no kubeconfig; correct it, or unset KUBECONFIG"), "{error}");
    assert_eq!(error.lines().count(), 1, "{error}");
}

#[tokio::test]
async fn a_cluster_that_does_not_answer_is_named() {
    let scratch = tempfile::tempdir().unwrap();
    let silent = scratch.path().join("silent");
    let kubeconfig = serde_json::json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "x",
        "contexts": [{"name": "x", "context": {"cluster": "x", "user": "x"}}],
        "clusters": [{"name": "x", "cluster": {"server": "http://127.0.0.1:1"}}],
        "users": [{"name": "x", "user": {"token": "x"}}],
    });
    std::fs::write(&silent, kubeconfig.to_string()).unwrap();
    let error = match Cluster::reach(Some(&silent), scratch.path()).await {
        Ok(_) => "reached".to_owned(),
        Err(error) => format!("{error:#}"),
    };
    assert!(error.starts_with("the cluster of "), "{error}");
    assert!(error.contains("does not answer"), "{error}");
}
