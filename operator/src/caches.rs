//! What the watches show: one cache a kind and namespace.
//!
//! The one module that uses kube's unstable stream controls. Every typed watch
//! survives objects that do not decode, drops managed fields, backs off on errors
//! and notices a dead connection within a minute.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use foundry_crds::{Agent, CodingRun, Harness, Skill, Swarm, ToolServer, meta};
use futures::{Stream, TryStreamExt as _};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{Api, ObjectMeta};
use kube::core::DeserializeGuard;
use kube::runtime::WatchStreamExt as _;
use kube::runtime::reflector::{self, ObjectRef, Store};
use kube::runtime::watcher::{self, watcher};
use kube::{Client, Resource};
use serde::de::DeserializeOwned;
use tokio::sync::watch;
use tokio::time::Instant;

use crate::error::Error;
use crate::members::{self, Members};
use crate::runtime::workload;
use crate::slugs::Slugs;
use crate::users::{self, Users};
use crate::versions::{self, Lost, Versions};
use crate::wakes::Wakes;
use crate::{skill, tool_server};

/// Seconds after which a silent watch is asked again.
pub const WATCH_SECONDS: u32 = 50;
/// Objects a page of a list.
const PAGE: u32 = 200;

/// How long after its watch began a first list is waited for that a reconcile can do without.
pub const SOON: Duration = Duration::from_secs(2);

/// Where kubectl keeps a copy of what it applied.
const LAST_APPLIED: &str = "kubectl.kubernetes.io/last-applied-configuration";

/// An object that may not decode.
pub type Guard<K> = DeserializeGuard<K>;

/// The caches of one namespace that agents are reconciled from.
#[derive(Clone)]
pub struct Caches {
    /// Agents.
    pub agents: Cache<Agent>,
    /// Harnesses.
    pub harnesses: Cache<Harness>,
    /// Deployments the operator made.
    pub deployments: Children<Deployment>,
    /// Jobs the operator made.
    pub jobs: Children<Job>,
    /// Pods of harnesses.
    pub pods: Children<Pod>,
    /// Coding runs; not among those that agents wait for.
    pub runs: Cache<CodingRun>,
    /// Swarms; not among those that agents wait for.
    pub swarms: Cache<Swarm>,
    /// Which agents say that they are a Swarm's own.
    pub agents_of_swarms: Arc<Members>,
    /// Skills: their versions and no content; not among those that all agents wait for.
    pub skills: Cache<Skill>,
    /// Tool servers; not among those that all agents wait for.
    pub tool_servers: Cache<ToolServer>,
    /// Stored versions of agents.
    pub versions: Arc<Versions>,
}

/// The objects of one kind in one namespace, as the watch shows them.
#[derive(Clone)]
pub struct Cache<K: Resource<DynamicType = ()> + Clone + 'static> {
    store: Store<Guard<K>>,
    // The store's own `wait_until_ready` wakes only the last of its waiters.
    whole: watch::Receiver<bool>,
    soon: Instant,
}

impl<K> Cache<K>
where
    K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope> + Clone + 'static,
{
    /// An object by name.
    pub fn get(&self, namespace: &str, name: &str) -> Option<Arc<Guard<K>>> {
        self.store.get(&ObjectRef::new(name).within(namespace))
    }

    /// All objects.
    pub fn all(&self) -> Vec<Arc<Guard<K>>> {
        self.store.state()
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.store.is_empty()
    }

    /// The store itself, for a controller.
    pub fn store(&self) -> Store<Guard<K>> {
        self.store.clone()
    }

    /// Whether the first list is complete: until then, what is not there is not gone.
    pub fn is_whole(&self) -> bool {
        *self.whole.borrow()
    }

    /// Whether the first list is complete, or is a moment after the watch began: for what
    /// can do without. One that never comes holds nobody up after that.
    pub async fn is_whole_soon(&self) -> bool {
        let whole = tokio::time::timeout_at(self.soon, self.wait_until_whole()).await;
        self.is_whole() || whole.is_ok_and(|whole| whole.is_ok())
    }

    async fn wait_until_whole(&self) -> Result<(), Error> {
        let whole = self.whole.clone().wait_for(|whole| *whole).await.map(drop);
        whole.map_err(|_| Error::CachesNotReady)
    }
}

/// Waits until the first list of each of these caches is complete.
pub async fn wait_until_whole<K>(caches: &[Cache<K>]) -> Result<(), Error>
where
    K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope> + Clone + 'static,
{
    for cache in caches {
        cache.wait_until_whole().await?;
    }
    Ok(())
}

/// A cache of objects that belong to agents, with an index by agent.
#[derive(Clone)]
pub struct Children<K: Resource<DynamicType = ()> + Clone + 'static> {
    cache: Cache<K>,
    members: Arc<Members>,
}

impl<K> Children<K>
where
    K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope> + Clone + 'static,
{
    /// The objects that carry this agent's label.
    pub fn of(&self, namespace: &str, agent: &str) -> Vec<Arc<Guard<K>>> {
        let names = self.members.of(agent);
        names.iter().filter_map(|name| self.cache.get(namespace, name)).collect()
    }

    /// Whether there is none, whosever.
    pub fn is_empty(&self) -> bool {
        self.cache.is_empty()
    }
}

/// A stream of objects that changed, which fills a cache as it is read.
pub type Changes<K> =
    std::pin::Pin<Box<dyn Stream<Item = Result<Guard<K>, watcher::Error>> + Send>>;

/// The streams that fill [`Caches`].
pub struct Streams {
    /// Agents that changed.
    pub agents: Changes<Agent>,
    /// Harnesses that changed.
    pub harnesses: Changes<Harness>,
    /// Deployments that changed.
    pub deployments: Changes<Deployment>,
    /// Jobs that changed.
    pub jobs: Changes<Job>,
    /// Pods that changed.
    pub pods: Changes<Pod>,
    /// Coding runs that changed.
    pub runs: Changes<CodingRun>,
    /// Coding runs whose agent or Harness changed.
    pub wakes: Arc<Wakes>,
    /// Swarms that changed.
    pub swarms: Changes<Swarm>,
    /// Swarms of which an agent, the parent or a Harness changed.
    pub swarm_wakes: Arc<Wakes>,
    /// Skills that changed.
    pub skills: Changes<Skill>,
    /// Tool servers that changed.
    pub tool_servers: Changes<ToolServer>,
    /// Stored versions of agents that went.
    pub lost_versions: Lost,
    /// Agents whose skills or tool servers changed.
    pub users: Arc<Wakes>,
}

/// Begins to watch one namespace.
pub fn watch_namespace(client: &Client, namespace: &str, slugs: &Arc<Slugs>) -> (Caches, Streams) {
    let ours = format!("{}={}", meta::label::MANAGED_BY, meta::label::MANAGED_BY_OPERATOR);
    let (runs, run_changes) =
        watch_kind(client, namespace, settings(None), |_| {}, |_: &mut CodingRun| {});
    let wakes = Arc::new(Wakes::default());
    let swarms_of_parents = Arc::new(Members::default());
    let by_parent = Arc::clone(&swarms_of_parents);
    let (swarms, swarm_changes) = watch_kind(
        client,
        namespace,
        settings(None),
        move |event| by_parent.note(event, parent_of_swarm),
        |_: &mut Swarm| {},
    );
    let swarm_wakes = Arc::new(Wakes::default());
    let noted = Arc::clone(slugs);
    let agents_of_swarms = Arc::new(Members::default());
    let by_swarm = Arc::clone(&agents_of_swarms);
    let of_agents = Dependents {
        runs: runs.clone(),
        wakes: Arc::clone(&wakes),
        swarms: swarms.clone(),
        swarms_of_parents,
        swarm_wakes: Arc::clone(&swarm_wakes),
    };
    let of_harnesses = of_agents.clone();
    let users = Arc::new(Users::default());
    let (noted_agents, noted_skills, noted_servers) =
        (Arc::clone(&users), Arc::clone(&users), Arc::clone(&users));
    let (agents, agent_changes) = watch_kind(
        client,
        namespace,
        settings(None),
        move |event| {
            noted.note(event);
            by_swarm.note(event, swarm_of_agent);
            of_agents.note_agent(event);
            noted_agents.note_agent(event);
        },
        |_: &mut Agent| {},
    );
    let (harnesses, harness_changes) = watch_kind(
        client,
        namespace,
        settings(None),
        move |event| of_harnesses.note_harness(event),
        |_: &mut Harness| {},
    );
    let (deployments, deployment_changes) =
        watch_children(client, namespace, &ours, prune_deployment);
    let (jobs, job_changes) = watch_children(client, namespace, &ours, prune_job);
    let (pods, pod_changes) = watch_children(client, namespace, &ours, prune_pod);
    let (skills, skill_changes) = watch_kind(
        client,
        namespace,
        settings(None),
        move |event| noted_skills.note(users::Kind::Skill, event, skill::versions),
        skill::prune,
    );
    let (tool_servers, tool_server_changes) = watch_kind(
        client,
        namespace,
        settings(None),
        move |event| noted_servers.note(users::Kind::ToolServer, event, |_| Vec::new()),
        tool_server::prune,
    );
    let (versions, lost_versions) = versions::watch(client, namespace, &ours);
    (
        Caches {
            agents,
            harnesses,
            deployments,
            jobs,
            pods,
            runs,
            swarms,
            agents_of_swarms,
            skills,
            tool_servers,
            versions,
        },
        Streams {
            agents: agent_changes,
            harnesses: harness_changes,
            deployments: deployment_changes,
            jobs: job_changes,
            pods: pod_changes,
            runs: run_changes,
            wakes,
            swarms: swarm_changes,
            swarm_wakes,
            skills: skill_changes,
            tool_servers: tool_server_changes,
            lost_versions,
            users: Arc::clone(&users.wakes),
        },
    )
}

/// The coding runs and swarms of a namespace, to be looked at again with what they depend
/// on.
#[derive(Clone)]
struct Dependents {
    runs: Cache<CodingRun>,
    wakes: Arc<Wakes>,
    swarms: Cache<Swarm>,
    swarms_of_parents: Arc<Members>,
    swarm_wakes: Arc<Wakes>,
}

impl Dependents {
    fn note_agent(&self, event: &watcher::Event<Guard<Agent>>) {
        match event {
            watcher::Event::Apply(agent) | watcher::Event::Delete(agent) => {
                let ObjectMeta { namespace, name, .. } = agent.meta();
                if let (Some(namespace), Some(name)) = (namespace, name) {
                    self.wake_by_agent(namespace, name, swarm_of_agent(agent));
                }
            }
            watcher::Event::InitDone => self.wake(|_| true, |_| true),
            watcher::Event::Init | watcher::Event::InitApply(_) => {}
        }
    }

    /// A run and its agent have one name; a member of a swarm names it as its owner.
    fn wake_by_agent(&self, namespace: &str, agent: &str, swarm: Option<String>) {
        if self.runs.get(namespace, agent).is_some() {
            self.wakes.wake([agent.to_owned()]);
        }
        let swarms = swarm.into_iter().chain(self.swarms_of_parents.of(agent));
        self.swarm_wakes.wake(swarms.filter(|swarm| self.swarms.get(namespace, swarm).is_some()));
    }

    fn note_harness(&self, event: &watcher::Event<Guard<Harness>>) {
        match event {
            watcher::Event::Apply(harness) | watcher::Event::Delete(harness) => {
                let name = harness.meta().name.as_deref().unwrap_or_default();
                self.wake(
                    |run| run.spec.harness() == name,
                    |swarm| swarm.spec.members.iter().any(|member| member.harness == name),
                );
            }
            watcher::Event::InitDone => self.wake(|_| true, |_| true),
            watcher::Event::Init | watcher::Event::InitApply(_) => {}
        }
    }

    /// After a new list, which may hold any change, these are all.
    fn wake(&self, runs: impl Fn(&CodingRun) -> bool, swarms: impl Fn(&Swarm) -> bool) {
        self.wakes.wake(names(&self.runs, runs));
        self.swarm_wakes.wake(names(&self.swarms, swarms));
    }
}

/// Names of the objects of a cache that `which` picks.
fn names<K>(cache: &Cache<K>, which: impl Fn(&K) -> bool) -> Vec<String>
where
    K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope> + Clone + 'static,
{
    let objects = cache.all();
    let objects = objects.iter().filter_map(|object| object.0.as_ref().ok());
    objects.filter(|object| which(object)).filter_map(|it| it.meta().name.clone()).collect()
}

/// The swarm that an agent names as its owner: a hint, for a swarm looks at UIDs too.
fn swarm_of_agent(agent: &Guard<Agent>) -> Option<String> {
    let owner = workload::controller(agent.meta())?;
    (owner.kind == Swarm::kind(&())).then(|| owner.name.clone())
}

/// The agent that started a swarm.
fn parent_of_swarm(swarm: &Guard<Swarm>) -> Option<String> {
    swarm.0.as_ref().ok().map(|swarm| swarm.spec.parent.clone())
}

impl Caches {
    /// Kinds whose first list is not complete, of those that are waited for.
    pub fn unread(&self) -> Vec<&'static str> {
        let Self { agents, harnesses, deployments, jobs, pods, .. } = self;
        let kinds = [
            ("Agent", agents.is_whole()),
            ("Harness", harnesses.is_whole()),
            ("Deployment", deployments.cache.is_whole()),
            ("Job", jobs.cache.is_whole()),
            ("Pod", pods.cache.is_whole()),
        ];
        kinds.into_iter().filter(|(_, is_whole)| !is_whole).map(|(kind, _)| kind).collect()
    }

    /// Waits until every first list is complete: what is not there yet is not gone.
    pub async fn wait_until_whole(&self) -> Result<(), Error> {
        // A cluster without the kinds of runs, swarms, skills or tool servers has agents all
        // the same.
        let Self { agents, harnesses, deployments, jobs, pods, .. } = self;
        agents.wait_until_whole().await?;
        harnesses.wait_until_whole().await?;
        deployments.cache.wait_until_whole().await?;
        jobs.cache.wait_until_whole().await?;
        pods.cache.wait_until_whole().await
    }
}

fn watch_children<K>(
    client: &Client,
    namespace: &str,
    labels: &str,
    prune: impl Fn(&mut K) + Send + Clone + 'static,
) -> (Children<K>, Changes<K>)
where
    K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
        + DeserializeOwned
        + Clone
        + Debug
        + Send
        + Sync
        + 'static,
{
    let members = Arc::new(Members::default());
    let noted = Arc::clone(&members);
    let (cache, changes) = watch_kind(
        client,
        namespace,
        settings(Some(labels)),
        move |event| noted.note(event, members::labelled_agent),
        prune,
    );
    (Children { cache, members }, changes)
}

/// Begins to watch one kind, keeping of each object what `prune` leaves; `note` hears of
/// each event when the cache shows it.
pub fn watch_kind<K>(
    client: &Client,
    namespace: &str,
    settings: watcher::Config,
    note: impl Fn(&watcher::Event<Guard<K>>) + Send + 'static,
    prune: impl Fn(&mut K) + Send + Clone + 'static,
) -> (Cache<K>, Changes<K>)
where
    K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
        + DeserializeOwned
        + Clone
        + Debug
        + Send
        + Sync
        + 'static,
{
    let (store, writer) = reflector::store();
    let (is_whole, whole) = watch::channel(false);
    let changes = watcher(Api::<Guard<K>>::namespaced(client.clone(), namespace), settings)
        .default_backoff()
        .modify(move |object| {
            slim(object.meta_mut());
            if let Ok(object) = &mut object.0 {
                prune(object);
            }
        })
        .reflect(writer)
        .inspect_ok(move |event| {
            note(event);
            if matches!(event, watcher::Event::InitDone) {
                is_whole.send_replace(true);
            }
        })
        .touched_objects();
    let soon = Instant::now() + SOON;
    (Cache { store, whole, soon }, Box::pin(changes))
}

/// How every watch is made.
pub fn settings(labels: Option<&str>) -> watcher::Config {
    let settings = watcher::Config::default().timeout(WATCH_SECONDS).page_size(PAGE);
    match labels {
        Some(labels) => settings.labels(labels),
        None => settings,
    }
}

/// Of metadata, what is not another copy of the object.
fn slim(metadata: &mut ObjectMeta) {
    metadata.managed_fields = None;
    if let Some(annotations) = &mut metadata.annotations {
        annotations.remove(LAST_APPLIED);
    }
}

/// Of a Deployment, all but what its pods are made of.
fn prune_deployment(deployment: &mut Deployment) {
    if let Some(spec) = &mut deployment.spec {
        spec.template.spec = None;
    }
}

/// Of a Job, all but what its pods are made of.
fn prune_job(job: &mut Job) {
    if let Some(spec) = &mut job.spec {
        spec.template.spec = None;
    }
}

/// Of a Pod, what says how it fares and whose it is.
fn prune_pod(pod: &mut Pod) {
    pod.spec = None;
}
