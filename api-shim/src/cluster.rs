//! The cluster as the API uses it: lists come from a cache, one object is read from
//! the API server, and every write goes through [`apply`].

pub mod apply;
mod cache;
mod error;
mod watch;

use std::{fmt::Debug, future::Future, sync::Arc, time::Duration};

use foundry_crds::{Agent, CodingRun, Harness, Model, Swarm, ToolServer};
use k8s_openapi::{
    NamespaceResourceScope,
    api::{
        authentication::v1::{TokenReview, TokenReviewStatus},
        core::v1::Secret,
    },
};
use kube::{Api, Client, Resource, api::PostParams};
use secrecy::SecretString;
use serde::de::DeserializeOwned;
use tokio_util::{sync::CancellationToken, task::TaskTracker};

pub use self::{
    cache::{CACHE_LAG, Cache, Deletions},
    error::ClusterError,
};
use crate::problem::Problem;

/// How long one call to the API server may take. The client never retries by itself:
/// whoever waits for this API would wait on.
const CALL_DEADLINE: Duration = Duration::from_secs(5);

/// Kinds that can be read by name.
pub trait Readable:
    Resource<DynamicType = (), Scope = NamespaceResourceScope>
    + Clone
    + Debug
    + DeserializeOwned
    + Send
    + Sync
    + 'static
{
}

impl<K> Readable for K where
    K: Resource<DynamicType = (), Scope = NamespaceResourceScope>
        + Clone
        + Debug
        + DeserializeOwned
        + Send
        + Sync
        + 'static
{
}

/// The cluster.
pub struct Cluster {
    client: Client,
    namespaces: Vec<String>,
    /// Agents of every workspace.
    pub agents: Cache<Agent>,
    /// Models of every workspace.
    pub models: Cache<Model>,
    /// Harnesses of every workspace.
    pub harnesses: Cache<Harness>,
    /// Coding runs of every workspace.
    pub coding_runs: Cache<CodingRun>,
    /// Swarms of every workspace.
    pub swarms: Cache<Swarm>,
    /// Tool servers of every workspace.
    pub tool_servers: Cache<ToolServer>,
}

impl Cluster {
    /// Starts to watch these namespaces, which are the workspaces. There is at least
    /// one; the configuration sees to that. Deleted agents are told to `deleted`.
    pub fn start(
        client: Client,
        namespaces: Vec<String>,
        tasks: &TaskTracker,
        shutdown: &CancellationToken,
        deleted: &Deletions,
    ) -> Arc<Self> {
        Arc::new(Self {
            agents: Cache::start(&client, &namespaces, tasks, shutdown, Some(deleted)),
            models: Cache::start(&client, &namespaces, tasks, shutdown, None),
            harnesses: Cache::start(&client, &namespaces, tasks, shutdown, None),
            coding_runs: Cache::start(&client, &namespaces, tasks, shutdown, None),
            swarms: Cache::start(&client, &namespaces, tasks, shutdown, None),
            tool_servers: Cache::start(&client, &namespaces, tasks, shutdown, None),
            client,
            namespaces,
        })
    }

    /// Waits until every list is whole.
    pub async fn ready(&self) {
        self.agents.ready().await;
        self.models.ready().await;
        self.harnesses.ready().await;
        self.coding_runs.ready().await;
        self.swarms.ready().await;
        self.tool_servers.ready().await;
    }

    /// The kinds whose list is not whole yet.
    pub fn unready(&self) -> Vec<&'static str> {
        [
            ("agents", self.agents.is_ready()),
            ("models", self.models.is_ready()),
            ("harnesses", self.harnesses.is_ready()),
            ("codingruns", self.coding_runs.is_ready()),
            ("swarms", self.swarms.is_ready()),
            ("toolservers", self.tool_servers.is_ready()),
        ]
        .into_iter()
        .filter_map(|(kind, ready)| (!ready).then_some(kind))
        .collect()
    }

    /// The named workspace, if it is one.
    pub fn workspace(&self, name: &str) -> Result<String, Problem> {
        if self.namespaces.iter().any(|namespace| namespace == name) {
            return Ok(name.to_owned());
        }
        Err(Problem::forbidden("NoSuchWorkspace", format!("{name:?} is no workspace here"))
            .remedy("use a workspace that this API watches (FOUNDRY_WATCH_NAMESPACES)"))
    }

    /// Every workspace.
    pub fn workspaces(&self) -> &[String] {
        &self.namespaces
    }

    /// The workspace of a service that names none.
    pub fn default_workspace(&self) -> String {
        self.namespaces.first().cloned().unwrap_or_default()
    }

    /// The agent from the cache, or from the API server when it is too new for the
    /// cache; 404 when there is none.
    pub async fn find_agent(&self, workspace: &str, id: &str) -> Result<Agent, Problem> {
        match self.agents.get(workspace, id) {
            Some(agent) => Ok(agent),
            None => self.read_agent(workspace, id).await,
        }
    }

    /// The agent as the API server has it now; 404 when there is none.
    pub async fn read_agent(&self, workspace: &str, id: &str) -> Result<Agent, Problem> {
        self.read(workspace, id).await?.ok_or_else(|| Problem::not_found("agent", id))
    }

    /// One object as the API server has it now.
    pub async fn read<K: Readable>(
        &self,
        namespace: &str,
        name: &str,
    ) -> Result<Option<K>, Problem> {
        // A path segment that is no name would ask the API server something else.
        if !is_name(name) {
            return Ok(None);
        }
        let api: Api<K> = Api::namespaced(self.client.clone(), namespace);
        in_time(format!("read {} {name}", K::kind(&())), api.get_opt(name))
            .await
            .map_err(ClusterError::into_problem)
    }

    /// Asks the API server whose token this is.
    pub async fn review_token(&self, review: &TokenReview) -> Result<TokenReviewStatus, Problem> {
        let api: Api<TokenReview> = Api::all(self.client.clone());
        let answer = in_time("review token", api.create(&PostParams::default(), review)).await;
        answer.map(|review| review.status.unwrap_or_default()).map_err(ClusterError::into_problem)
    }

    /// One key of a Secret: read where it is used, kept nowhere.
    pub async fn secret(
        &self,
        namespace: &str,
        name: &str,
        key: &str,
    ) -> Result<Option<SecretString>, Problem> {
        let secret: Option<Secret> = self.read(namespace, name).await?;
        let bytes = secret.and_then(|secret| secret.data).and_then(|mut data| data.remove(key));
        Ok(bytes
            .and_then(|bytes| String::from_utf8(bytes.0).ok())
            .map(|text| SecretString::from(text.trim())))
    }
}

/// Runs one call to the API server within the deadline.
pub(crate) async fn in_time<T>(
    attempted: impl Into<String>,
    call: impl Future<Output = kube::Result<T>>,
) -> Result<T, ClusterError> {
    match tokio::time::timeout(CALL_DEADLINE, call).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(error)) => Err(ClusterError::new(attempted.into(), error)),
        Err(_) => Err(ClusterError::TimedOut { attempted: attempted.into() }),
    }
}

/// Whether this can be the name of an object: a DNS subdomain.
fn is_name(name: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    !name.is_empty()
        && name.len() <= 253
        && name.split('.').all(|label| !label.is_empty() && label.bytes().all(allowed))
}
