//! An installation begins and ends.

use std::collections::BTreeSet;
use std::time::Duration;

use foundry_crds::{Agent, yaml};
use k8s_openapi::api::core::v1::{Namespace, PersistentVolumeClaim, Pod, ServiceAccount};
use kube::Api;
use kube::api::{ListParams, ObjectMeta, PostParams};
use pretty_assertions::assert_eq;
use testenv::{Audit, eventually, wait_until_policies_act};

use super::place::{Place, chart};

/// How long the cluster's controllers may take for anything.
const SOON: Duration = Duration::from_mins(2);

/// What an uninstall leaves while `keepData` is true, beside what people made themselves.
const KEPT: [&str; 9] = [
    "CustomResourceDefinition /agents.foundry.flow.life",
    "CustomResourceDefinition /codingruns.foundry.flow.life",
    "CustomResourceDefinition /harnesses.foundry.flow.life",
    "CustomResourceDefinition /models.foundry.flow.life",
    "CustomResourceDefinition /skills.foundry.flow.life",
    "CustomResourceDefinition /swarms.foundry.flow.life",
    "CustomResourceDefinition /toolservers.foundry.flow.life",
    "Namespace /foundry-agents",
    "PersistentVolumeClaim default/foundry-api-data",
];

/// What the cluster itself adds to a namespace and to a type.
const OF_THE_CLUSTER: [&str; 3] = [
    "APIService /v1alpha1.foundry.flow.life",
    "ConfigMap foundry-agents/kube-root-ca.crt",
    "ServiceAccount foundry-agents/default",
];

/// WORK-05: what is installed acts; what is taken away is gone, data only by a flag.
#[tokio::test(flavor = "multi_thread")]
async fn an_install_acts_and_an_uninstall_leaves_data_alone_and_by_a_flag_nothing() {
    let place = Place::start(Audit::Writes).await;
    let before = settled(&place).await;

    place.install(&chart(), &[]).await;
    wait_until_policies_act(&place.client).await.unwrap();
    for part in ["api", "operator"] {
        until_pod_is_admitted(&place, part).await;
    }
    let namespaces: Api<Namespace> = Api::all(place.client.clone());
    let labels = namespaces.get("foundry-agents").await.unwrap().metadata.labels.unwrap();
    assert_eq!(labels["pod-security.kubernetes.io/enforce"], "restricted");
    let agent = apply_agent(&place).await;
    let volume = volume(&place).await;

    place.uninstall().await;
    let kept: BTreeSet<String> = KEPT
        .into_iter()
        .chain(OF_THE_CLUSTER)
        .map(str::to_owned)
        .chain(["Agent foundry-agents/scout".to_owned()])
        .collect();
    until_left(&place, &before, &kept).await;

    // Whoever installs again goes on with what was kept.
    place.install(&chart(), &["--set", "keepData=false"]).await;
    assert_eq!(agent_uid(&place).await, agent);
    assert_eq!(self::volume(&place).await, volume);
    place.uninstall().await;
    until_left(&place, &before, &BTreeSet::new()).await;
    place.control_plane.stop().await.unwrap();
}

/// WORK-06: such a release makes no rights, no types and no namespace, and goes whole.
#[tokio::test(flavor = "multi_thread")]
async fn a_release_without_an_agent_runtime_comes_and_goes() {
    let place = Place::start(Audit::Writes).await;
    let before = settled(&place).await;
    let values = chart().join("ci/service-values.yaml");
    place.install(&chart(), &["-f", values.to_str().unwrap()]).await;
    until_pod_is_admitted(&place, "api").await;
    // An upgrade with the values it has does not give it a runtime.
    place.upgrade(&chart(), &["--set", "api.replicas=1"]).await;
    let now = place.inventory().await.unwrap();
    let made: BTreeSet<String> = now.difference(&before).cloned().collect();
    let strange: Vec<_> = made
        .iter()
        .filter(|name| {
            let kind = name.split_whitespace().next().unwrap();
            let usual = ["Deployment", "ReplicaSet", "Pod", "Service", "Secret", "NetworkPolicy"];
            !usual.contains(&kind) && kind != "PodDisruptionBudget"
        })
        .collect();
    assert_eq!(strange, [""; 0], "{made:#?}");
    place.uninstall().await;
    until_left(&place, &before, &BTreeSet::new()).await;
    place.control_plane.stop().await.unwrap();
}

/// Every value makes objects that the API server takes, under the strictest standard. What the
/// test's cluster has not is left out: priority classes, and the Prometheus operator's types.
#[tokio::test(flavor = "multi_thread")]
async fn the_api_server_takes_what_every_value_makes() {
    let place = Place::start(Audit::Writes).await;
    let namespaces: Api<Namespace> = Api::all(place.client.clone());
    for name in ["red", "blue"] {
        let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
        let namespace = Namespace { metadata, ..Namespace::default() };
        namespaces.create(&PostParams::default(), &namespace).await.unwrap();
    }
    let values = chart().join("ci/full-values.yaml");
    let missing = "crds.install=true,serviceMonitor.enabled=false,\
                   api.priorityClassName=,operator.priorityClassName=";
    place.install(&chart(), &["-f", values.to_str().unwrap(), "--set", missing]).await;
    for part in ["api", "operator"] {
        until_pod_is_admitted(&place, part).await;
    }
    for namespace in ["red", "blue"] {
        let accounts: Api<ServiceAccount> = Api::namespaced(place.client.clone(), namespace);
        let harness = accounts.get("foundry-harness").await.unwrap();
        assert_eq!(harness.automount_service_account_token, Some(false));
        let secrets = harness.image_pull_secrets.unwrap();
        assert_eq!(secrets.iter().map(|it| it.name.as_str()).collect::<Vec<_>>(), ["registry"]);
    }
    place.control_plane.stop().await.unwrap();
}

/// What is there once the cluster has made all that it makes at its start.
async fn settled(place: &Place) -> BTreeSet<String> {
    let last = std::sync::Mutex::new((BTreeSet::new(), 0));
    eventually("the cluster has settled", SOON, || async {
        let now = place.inventory().await?;
        let mut last = last.lock().map_err(|error| error.to_string())?;
        let same = if now == last.0 { last.1 + 1 } else { 0 };
        *last = (now.clone(), same);
        if same >= 5 { Ok(now) } else { Err(format!("the same {same} times")) }
    })
    .await
}

/// Waits until nothing is there but what was before, and exactly this beside it.
async fn until_left(place: &Place, before: &BTreeSet<String>, kept: &BTreeSet<String>) {
    eventually("only what was to stay is left", SOON, || async {
        let now = place.inventory().await?;
        let left: BTreeSet<String> = now.difference(before).cloned().collect();
        let (more, less): (Vec<_>, Vec<_>) =
            (left.difference(kept).collect(), kept.difference(&left).collect());
        if more.is_empty() && less.is_empty() {
            Ok(())
        } else {
            Err(format!("beside it: {more:?}; gone: {less:?}"))
        }
    })
    .await;
}

/// A pod exists, so the strictest standard let it in; no node is there to run it.
async fn until_pod_is_admitted(place: &Place, part: &str) {
    let pods: Api<Pod> = Api::namespaced(place.client.clone(), "default");
    let of_the_part = ListParams::default().labels(&format!("app.kubernetes.io/component={part}"));
    eventually(&format!("a pod of the {part} is admitted"), SOON, || async {
        let pods = pods.list(&of_the_part).await.map_err(|error| error.to_string())?;
        if pods.items.is_empty() { Err("there is none".to_owned()) } else { Ok(()) }
    })
    .await;
}

async fn apply_agent(place: &Place) -> String {
    let path = testenv::workspace_root().join("examples/quickstart/agent.yaml");
    let agent: Agent = yaml::from_yaml(&std::fs::read_to_string(path).unwrap()).unwrap();
    agents(place).create(&PostParams::default(), &agent).await.unwrap();
    agent_uid(place).await
}

async fn agent_uid(place: &Place) -> String {
    agents(place).get("scout").await.unwrap().metadata.uid.unwrap()
}

fn agents(place: &Place) -> Api<Agent> {
    Api::namespaced(place.client.clone(), "foundry-agents")
}

async fn volume(place: &Place) -> String {
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(place.client.clone(), "default");
    claims.get("foundry-api-data").await.unwrap().metadata.uid.unwrap()
}
