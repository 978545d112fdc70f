//! Every write to the cluster: server-side apply under a manager of the registry in
//! `foundry_crds::meta`.
//!
//! Nothing is taken from a manager that is not in the registry: what Git or a person
//! with kubectl owns stays theirs, and the caller is told whose it is.

use std::{collections::BTreeSet, fmt};

use foundry_crds::{
    Agent, AgentSpec, CodingRun, Swarm, ToolServer, coding_run, meta::manager,
    tool_server::ToolServerReport,
};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Time;
use kube::{
    Api, Resource, ResourceExt,
    api::{Patch, PatchParams, PostParams},
    core::Status,
};
use serde::Serialize;
use serde_json::{Map, Value};

use super::{Cluster, ClusterError, Readable, in_time};
use crate::problem::Problem;

/// Why an apply did not happen.
#[derive(Debug, thiserror::Error)]
pub enum ApplyError {
    /// The object changed since it was read: read it again and decide anew.
    #[error("the resource changed meanwhile")]
    Stale,
    /// A field belongs to somebody whom this API does not override.
    #[error("{field} belongs to {manager}")]
    Owned {
        /// The field, such as `spec.desiredState`.
        field: String,
        /// The manager that owns it.
        manager: String,
    },
    /// The call failed.
    #[error(transparent)]
    Cluster(ClusterError),
    /// The new spec could not be written as JSON.
    #[error("failed to serialize the agent")]
    Unserializable(#[source] serde_json::Error),
}

impl ApplyError {
    /// What it says to whoever tries again later.
    pub fn into_words(self) -> String {
        match self {
            Self::Cluster(error) => error.into_problem().detail().to_owned(),
            error => error.to_string(),
        }
    }

    /// What the caller of this API reads.
    pub fn into_problem(self) -> Problem {
        match self {
            Self::Stale => {
                Problem::conflict("Changing", "the resource keeps changing; nothing was written")
                    .remedy("try again")
            }
            Self::Owned { field, manager } => Problem::conflict(
                "FieldOwnedElsewhere",
                format!("{field} is owned by field manager {manager:?}, which this API does not override"),
            )
            .field(field.trim_start_matches("spec.").to_owned())
            .remedy(format!(
                "change {field} where {manager:?} writes it, or remove it there so that this API may own it"
            )),
            Self::Cluster(error) => error.into_problem(),
            Self::Unserializable(error) => Problem::bug(error),
        }
    }
}

/// What harnesses report and this API writes to an agent's status. All three fields
/// are always given: what an apply leaves out, it takes away.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Reported {
    /// Last sign of life.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub last_heartbeat: Option<Time>,
    /// How full the model's context is, in tens.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub context_percent: Option<i64>,
    /// Document of the newest plan.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub plan_document_id: Option<String>,
}

/// What harnesses report of a coding run: all of it, for what an apply leaves out, it
/// takes away.
#[derive(Debug, Serialize)]
struct RunReported<'a> {
    reported: &'a coding_run::Reported,
}

/// What a tool server answered, all of it.
#[derive(Debug, Serialize)]
struct ServerReported<'a> {
    reported: &'a ToolServerReport,
}

#[derive(Debug, Serialize)]
struct Body<'a, S> {
    #[serde(rename = "apiVersion")]
    api_version: String,
    kind: String,
    metadata: Metadata<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    spec: Option<Map<String, Value>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    status: Option<S>,
}

#[derive(Debug, Serialize)]
#[serde(rename_all = "camelCase")]
struct Metadata<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    resource_version: Option<&'a str>,
}

impl Cluster {
    /// Creates an agent.
    pub async fn create_agent(&self, agent: &Agent) -> Result<Agent, ClusterError> {
        let namespace = agent.namespace().unwrap_or_default();
        let api: Api<Agent> = Api::namespaced(self.client.clone(), &namespace);
        let params = PostParams {
            field_manager: Some(manager::API_EDIT.to_owned()),
            ..PostParams::default()
        };
        let attempted = format!("create agent {}", agent.name_any());
        in_time(attempted, api.create(&params, agent)).await
    }

    /// Creates a coding run (ROUTE-14).
    pub async fn create_coding_run(&self, run: &CodingRun) -> Result<CodingRun, ClusterError> {
        let namespace = run.namespace().unwrap_or_default();
        let api: Api<CodingRun> = Api::namespaced(self.client.clone(), &namespace);
        let params = PostParams {
            field_manager: Some(manager::API_EDIT.to_owned()),
            ..PostParams::default()
        };
        let attempted = format!("create coding run {}", run.name_any());
        in_time(attempted, api.create(&params, run)).await
    }

    /// Creates a swarm (SWARM-01).
    pub async fn create_swarm(&self, swarm: &Swarm) -> Result<Swarm, ClusterError> {
        let namespace = swarm.namespace().unwrap_or_default();
        let api: Api<Swarm> = Api::namespaced(self.client.clone(), &namespace);
        let params = PostParams {
            field_manager: Some(manager::API_EDIT.to_owned()),
            ..PostParams::default()
        };
        let attempted = format!("create swarm {}", swarm.name_any());
        in_time(attempted, api.create(&params, swarm)).await
    }

    /// Dismisses a swarm as it was read. That field is all this API ever writes of it.
    pub async fn dismiss_swarm(&self, read: &Swarm) -> Result<Swarm, ApplyError> {
        let (namespace, name) = (read.namespace().unwrap_or_default(), read.name_any());
        let body = Body::<()> {
            api_version: Swarm::api_version(&()).into_owned(),
            kind: Swarm::kind(&()).into_owned(),
            metadata: Metadata {
                name: &name,
                resource_version: read.meta().resource_version.as_deref(),
            },
            spec: Some(Map::from_iter([("dismissed".to_owned(), Value::Bool(true))])),
            status: None,
        };
        self.apply(&namespace, manager::API_VERBS, &name, &body, Part::Spec).await
    }

    /// Changes the spec of an agent as it was read, under one manager: what `change`
    /// changes and what the manager already owns, nothing else.
    pub async fn change_spec(
        &self,
        read: &Agent,
        manager: &'static str,
        change: impl FnOnce(&mut AgentSpec),
    ) -> Result<Agent, ApplyError> {
        let mut spec = read.spec.clone();
        change(&mut spec);
        if spec == read.spec {
            return Ok(read.clone());
        }
        let before = fields(&read.spec)?;
        let mut after = fields(&spec)?;
        for (name, _) in before.iter().filter(|(_, value)| value.is_array()) {
            // A list that became empty is said to be: left out of an apply, it would stay
            // as whoever else owns it, a create among them, wrote it.
            after.entry(name).or_insert_with(|| Value::Array(Vec::new()));
        }
        let owned = owned_fields(read, manager);
        let applied = after
            .into_iter()
            .filter(|(name, value)| before.get(name) != Some(value) || owned.contains(name))
            .collect();
        let name = read.name_any();
        let body = Body::<()> {
            api_version: Agent::api_version(&()).into_owned(),
            kind: Agent::kind(&()).into_owned(),
            // The version read guards against a writer in between.
            metadata: Metadata {
                name: &name,
                resource_version: read.meta().resource_version.as_deref(),
            },
            spec: Some(applied),
            status: None,
        };
        let namespace = read.namespace().unwrap_or_default();
        self.apply(&namespace, manager, &name, &body, Part::Spec).await
    }

    /// Writes what harnesses reported to an agent's status.
    pub async fn report_status(
        &self,
        namespace: &str,
        name: &str,
        reported: &Reported,
    ) -> Result<Agent, ApplyError> {
        let metadata = Metadata { name, resource_version: None };
        self.apply_status(namespace, metadata, reported).await
    }

    /// Writes what a harness reported to the status of its coding run, as long as the
    /// run is as it was read.
    pub async fn report_run_status(
        &self,
        read: &CodingRun,
        reported: &coding_run::Reported,
    ) -> Result<CodingRun, ApplyError> {
        let (namespace, name) = (read.namespace().unwrap_or_default(), read.name_any());
        let resource_version = read.meta().resource_version.as_deref();
        let metadata = Metadata { name: &name, resource_version };
        self.apply_status(&namespace, metadata, RunReported { reported }).await
    }

    /// Writes what a tool server answered to its status, as long as it is as it was read.
    pub async fn report_tool_server(
        &self,
        read: &ToolServer,
        reported: &ToolServerReport,
    ) -> Result<(), ApplyError> {
        let (namespace, name) = (read.namespace().unwrap_or_default(), read.name_any());
        let resource_version = read.meta().resource_version.as_deref();
        let metadata = Metadata { name: &name, resource_version };
        let applied =
            self.apply_status::<ToolServer>(&namespace, metadata, ServerReported { reported });
        applied.await.map(drop)
    }

    async fn apply_status<K: Readable>(
        &self,
        namespace: &str,
        metadata: Metadata<'_>,
        status: impl Serialize + fmt::Debug + Sync,
    ) -> Result<K, ApplyError> {
        let name = metadata.name;
        let body = Body {
            api_version: K::api_version(&()).into_owned(),
            kind: K::kind(&()).into_owned(),
            metadata,
            spec: None,
            status: Some(status),
        };
        self.apply(namespace, manager::API_REPORTED, name, &body, Part::Status).await
    }

    /// Applies without force; by force only when every manager in the way is ours.
    async fn apply<K: Readable>(
        &self,
        namespace: &str,
        manager: &'static str,
        name: &str,
        body: &Body<'_, impl Serialize + fmt::Debug + Sync>,
        part: Part,
    ) -> Result<K, ApplyError> {
        let polite = PatchParams::apply(manager);
        let conflict = match self.patch(namespace, name, &polite, body, part).await {
            Ok(applied) => return Ok(applied),
            Err(error) => match error.status() {
                Some(status) if status.is_conflict() => Conflict::of(status),
                _ => return Err(ApplyError::Cluster(error)),
            },
        };
        match conflict {
            Conflict::Version => Err(ApplyError::Stale),
            Conflict::Owned { field, manager } => Err(ApplyError::Owned { field, manager }),
            Conflict::Ours => {
                let forced = self.patch(namespace, name, &polite.force(), body, part).await;
                forced.map_err(|error| match error.status() {
                    Some(status) if status.is_conflict() => ApplyError::Stale,
                    _ => ApplyError::Cluster(error),
                })
            }
        }
    }

    #[expect(clippy::disallowed_methods, reason = "this is the apply module")]
    async fn patch<K: Readable>(
        &self,
        namespace: &str,
        name: &str,
        params: &PatchParams,
        body: &Body<'_, impl Serialize + fmt::Debug + Sync>,
        part: Part,
    ) -> Result<K, ClusterError> {
        let api: Api<K> = Api::namespaced(self.client.clone(), namespace);
        let kind = K::kind(&()).to_lowercase();
        let patch = Patch::Apply(body);
        match part {
            Part::Spec => {
                in_time(format!("apply {kind} {name}"), api.patch(name, params, &patch)).await
            }
            Part::Status => {
                let attempted = format!("apply status of {kind} {name}");
                in_time(attempted, api.patch_status(name, params, &patch)).await
            }
        }
    }
}

/// Which half of the object is written.
#[derive(Clone, Copy)]
enum Part {
    Spec,
    Status,
}

/// What a 409 means.
#[derive(Debug, PartialEq, Eq)]
enum Conflict {
    /// The object is no longer at the version that was read.
    Version,
    /// Only managers of our registry are in the way.
    Ours,
    /// Somebody else owns a field.
    Owned { field: String, manager: String },
}

impl Conflict {
    fn of(status: &Status) -> Self {
        let causes = status.details.as_ref().map_or(&[][..], |details| &details.causes);
        let owners = causes
            .iter()
            .filter(|cause| cause.reason == "FieldManagerConflict")
            .map(|cause| (cause.field.trim_start_matches('.'), conflicting_manager(&cause.message)))
            .collect::<Vec<_>>();
        if owners.is_empty() {
            return Self::Version;
        }
        match owners.into_iter().find(|(_, owner)| !manager::ALL.contains(owner)) {
            None => Self::Ours,
            Some((field, owner)) => {
                Self::Owned { field: field.to_owned(), manager: owner.to_owned() }
            }
        }
    }
}

/// The name between quotes in `conflict with "NAME" using …`.
fn conflicting_manager(message: &str) -> &str {
    message.split('"').nth(1).unwrap_or(message)
}

fn fields(spec: &AgentSpec) -> Result<Map<String, Value>, ApplyError> {
    match serde_json::to_value(spec).map_err(ApplyError::Unserializable)? {
        Value::Object(fields) => Ok(fields),
        _ => Ok(Map::new()),
    }
}

/// Top-level spec fields that this manager has applied before: to leave one out of the
/// next apply would take it away.
fn owned_fields(agent: &Agent, manager: &str) -> BTreeSet<String> {
    agent
        .managed_fields()
        .iter()
        .filter(|entry| {
            entry.manager.as_deref() == Some(manager)
                && entry.operation.as_deref() == Some("Apply")
                && entry.subresource.as_deref().unwrap_or_default().is_empty()
        })
        .filter_map(|entry| entry.fields_v1.as_ref()?.0.get("f:spec")?.as_object())
        .flat_map(|fields| fields.keys())
        .filter_map(|key| key.strip_prefix("f:").map(str::to_owned))
        .collect()
}

#[cfg(test)]
mod tests;
