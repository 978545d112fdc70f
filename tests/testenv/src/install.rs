//! Foundry's own types, policies and cluster-wide roles, as a person installs
//! them.

use std::fs;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use k8s_openapi::api::rbac::v1::{Role, RoleBinding};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::DeleteParams;
use kube::{Api, Client};
use serde_json::{Value, json};

use crate::apply::{apply, documents, text};
use crate::{within, workspace};

const PATIENCE: Duration = Duration::from_mins(1);

/// The namespace that the checked-in roles are written for. These words are spelt
/// anew: the test environment uses no crate of ours, so that it shares no mistake
/// with what it tests.
const DEFAULT_NAMESPACE: &str = "foundry-agents";
const GROUP: &str = "foundry.flow.life";
const VERSION: &str = "v1alpha1";

/// Who asks whether the policies act, and the role it has for that.
const PROBE: &str = "foundry-policy-probe";

/// Applies everything that is not one namespace's, and waits until it acts.
pub(crate) async fn install(client: &Client) -> Result<()> {
    let crds = read("crds.yaml")?;
    apply(client, &crds).await?;
    for crd in &crds {
        wait_until_established(client, text(crd, "/metadata/name")).await?;
    }
    apply(client, &read("policies.yaml")?).await?;
    let shared: Vec<_> =
        read("rbac.yaml")?.into_iter().filter(|object| !is_local(object)).collect();
    apply(client, &shared).await?;
    wait_until_policies_act(client).await
}

/// What `crds/yaml/rbac.yaml` lays into one namespace, rewritten for another.
pub(crate) fn namespace_objects(namespace: &str) -> Result<Vec<Value>> {
    let mut objects = read("rbac.yaml")?;
    objects.retain(is_local);
    for object in &mut objects {
        move_to(object, namespace);
    }
    Ok(objects)
}

/// Waits until an Agent for somebody else is refused to a person who may create
/// agents but not act as others, and one of that person's own is not: then all policies
/// are compiled and act, for one that is not ready refuses everything.
pub async fn wait_until_policies_act(client: &Client) -> Result<()> {
    apply(client, &probe_rights()).await?;
    let refused = within("admission policies act", PATIENCE, || probe(client)).await;
    let delete = DeleteParams::default();
    let bindings: Api<RoleBinding> = Api::namespaced(client.clone(), "default");
    let roles: Api<Role> = Api::namespaced(client.clone(), "default");
    bindings.delete(PROBE, &delete).await.context("failed to delete the probe's binding")?;
    roles.delete(PROBE, &delete).await.context("failed to delete the probe's role")?;
    refused
}

async fn wait_until_established(client: &Client, name: &str) -> Result<()> {
    let crds: Api<CustomResourceDefinition> = Api::all(client.clone());
    within(&format!("{name} is established"), PATIENCE, || async {
        let conditions = crds.get(name).await?.status.and_then(|status| status.conditions);
        let conditions = conditions.unwrap_or_default();
        if conditions.iter().any(|it| it.type_ == "Established" && it.status == "True") {
            return Ok(());
        }
        bail!("{conditions:?}")
    })
    .await
}

fn probe_rights() -> [Value; 2] {
    const RBAC: &str = "rbac.authorization.k8s.io";
    let version = format!("{RBAC}/v1");
    let metadata = json!({"name": PROBE, "namespace": "default"});
    let role = json!({
        "apiVersion": version, "kind": "Role", "metadata": metadata,
        "rules": [{"apiGroups": [GROUP], "resources": ["agents"], "verbs": ["create"]}],
    });
    let binding = json!({
        "apiVersion": version, "kind": "RoleBinding", "metadata": metadata,
        "roleRef": {"apiGroup": RBAC, "kind": "Role", "name": PROBE},
        "subjects": [{"apiGroup": RBAC, "kind": "User", "name": PROBE}],
    });
    [role, binding]
}

async fn probe(client: &Client) -> Result<()> {
    match create(client, "somebody-else").await {
        Ok(_) => bail!("an Agent for somebody else was accepted"),
        Err(error) if error.to_string().contains("spec.owner") => {}
        Err(error) => bail!("{error}"),
    }
    create(client, PROBE).await.context("an Agent of one's own was refused")?;
    Ok(())
}

/// A dry run as the probing person: nothing is ever made.
async fn create(client: &Client, owner: &str) -> Result<Value> {
    let agent = json!({
        "apiVersion": format!("{GROUP}/{VERSION}"), "kind": "Agent",
        "metadata": {"name": "policy-probe", "namespace": "default"},
        "spec": {"owner": owner, "harness": "none"},
    });
    let path = format!("/apis/{GROUP}/{VERSION}/namespaces/default/agents?dryRun=All");
    let request = http::Request::post(path)
        .header("Impersonate-User", PROBE)
        .header("Content-Type", "application/json")
        .body(serde_json::to_vec(&agent)?)?;
    Ok(client.request(request).await?)
}

fn read(name: &str) -> Result<Vec<Value>> {
    let path = workspace::root().join("crds/yaml").join(name);
    let text = fs::read_to_string(&path).with_context(|| {
        format!("failed to read {}; write it with `cargo xtask generate`", path.display())
    })?;
    documents(&text).with_context(|| format!("failed to read {}", path.display()))
}

/// Whether an object is laid into each namespace that agents live in, or is that
/// namespace, whose labels say how strict it is.
fn is_local(object: &Value) -> bool {
    text(object, "/metadata/namespace") == DEFAULT_NAMESPACE || is_the_namespace(object)
}

fn is_the_namespace(object: &Value) -> bool {
    text(object, "/kind") == "Namespace" && text(object, "/metadata/name") == DEFAULT_NAMESPACE
}

fn move_to(object: &mut Value, namespace: &str) {
    let place = if is_the_namespace(object) { "name" } else { "namespace" };
    object["metadata"][place] = namespace.into();
    let subjects = object.get_mut("subjects").and_then(Value::as_array_mut);
    for subject in subjects.into_iter().flatten() {
        if text(subject, "/namespace") == DEFAULT_NAMESPACE {
            subject["namespace"] = namespace.into();
        }
    }
}
