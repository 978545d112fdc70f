//! A namespace a test.

use std::time::Duration;

use anyhow::{Context, Result, ensure};
use k8s_openapi::api::authorization::v1::{
    ResourceAttributes, SubjectAccessReview, SubjectAccessReviewSpec,
};
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::Value;

use crate::apply::{apply, text};
use crate::fail::or_fail;
use crate::{ControlPlane, install, random, within};

/// A namespace that agents may live in, with the service accounts and roles of an
/// installation.
#[derive(Clone)]
pub struct TestNamespace {
    /// Its name.
    pub name: String,
    /// A client with every right.
    pub client: Client,
}

/// Makes a new namespace and waits until the roles in it count.
pub async fn namespace(control_plane: &ControlPlane, prefix: &str) -> TestNamespace {
    or_fail(make(control_plane.admin(), prefix).await)
}

async fn make(client: Client, prefix: &str) -> Result<TestNamespace> {
    let name = format!("{prefix}-{}", random::hex::<3>()?);
    let objects = install::namespace_objects(&name)?;
    apply(&client, &objects).await.with_context(|| format!("failed to make namespace {name}"))?;
    for review in reviews(&objects, &name) {
        within("roles count", Duration::from_secs(30), || ask(&client, &review)).await?;
    }
    Ok(TestNamespace { name, client })
}

/// RBAC is read from a watch, a moment after it is written. For each binding to a
/// service account, one question whose answer is yes once it is seen.
fn reviews(objects: &[Value], namespace: &str) -> Vec<SubjectAccessReviewSpec> {
    let bindings = objects.iter().filter(|object| text(object, "/kind") == "RoleBinding");
    bindings.filter_map(|binding| review(objects, binding, namespace)).collect()
}

fn review(objects: &[Value], binding: &Value, namespace: &str) -> Option<SubjectAccessReviewSpec> {
    let role = objects.iter().find(|object| {
        text(object, "/kind") == text(binding, "/roleRef/kind")
            && text(object, "/metadata/name") == text(binding, "/roleRef/name")
    })?;
    let subject = binding.pointer("/subjects/0")?;
    if text(subject, "/kind") != "ServiceAccount" {
        return None;
    }
    let (resource, subresource) = match text(role, "/rules/0/resources/0").split_once('/') {
        Some((resource, subresource)) => (resource, Some(subresource)),
        None => (text(role, "/rules/0/resources/0"), None),
    };
    let attributes = ResourceAttributes {
        group: Some(text(role, "/rules/0/apiGroups/0").to_owned()),
        resource: Some(resource.to_owned()),
        subresource: subresource.map(str::to_owned),
        name: role.pointer("/rules/0/resourceNames/0").and_then(Value::as_str).map(str::to_owned),
        verb: Some(text(role, "/rules/0/verbs/0").to_owned()),
        namespace: Some(namespace.to_owned()),
        ..Default::default()
    };
    let user =
        format!("system:serviceaccount:{}:{}", text(subject, "/namespace"), text(subject, "/name"));
    Some(SubjectAccessReviewSpec {
        resource_attributes: Some(attributes),
        user: Some(user),
        ..Default::default()
    })
}

async fn ask(client: &Client, question: &SubjectAccessReviewSpec) -> Result<()> {
    let reviews: Api<SubjectAccessReview> = Api::all(client.clone());
    let review = SubjectAccessReview { spec: question.clone(), ..Default::default() };
    let answer = reviews.create(&PostParams::default(), &review).await?;
    let allowed = answer.status.as_ref().is_some_and(|status| status.allowed);
    ensure!(allowed, "not allowed yet: {question:?}");
    Ok(())
}
