//! From one version of the chart to the next.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use foundry_crds::{Agent, yaml};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use kube::api::PostParams;
use pretty_assertions::assert_eq;
use serde_json::Value;
use testenv::Audit;

use super::place::{Place, chart, name_of};

/// An upgrade brings the types up to date, takes away what the new chart has no more, keeps
/// the values and leaves every agent, namespace and volume as it is.
#[tokio::test(flavor = "multi_thread")]
async fn an_upgrade_from_the_previous_chart_changes_what_the_charts_differ_in() {
    let place = Place::start(Audit::Writes).await;
    let previous = previous(&place.folder.join("previous"));
    place.install(&previous, &["--set", "api.log=debug"]).await;
    let maps: Api<ConfigMap> = Api::namespaced(place.client.clone(), "default");
    assert!(maps.get_opt("foundry-previous").await.unwrap().is_some());
    assert_eq!(short_names(&place).await, ["old"]);
    let agents: Api<Agent> = Api::namespaced(place.client.clone(), "foundry-agents");
    let path = testenv::workspace_root().join("examples/quickstart/agent.yaml");
    let agent: Agent = yaml::from_yaml(&fs::read_to_string(path).unwrap()).unwrap();
    let agent = agents.create(&PostParams::default(), &agent).await.unwrap();
    let before = lasting(&place).await;

    place.upgrade(&chart(), &[]).await;
    assert_eq!(short_names(&place).await, ["ag"]);
    assert!(maps.get_opt("foundry-previous").await.unwrap().is_none());
    assert_eq!(agents.get("scout").await.unwrap(), agent);
    assert_eq!(lasting(&place).await, before);
    assert_eq!(log_setting(&place).await, "debug");
    place.control_plane.stop().await.unwrap();
}

/// An upgrade to the version that is there writes nothing that a program would see.
#[tokio::test(flavor = "multi_thread")]
async fn an_upgrade_to_the_same_chart_changes_nothing() {
    let place = Place::start(Audit::Writes).await;
    place.install(&chart(), &[]).await;
    let before = versions(&place).await;
    assert!(before.len() > 20, "{before:#?}");
    place.upgrade(&chart(), &[]).await;
    assert_eq!(versions(&place).await, before);
    place.control_plane.stop().await.unwrap();
}

/// Several APIs roll, one on a file of its own makes way first: an upgrade leads from each to
/// the other, though the cluster has filled in how to roll.
#[tokio::test(flavor = "multi_thread")]
async fn an_api_may_join_a_shared_database_and_leave_it() {
    let place = Place::start(Audit::Writes).await;
    let volume = "api.persistence.accessModes={ReadWriteMany}";
    place.install(&chart(), &["--set", volume]).await;
    assert_eq!(strategy(&place).await, "Recreate");
    for (secret, expected) in [("db", "RollingUpdate"), ("", "Recreate")] {
        let database = format!("api.database.existingSecret={secret}");
        place.upgrade(&chart(), &["--set", &database]).await;
        assert_eq!(strategy(&place).await, expected);
    }
    place.control_plane.stop().await.unwrap();
}

async fn strategy(place: &Place) -> String {
    let deployments: Api<Deployment> = Api::namespaced(place.client.clone(), "default");
    let spec = deployments.get("foundry-api").await.unwrap().spec.unwrap();
    spec.strategy.unwrap().type_.unwrap()
}

/// The previous chart. None has been released yet, so it is this one made older: another
/// version, a type that differs, and an object that the new one has no more.
fn previous(folder: &Path) -> PathBuf {
    copy(&chart(), folder);
    edit(&folder.join("Chart.yaml"), "\nversion: ", "\nversion: 0.0.1 # before ");
    edit(&folder.join("templates/crds.yaml"), "    - ag\n", "    - old\n");
    let map = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: foundry-previous\n  \
               namespace: {{ .Release.Namespace }}\n";
    fs::write(folder.join("templates/previous.yaml"), map).unwrap();
    folder.to_path_buf()
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).unwrap();
    for entry in fs::read_dir(from).unwrap() {
        let path = entry.unwrap().path();
        let there = to.join(path.file_name().unwrap());
        if path.is_dir() {
            copy(&path, &there);
        } else {
            fs::copy(&path, &there).unwrap();
        }
    }
}

fn edit(file: &Path, from: &str, to: &str) {
    let text = fs::read_to_string(file).unwrap();
    assert!(text.contains(from), "{} has no {from:?}", file.display());
    fs::write(file, text.replacen(from, to, 1)).unwrap();
}

async fn short_names(place: &Place) -> Vec<String> {
    let types: Api<CustomResourceDefinition> = Api::all(place.client.clone());
    let agents = types.get("agents.foundry.flow.life").await.unwrap();
    agents.spec.names.short_names.unwrap()
}

/// What must be the same object after an upgrade, by UID.
async fn lasting(place: &Place) -> BTreeMap<String, String> {
    let kinds = ["CustomResourceDefinition", "Namespace", "PersistentVolumeClaim", "Service"];
    let objects = of_the_chart(place).await;
    let lasting = objects.iter().filter(|object| kinds.iter().any(|kind| object["kind"] == **kind));
    lasting.map(|object| (name_of(object), object["metadata"]["uid"].to_string())).collect()
}

/// What changes when somebody changes an object: its generation where it has one, for others
/// write its status; nothing of a claim does that controllers do not touch too.
async fn versions(place: &Place) -> BTreeMap<String, String> {
    let objects = of_the_chart(place).await;
    let version = |object: &Value| {
        let metadata = &object["metadata"];
        if object["kind"] == "PersistentVolumeClaim" {
            return object["spec"].to_string();
        }
        let generation = metadata["generation"].as_i64().map(|number| number.to_string());
        generation.unwrap_or_else(|| metadata["resourceVersion"].to_string())
    };
    objects.iter().map(|object| (name_of(object), version(object))).collect()
}

async fn of_the_chart(place: &Place) -> Vec<Value> {
    let objects = place.objects().await;
    objects.into_iter().filter(|it| it["metadata"]["labels"]["helm.sh/chart"].is_string()).collect()
}

async fn log_setting(place: &Place) -> String {
    let deployments: Api<Deployment> = Api::namespaced(place.client.clone(), "default");
    let spec = deployments.get("foundry-api").await.unwrap().spec.unwrap();
    let container = spec.template.spec.unwrap().containers.remove(0);
    let variable = container.env.unwrap().into_iter().find(|it| it.name == "FOUNDRY_LOG");
    variable.unwrap().value.unwrap()
}
