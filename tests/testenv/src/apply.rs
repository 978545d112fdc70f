//! The one place of this crate that writes to the cluster: server-side apply of
//! whole objects, under a field manager of its own.

use std::collections::HashMap;

use anyhow::{Context, Result};
use kube::api::{Patch, PatchParams};
use kube::core::GroupVersionKind;
use kube::core::discovery::{ApiResource, Scope};
use kube::{Api, Client, discovery};
use serde::Deserialize;
use serde_json::Value;

/// Applies objects one after the other, in their order.
pub(crate) async fn apply(client: &Client, objects: &[Value]) -> Result<()> {
    let mut known = HashMap::new();
    for object in objects {
        let kind = kind_of(object)?;
        if !known.contains_key(&kind) {
            let (resource, capabilities) = discovery::pinned_kind(client, &kind)
                .await
                .with_context(|| format!("the cluster does not serve {}", kind.kind))?;
            known.insert(kind.clone(), (resource, capabilities.scope));
        }
        if let Some((resource, scope)) = known.get(&kind) {
            apply_one(client, resource, scope, object).await?;
        }
    }
    Ok(())
}

/// Each document of a YAML file, empty ones left out.
pub(crate) fn documents(text: &str) -> Result<Vec<Value>> {
    let mut objects = Vec::new();
    for document in serde_yaml::Deserializer::from_str(text) {
        let object = Value::deserialize(document).context("a document is not YAML")?;
        if !object.is_null() {
            objects.push(object);
        }
    }
    Ok(objects)
}

/// A string inside an object, empty when it is not there.
pub(crate) fn text<'a>(object: &'a Value, pointer: &str) -> &'a str {
    object.pointer(pointer).and_then(Value::as_str).unwrap_or_default()
}

#[expect(clippy::disallowed_methods, reason = "this is the apply module of the test environment")]
async fn apply_one(
    client: &Client,
    resource: &ApiResource,
    scope: &Scope,
    object: &Value,
) -> Result<()> {
    let name = text(object, "/metadata/name");
    let namespace = text(object, "/metadata/namespace");
    let api: Api<kube::core::DynamicObject> = match scope {
        Scope::Cluster => Api::all_with(client.clone(), resource),
        Scope::Namespaced => Api::namespaced_with(client.clone(), namespace, resource),
    };
    let parameters = PatchParams::apply("testenv").force();
    api.patch(name, &parameters, &Patch::Apply(object))
        .await
        .with_context(|| format!("failed to apply {} {namespace}/{name}", resource.kind))?;
    Ok(())
}

fn kind_of(object: &Value) -> Result<GroupVersionKind> {
    let version = text(object, "/apiVersion");
    let (group, version) = version.split_once('/').unwrap_or(("", version));
    let kind = text(object, "/kind");
    anyhow::ensure!(!kind.is_empty() && !version.is_empty(), "an object has no kind: {object}");
    Ok(GroupVersionKind::gvk(group, version, kind))
}
