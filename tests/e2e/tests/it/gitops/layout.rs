//! What `examples/gitops` lays out is whole: it builds, names what is there, and fits our
//! types and our chart.

use std::collections::BTreeSet;
use std::path::Path;

use foundry_crds::{CodingRun, Harness, Model, meta};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::CustomResourceExt as _;
use pretty_assertions::assert_eq;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use testenv::workspace_root;
use tokio::process::Command;

use super::manifests::{build, documents, examples, id, is_ours};

async fn gitops(folder: &str) -> Vec<Value> {
    build(&examples().join("gitops").join(folder)).await
}

fn of_kind<'a>(objects: &'a [Value], kind: &str) -> Vec<&'a Value> {
    objects.iter().filter(|object| object["kind"] == kind).collect()
}

#[tokio::test]
async fn the_agents_folder_holds_our_kinds_in_one_namespace_and_no_secret() {
    let objects = gitops("agents").await;
    assert!(objects.len() >= 5, "{objects:#?}");
    for object in &objects {
        assert!(is_ours(object), "{object}");
        assert_eq!(object["metadata"]["namespace"], meta::DEFAULT_NAMESPACE);
    }
    fits::<CodingRun>(&objects, "CodingRun");
    fits::<Harness>(&objects, "Harness");
    fits::<Model>(&objects, "Model");
}

fn fits<K: DeserializeOwned>(objects: &[Value], kind: &str) {
    for object in of_kind(objects, kind) {
        serde_json::from_value::<K>(object.clone()).unwrap();
    }
}

/// A field that verbs write and Git gives too is a 409 to everybody who stops an agent.
#[tokio::test]
async fn git_gives_no_field_that_runtime_verbs_write() {
    for agent in of_kind(&gitops("agents").await, "Agent") {
        for field in ["desiredState", "starts", "lifecycle", "ttlAt"] {
            assert_eq!(agent["spec"].get(field), None, "{field} of {:?}", id(agent));
        }
    }
}

#[tokio::test]
async fn flux_waits_for_the_chart_before_the_agents_and_every_path_is_there() {
    let objects = gitops("flux").await;
    let [source] = of_kind(&objects, "GitRepository")[..] else { panic!("{objects:#?}") };
    let steps = of_kind(&objects, "Kustomization");
    let names: Vec<_> = steps.iter().map(|step| step["metadata"]["name"].as_str()).collect();
    assert_eq!(names, [Some("agents"), Some("foundry")]);
    for step in &steps {
        let spec = &step["spec"];
        assert_eq!(spec["sourceRef"]["name"], source["metadata"]["name"]);
        assert_eq!((&spec["wait"], &spec["prune"]), (&json!(true), &json!(true)));
        let path = workspace_root().join(spec["path"].as_str().unwrap());
        assert!(!build(&path).await.is_empty(), "{}", path.display());
    }
    assert_eq!(steps[0]["spec"]["dependsOn"], json!([{"name": "foundry"}]));
}

/// Helm takes the chart with the values of both examples, and no key of them is unknown.
#[tokio::test]
async fn the_values_of_both_examples_fit_the_chart() {
    let flux = gitops("flux/foundry").await;
    let [release] = of_kind(&flux, "HelmRelease")[..] else { panic!("{flux:#?}") };
    let of_flux = &release["spec"]["values"];
    let chart = release["spec"]["chart"]["spec"]["chart"].as_str().unwrap();
    let argocd = gitops("argocd").await;
    let source = &of_name(&argocd, "foundry")["spec"]["source"];
    assert_eq!(workspace_root().join(chart), workspace_root().join("./charts/foundry"));
    assert_eq!(source["path"], "charts/foundry");
    for values in [of_flux, &source["helm"]["valuesObject"]] {
        let file = testenv::scratch("values").unwrap().join("values.yaml");
        std::fs::write(&file, values.to_string()).unwrap();
        let rendered = Command::new(testenv::helm())
            .args(["template", "foundry"])
            .arg(workspace_root().join(chart))
            .arg("--values")
            .arg(&file)
            .output()
            .await
            .unwrap();
        let words = String::from_utf8_lossy(&rendered.stderr);
        assert!(rendered.status.success(), "{words}");
        let image = values["image"]["registry"].as_str().unwrap();
        assert!(String::from_utf8_lossy(&rendered.stdout).contains(image), "{image}");
    }
}

#[tokio::test]
async fn argo_cd_applies_on_the_server_the_chart_first_and_every_path_is_there() {
    let objects = gitops("argocd").await;
    let mut waves = Vec::new();
    for name in ["foundry", "foundry-agents"] {
        let application = of_name(&objects, name);
        let spec = &application["spec"];
        let options: Vec<_> =
            spec["syncPolicy"]["syncOptions"].as_array().unwrap().iter().collect();
        assert!(options.contains(&&json!("ServerSideApply=true")), "{options:?}");
        assert_eq!(spec["syncPolicy"]["automated"]["prune"], true);
        let path = workspace_root().join(spec["source"]["path"].as_str().unwrap());
        assert!(path.is_dir(), "{}", path.display());
        let wave = &application["metadata"]["annotations"]["argocd.argoproj.io/sync-wave"];
        waves.push(wave.as_str().unwrap().parse::<i32>().unwrap());
    }
    assert!(waves.is_sorted_by(|before, after| before < after), "{waves:?}");
    let agents = &of_name(&objects, "foundry-agents")["spec"];
    assert_eq!(agents["destination"]["namespace"], meta::DEFAULT_NAMESPACE);
}

/// A kind without a script has no health, and a sync would not wait for it.
#[tokio::test]
async fn argo_cd_has_the_script_for_each_of_our_kinds() {
    let objects = gitops("argocd/health").await;
    let settings: ConfigMap = serde_json::from_value(objects[0].clone()).unwrap();
    assert_eq!(settings.metadata.name.as_deref(), Some("argocd-cm"));
    let script = std::fs::read_to_string(examples().join("gitops/argocd/health/health.lua"));
    let script = script.unwrap();
    let data = settings.data.unwrap();
    for (kind, text) in &data {
        assert_eq!(text.trim(), script.trim(), "{kind}");
    }
    let keys: BTreeSet<_> = data.keys().cloned().collect();
    let expected: BTreeSet<_> = kinds().into_iter().map(|kind| key(&kind)).collect();
    assert_eq!(keys, expected);
}

fn key(kind: &str) -> String {
    format!("resource.customizations.health.{}_{kind}", meta::GROUP)
}

/// Every kind that the CRDs serve.
fn kinds() -> BTreeSet<String> {
    let text = std::fs::read_to_string(workspace_root().join("crds/yaml/crds.yaml")).unwrap();
    let crds = documents(&text);
    assert!(crds.iter().any(|crd| crd["spec"]["names"]["kind"] == CodingRun::api_resource().kind));
    let crds = crds.into_iter().map(serde_json::from_value::<CustomResourceDefinition>);
    crds.map(|crd| crd.unwrap().spec.names.kind).collect()
}

fn of_name<'a>(objects: &'a [Value], name: &str) -> &'a Value {
    let found = objects.iter().find(|object| object["metadata"]["name"] == name);
    found.unwrap_or_else(|| panic!("there is no {name}"))
}

/// No example names a host that somebody may own.
#[test]
fn every_host_in_the_examples_is_a_placeholder_or_the_cluster_itself() {
    let mut seen = 0;
    for file in files(&examples().join("gitops")) {
        let text = std::fs::read_to_string(&file).unwrap();
        for url in text.split("https://").skip(1) {
            let host = url.split(['/', ' ', '\n', '`', ':']).next().unwrap_or_default();
            let known = host.ends_with(".example.com") || host == "kubernetes.default.svc";
            assert!(known, "{}: {host}", file.display());
            seen += 1;
        }
    }
    assert!(seen >= 5, "{seen}");
}

fn files(folder: &Path) -> Vec<std::path::PathBuf> {
    let entries = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path());
    entries.flat_map(|path| if path.is_dir() { files(&path) } else { vec![path] }).collect()
}
