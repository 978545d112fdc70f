//! The one place that writes to the cluster.
//!
//! Children and status are written by server-side apply, each under its own field
//! manager, and with force: what the operator owns, it owns. Every write has a
//! deadline, and status writes carry the version they were computed from, so that a
//! stale cache or a second operator meets a conflict instead of undoing newer work.

use std::collections::BTreeMap;
use std::fmt::Debug;
use std::future::Future;
use std::time::Duration;

use foundry_crds::agent::{DesiredState, Lifecycle};
use foundry_crds::{Agent, meta};
use k8s_openapi::api::apps::v1::ControllerRevision;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::{Pod, PodStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams, Preconditions, PropagationPolicy};
use kube::{Api, Client, Resource};
use serde::Serialize;
use serde::de::DeserializeOwned;
use tracing::Instrument as _;

use crate::error::Error;
use crate::metrics::Pass;
use crate::traces;

/// How long one write may take.
const DEADLINE: Duration = Duration::from_secs(20);

/// Where deletions wait for what they own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Propagation {
    /// The object stays visible until all it owns is gone.
    Foreground,
    /// The object owns nothing.
    None,
}

/// Which version of which object a status was computed from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Version {
    /// `metadata.name`.
    pub name: String,
    /// `metadata.namespace`.
    pub namespace: String,
    /// `metadata.uid`.
    pub uid: String,
    /// `metadata.resourceVersion`.
    #[serde(rename = "resourceVersion")]
    pub revision: String,
}

impl Version {
    /// The version of an object as it was read.
    pub fn of(kind: &'static str, metadata: &ObjectMeta) -> Result<Self, Error> {
        let name = metadata.name.clone().unwrap_or_default();
        let field = |value: &Option<String>, field| {
            value.clone().ok_or_else(|| Error::Incomplete { kind, name: name.clone(), field })
        };
        Ok(Self {
            namespace: field(&metadata.namespace, "namespace")?,
            uid: field(&metadata.uid, "uid")?,
            revision: field(&metadata.resource_version, "resourceVersion")?,
            name,
        })
    }

    /// The same object at the version that a write gave it.
    fn written(self, metadata: &ObjectMeta) -> Self {
        match metadata.resource_version.clone() {
            Some(revision) => Self { revision, ..self },
            None => self,
        }
    }
}

/// Applies a child: a workload or a network policy that agents own.
pub async fn child<K>(client: &Client, object: &K) -> Result<K, Error>
where
    K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
        + Serialize
        + DeserializeOwned
        + Clone
        + Debug,
{
    let name = object.meta().name.clone().unwrap_or_default();
    let namespace = object.meta().namespace.clone().unwrap_or_default();
    let api: Api<K> = Api::namespaced(client.clone(), &namespace);
    let manager = PatchParams::apply(meta::manager::OPERATOR_CHILDREN).force();
    bounded("apply", K::kind(&()).into_owned(), &name, patch(&api, &name, &manager, object)).await
}

/// Applies the status of a resource of ours, at the version it was computed from.
pub async fn status<K, S>(client: &Client, version: Version, status: &S) -> Result<Version, Error>
where
    K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
        + DeserializeOwned
        + Clone
        + Debug,
    S: Serialize + Debug,
{
    let api: Api<K> = Api::namespaced(client.clone(), &version.namespace);
    let manager = PatchParams::apply(meta::manager::OPERATOR_STATUS).force();
    let body = Applied {
        api_version: K::api_version(&()).into_owned(),
        kind: K::kind(&()).into_owned(),
        metadata: &version,
        part: Part::Status(status),
    };
    let kind = K::kind(&()).into_owned();
    let request = patch_status(&api, &version.name, &manager, &body);
    let written = bounded("report status of", kind, &version.name, request).await?;
    let metadata = written.meta().clone();
    Ok(version.written(&metadata))
}

/// Merges the given fields into the status of an object whose other fields have
/// types that an apply would refuse to read.
#[expect(clippy::disallowed_methods, reason = "this is the apply module")]
pub async fn merged_status<K, S>(
    client: &Client,
    version: &Version,
    fields: &S,
) -> Result<(), Error>
where
    K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
        + DeserializeOwned
        + Clone
        + Debug,
    S: Serialize + Debug,
{
    let api: Api<K> = Api::namespaced(client.clone(), &version.namespace);
    let manager = PatchParams {
        field_manager: Some(meta::manager::OPERATOR_STATUS.to_owned()),
        ..PatchParams::default()
    };
    let body = Patch::Merge(serde_json::json!({ "metadata": version, "status": fields }));
    let request = api.patch_status(&version.name, &manager, &body);
    let kind = K::kind(&()).into_owned();
    bounded("report status of", kind, &version.name, request).await.map(drop)
}

/// Writes that an agent's time is over (LIFE-12).
pub async fn expire(client: &Client, version: Version) -> Result<Version, Error> {
    #[derive(Debug, Serialize)]
    #[serde(rename_all = "camelCase")]
    struct Over {
        lifecycle: Lifecycle,
        desired_state: DesiredState,
    }
    let over = Over { lifecycle: Lifecycle::Expired, desired_state: DesiredState::Completed };
    let api: Api<Agent> = Api::namespaced(client.clone(), &version.namespace);
    let manager = PatchParams::apply(meta::manager::OPERATOR_INTENT).force();
    let body = Applied {
        api_version: Agent::api_version(&()).into_owned(),
        kind: Agent::kind(&()).into_owned(),
        metadata: &version,
        part: Part::Spec(&over),
    };
    let request = patch(&api, &version.name, &manager, &body);
    let written = bounded("expire", "Agent".to_owned(), &version.name, request).await?;
    let metadata = written.meta().clone();
    Ok(version.written(&metadata))
}

/// Creates the agent of a run or of a member of a swarm, and takes none over that is
/// there already.
pub async fn create_agent(
    client: &Client,
    manager: &'static str,
    agent: &Agent,
) -> Result<(), Error> {
    let name = agent.metadata.name.clone().unwrap_or_default();
    let namespace = agent.metadata.namespace.clone().unwrap_or_default();
    let api: Api<Agent> = Api::namespaced(client.clone(), &namespace);
    let parameters =
        PostParams { field_manager: Some(manager.to_owned()), ..PostParams::default() };
    let request = api.create(&parameters, agent);
    bounded("create", "Agent".to_owned(), &name, request).await.map(drop)
}

/// Stores a version of an agent, and takes nothing over that is there already.
pub async fn create_revision(client: &Client, revision: &ControllerRevision) -> Result<(), Error> {
    let name = revision.metadata.name.clone().unwrap_or_default();
    let namespace = revision.metadata.namespace.clone().unwrap_or_default();
    let parameters = PostParams {
        field_manager: Some(meta::manager::OPERATOR_CHILDREN.to_owned()),
        ..PostParams::default()
    };
    let path = ControllerRevision::url_path(&(), Some(&namespace));
    let request = async {
        let body = as_go_writes(&serde_json::to_string(revision).map_err(kube::Error::SerdeError)?);
        let request = kube::core::Request::new(path).create(&parameters, body.into_bytes());
        client.request::<ControllerRevision>(request.map_err(kube::Error::BuildRequest)?).await
    };
    bounded("create", "ControllerRevision".to_owned(), &name, request).await.map(drop)
}

/// JSON with the escapes that Go writes.
///
/// At a patch of anything in a `ControllerRevision`, the API server writes its data anew,
/// in Go's way, and compares the bytes: were they others before, it would find immutable
/// data changed, and refuse. The garbage collector could then never orphan the object.
fn as_go_writes(json: &str) -> String {
    // Outside of strings none of these stands.
    json.replace('<', "\\u003c")
        .replace('>', "\\u003e")
        .replace('&', "\\u0026")
        .replace('\u{2028}', "\\u2028")
        .replace('\u{2029}', "\\u2029")
}

/// Changes annotations and fields of the spec of such an agent, at the version they were
/// compared with.
///
/// No apply: under the manager that created it, an apply would be a second owner of
/// each field, and one that runtime verbs could not take `ttlAt` from.
#[expect(clippy::disallowed_methods, reason = "this is the apply module")]
pub async fn edit_agent<S: Serialize>(
    client: &Client,
    manager: &'static str,
    version: &Version,
    annotations: &BTreeMap<&str, String>,
    fields: &S,
) -> Result<(), Error> {
    #[derive(Serialize)]
    struct Metadata<'a> {
        #[serde(flatten)]
        version: &'a Version,
        #[serde(skip_serializing_if = "BTreeMap::is_empty")]
        annotations: &'a BTreeMap<&'a str, String>,
    }
    let api: Api<Agent> = Api::namespaced(client.clone(), &version.namespace);
    let manager = PatchParams { field_manager: Some(manager.to_owned()), ..PatchParams::default() };
    let metadata = Metadata { version, annotations };
    let body = Patch::Merge(serde_json::json!({ "metadata": metadata, "spec": fields }));
    let request = api.patch(&version.name, &manager, &body);
    bounded("edit", "Agent".to_owned(), &version.name, request).await.map(drop)
}

/// Lets a Job run for so many seconds from its begin, and stay so many after its end. Its
/// pods are not touched.
#[expect(clippy::disallowed_methods, reason = "this is the apply module")]
pub async fn job_deadline(
    client: &Client,
    namespace: &str,
    name: &str,
    seconds: i64,
    kept_seconds: i32,
) -> Result<(), Error> {
    let api: Api<Job> = Api::namespaced(client.clone(), namespace);
    let manager = PatchParams {
        field_manager: Some(meta::manager::OPERATOR_CHILDREN.to_owned()),
        ..PatchParams::default()
    };
    let body = Patch::Merge(serde_json::json!({ "spec": {
        "activeDeadlineSeconds": seconds, "ttlSecondsAfterFinished": kept_seconds,
    } }));
    let request = api.patch(name, &manager, &body);
    bounded("prolong", "Job".to_owned(), name, request).await.map(drop)
}

/// Writes the status of a Pod that the local runtime runs as a process.
pub async fn pod_status(
    client: &Client,
    namespace: &str,
    name: &str,
    uid: &str,
    status: &PodStatus,
) -> Result<(), Error> {
    #[derive(Debug, Serialize)]
    struct Identity<'a> {
        name: &'a str,
        namespace: &'a str,
        uid: &'a str,
    }
    let api: Api<Pod> = Api::namespaced(client.clone(), namespace);
    let manager = PatchParams::apply(meta::manager::OPERATOR_STATUS).force();
    let body = Applied {
        api_version: Pod::api_version(&()).into_owned(),
        kind: Pod::kind(&()).into_owned(),
        metadata: &Identity { name, namespace, uid },
        part: Part::Status(status),
    };
    let request = patch_status(&api, name, &manager, &body);
    bounded("report status of", "Pod".to_owned(), name, request).await.map(drop)
}

/// Deletes exactly the object with this UID; that it is gone already is fine.
pub async fn delete<K>(
    client: &Client,
    namespace: &str,
    name: &str,
    uid: &str,
    propagation: Propagation,
) -> Result<(), Error>
where
    K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
        + DeserializeOwned
        + Clone
        + Debug,
{
    let api: Api<K> = Api::namespaced(client.clone(), namespace);
    let parameters = DeleteParams {
        propagation_policy: match propagation {
            Propagation::Foreground => Some(PropagationPolicy::Foreground),
            Propagation::None => None,
        },
        preconditions: Some(Preconditions { uid: Some(uid.to_owned()), resource_version: None }),
        ..DeleteParams::default()
    };
    let request = api.delete(name, &parameters);
    match bounded("delete", K::kind(&()).into_owned(), name, request).await {
        Ok(_) => Ok(()),
        Err(error) if error.is_not_found() => Ok(()),
        Err(error) => Err(error),
    }
}

/// What is applied: the identity of an object and the part of it that is ours.
#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Applied<'a, M: Serialize, P: Serialize> {
    api_version: String,
    kind: String,
    metadata: &'a M,
    #[serde(flatten)]
    part: Part<'a, P>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
enum Part<'a, P: Serialize> {
    Spec(&'a P),
    Status(&'a P),
}

#[expect(clippy::disallowed_methods, reason = "this is the apply module")]
async fn patch<K, B>(
    api: &Api<K>,
    name: &str,
    manager: &PatchParams,
    body: &B,
) -> Result<K, kube::Error>
where
    K: DeserializeOwned + Clone + Debug,
    B: Serialize + Debug,
{
    api.patch(name, manager, &Patch::Apply(body)).await
}

#[expect(clippy::disallowed_methods, reason = "this is the apply module")]
async fn patch_status<K, B>(
    api: &Api<K>,
    name: &str,
    manager: &PatchParams,
    body: &B,
) -> Result<K, kube::Error>
where
    K: DeserializeOwned + Clone + Debug,
    B: Serialize + Debug,
{
    api.patch_status(name, manager, &Patch::Apply(body)).await
}

/// Runs one request within the deadline and says what it was for when it fails.
async fn bounded<T>(
    verb: &'static str,
    kind: String,
    name: &str,
    request: impl Future<Output = Result<T, kube::Error>>,
) -> Result<T, Error> {
    Pass::note_write();
    let span = tracing::info_span!(target: traces::SPANS, "write", verb, kind, name);
    match tokio::time::timeout(DEADLINE, request).instrument(span).await {
        Ok(Ok(answer)) => Ok(answer),
        Ok(Err(source)) => {
            Err(Error::Write { verb, kind, name: name.to_owned(), source: Box::new(source) })
        }
        Err(_) => {
            let seconds = DEADLINE.as_secs();
            Err(Error::Deadline { verb, kind, name: name.to_owned(), seconds })
        }
    }
}
