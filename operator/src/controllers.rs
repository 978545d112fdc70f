//! The controllers: one a kind and watched namespace, over the caches.

use std::fmt::Debug;
use std::future::Future;
use std::sync::Arc;
use std::time::Duration;

use foundry_crds::{Agent, Harness, meta};
use futures::future::BoxFuture;
use futures::{Stream, StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::batch::v1::Job;
use k8s_openapi::api::core::v1::Pod;
use kube::runtime::controller::{self, Action, Controller};
use kube::runtime::reflector::{ObjectRef, Store};
use kube::runtime::utils::Backoff;
use kube::{Client, Resource, ResourceExt as _};
use serde::de::DeserializeOwned;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;
use tracing::Instrument as _;

use crate::caches::{self, Cache, Caches, Changes, Guard, Streams};
use crate::context::Context;
use crate::error::{Class, Error, chain};
use crate::metrics::{Metrics, Pass};
use crate::versions::{Lost, Mark};
use crate::wakes::Wakes;
use crate::{agent, coding_run, harness, model, skill, swarm, tool_server, traces};

/// Agents reconciled at once in one namespace.
const AGENTS_AT_ONCE: u16 = 16;
/// Runs, and swarms, reconciled at once in one namespace.
const DEPENDENTS_AT_ONCE: u16 = 8;
/// Objects of the other kinds reconciled at once in one namespace.
const OTHERS_AT_ONCE: u16 = 4;

/// How soon a failed reconcile is tried again; ever more slowly while it fails.
const FIRST_AGAIN: Duration = Duration::from_millis(500);
/// How soon one that met a conflict is: the cache is about to know what was written.
const CONFLICT_AGAIN: Duration = Duration::from_millis(100);

/// Runs the controllers of one namespace until told to stop; what is being
/// reconciled then is finished first.
pub fn run(
    client: &Client,
    namespace: &str,
    streams: Streams,
    context: &Arc<Context>,
    stop: &CancellationToken,
) -> Vec<BoxFuture<'static, ()>> {
    let Streams {
        agents,
        harnesses,
        deployments,
        jobs,
        pods,
        runs,
        wakes,
        swarms,
        swarm_wakes,
        skills,
        tool_servers,
        lost_versions,
        users,
    } = streams;
    let of_agents = OfAgents { agents, harnesses, deployments, jobs, pods, lost_versions, users };
    let caches = context.caches.get(namespace);
    let skill_store = caches.map(|caches| caches.skills.store());
    let server_store = caches.map(|caches| caches.tool_servers.store());
    vec![
        Box::pin(self::agents(namespace, of_agents, context, stop)),
        Box::pin(dependents(
            Dependents { kind: "codingrun", changes: runs, wakes, cache: |it| &it.runs },
            coding_run::reconcile,
            namespace,
            context,
            stop,
        )),
        Box::pin(dependents(
            Dependents {
                kind: "swarm",
                changes: swarms,
                wakes: swarm_wakes,
                cache: |it| &it.swarms,
            },
            swarm::reconcile,
            namespace,
            context,
            stop,
        )),
        Box::pin(alone("harness", harness::reconcile, client, namespace, context, stop)),
        Box::pin(alone("model", model::reconcile, client, namespace, context, stop)),
        Box::pin(over("skill", skill::reconcile, skills, skill_store, context, stop)),
        Box::pin(over(
            "toolserver",
            tool_server::reconcile,
            tool_servers,
            server_store,
            context,
            stop,
        )),
    ]
}

/// What the controller of agents looks at.
struct OfAgents {
    agents: Changes<Agent>,
    harnesses: Changes<Harness>,
    deployments: Changes<Deployment>,
    jobs: Changes<Job>,
    pods: Changes<Pod>,
    lost_versions: Lost,
    users: Arc<Wakes>,
}

fn agents(
    namespace: &str,
    streams: OfAgents,
    context: &Arc<Context>,
    stop: &CancellationToken,
) -> impl Future<Output = ()> + use<> {
    let OfAgents { agents, harnesses, deployments, jobs, pods, lost_versions, users } = streams;
    let store = context.caches.get(namespace).map(|caches| caches.agents.store());
    let context = Arc::clone(context);
    let stop = stop.clone();
    let namespace = namespace.to_owned();
    async move {
        let Some(store) = store else { return };
        let users_of = users_of(store.clone());
        let told = told_of_mailboxes(&context, namespace.clone());
        let woken = users
            .stream()
            .map(move |name| ObjectRef::<Guard<Agent>>::new(&name).within(&namespace));
        let metrics = context.metrics.clone();
        Controller::for_stream(noted("agent", &metrics, agents), store)
            .with_config(controller::Config::default().concurrency(AGENTS_AT_ONCE))
            .trigger_backoff(Brief)
            .watches_stream(watched("harness", &metrics, harnesses), users_of)
            .reconcile_on(woken)
            .reconcile_on(told)
            .watches_stream(lost_versions, |it: Mark| agent_of(&it))
            .watches_stream(
                watched("deployment", &metrics, deployments),
                |it: Guard<Deployment>| agent_of(&it),
            )
            .watches_stream(watched("job", &metrics, jobs), |it: Guard<Job>| agent_of(&it))
            .watches_stream(watched("pod", &metrics, pods), |it: Guard<Pod>| agent_of(&it))
            .graceful_shutdown_on(stop.cancelled_owned())
            .run(
                |object, context| counted("agent", object, context, agent::reconcile),
                again::<Agent>,
                context,
            )
            .for_each(log)
            .await;
    }
}

/// Agents of whose mailboxes something new is known.
fn told_of_mailboxes(
    context: &Context,
    namespace: String,
) -> impl Stream<Item = ObjectRef<Guard<Agent>>> + Send + use<> {
    let wakes = context.mailboxes.as_ref().and_then(|mailboxes| mailboxes.wakes(&namespace));
    let names = wakes.map_or_else(|| stream::pending().boxed(), |wakes| wakes.stream().boxed());
    names.map(move |name| ObjectRef::<Guard<Agent>>::new(&name).within(&namespace))
}

/// A kind whose objects are carried out by agents: runs and swarms.
struct Dependents<K: Resource<DynamicType = ()> + Clone + 'static> {
    kind: &'static str,
    changes: Changes<K>,
    wakes: Arc<Wakes>,
    cache: fn(&Caches) -> &Cache<K>,
}

/// The controller of runs, or of swarms. Their agents and Harnesses are read from the
/// caches of the controller of agents, and it is from these caches that they are woken: a
/// watch of their own could be ahead of what a reconcile then reads.
fn dependents<K, F>(
    which: Dependents<K>,
    reconcile: fn(Arc<Guard<K>>, Arc<Context>) -> F,
    namespace: &str,
    context: &Arc<Context>,
    stop: &CancellationToken,
) -> impl Future<Output = ()> + use<K, F>
where
    K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
        + DeserializeOwned
        + Clone
        + Debug
        + Send
        + Sync
        + 'static,
    F: Future<Output = Result<Action, Error>> + Send + 'static,
{
    let Dependents { kind, changes, wakes, cache } = which;
    let store = context.caches.get(namespace).map(|caches| cache(caches).store());
    let context = Arc::clone(context);
    let stop = stop.clone();
    let namespace = namespace.to_owned();
    async move {
        let Some(store) = store else { return };
        let woken =
            wakes.stream().map(move |name| ObjectRef::<Guard<K>>::new(&name).within(&namespace));
        let metrics = context.metrics.clone();
        Controller::for_stream(noted(kind, &metrics, changes), store)
            .with_config(controller::Config::default().concurrency(DEPENDENTS_AT_ONCE))
            .trigger_backoff(Brief)
            .reconcile_on(woken)
            .graceful_shutdown_on(stop.cancelled_owned())
            .run(
                move |object, context| counted(kind, object, context, reconcile),
                again::<K>,
                context,
            )
            .for_each(log)
            .await;
    }
}

/// The controller of a kind that has nothing to do with any other.
fn alone<K, F>(
    kind: &'static str,
    reconcile: fn(Arc<Guard<K>>, Arc<Context>) -> F,
    client: &Client,
    namespace: &str,
    context: &Arc<Context>,
    stop: &CancellationToken,
) -> impl Future<Output = ()> + use<K, F>
where
    K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
        + DeserializeOwned
        + Clone
        + Debug
        + Send
        + Sync
        + 'static,
    F: Future<Output = Result<Action, Error>> + Send + 'static,
{
    let settings = caches::settings(None);
    let (cache, changes) = caches::watch_kind(client, namespace, settings, |_| {}, |_: &mut K| {});
    over(kind, reconcile, changes, Some(cache.store()), context, stop)
}

/// The controller of a kind over a cache that others read too.
fn over<K, F>(
    kind: &'static str,
    reconcile: fn(Arc<Guard<K>>, Arc<Context>) -> F,
    changes: Changes<K>,
    store: Option<Store<Guard<K>>>,
    context: &Arc<Context>,
    stop: &CancellationToken,
) -> impl Future<Output = ()> + use<K, F>
where
    K: Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
        + DeserializeOwned
        + Clone
        + Debug
        + Send
        + Sync
        + 'static,
    F: Future<Output = Result<Action, Error>> + Send + 'static,
{
    let context = Arc::clone(context);
    let stop = stop.clone();
    let metrics = context.metrics.clone();
    async move {
        let Some(store) = store else { return };
        Controller::for_stream(noted(kind, &metrics, changes), store)
            .with_config(controller::Config::default().concurrency(OTHERS_AT_ONCE))
            .trigger_backoff(Brief)
            .graceful_shutdown_on(stop.cancelled_owned())
            .run(
                move |object, context| counted(kind, object, context, reconcile),
                again::<K>,
                context,
            )
            .for_each(log)
            .await;
    }
}

/// The pause of all watches of a controller after one of them failed. Each watch
/// backs off by itself; a long pause here would let one that fails hold up the rest.
struct Brief;

impl Iterator for Brief {
    type Item = Duration;

    fn next(&mut self) -> Option<Duration> {
        Some(Duration::from_millis(10))
    }
}

impl Backoff for Brief {
    fn reset(&mut self) {}
}

/// Agents to look at when a Harness changes: those that name it.
fn users_of(
    agents: Store<Guard<Agent>>,
) -> impl Fn(Guard<Harness>) -> Vec<ObjectRef<Guard<Agent>>> + Send + Sync {
    move |harness| {
        let name = harness.name_any();
        agents
            .state()
            .iter()
            .filter(|agent| agent.0.as_ref().is_ok_and(|agent| agent.spec.harness == name))
            .map(|agent| ObjectRef::from_obj(&**agent))
            .collect()
    }
}

/// The agent to look at when a child changes. The label is a hint: what a child
/// truly belongs to is read from its owner.
fn agent_of<K: Resource>(child: &K) -> Option<ObjectRef<Guard<Agent>>> {
    let agent = child.meta().labels.as_ref()?.get(meta::label::AGENT)?;
    Some(ObjectRef::new(agent).within(child.meta().namespace.as_deref()?))
}

/// Runs a reconcile, counts it and resets its backoff when it went well.
async fn counted<K, F>(
    kind: &'static str,
    object: Arc<Guard<K>>,
    context: Arc<Context>,
    reconcile: impl FnOnce(Arc<Guard<K>>, Arc<Context>) -> F,
) -> Result<Action, Error>
where
    K: Resource,
    F: Future<Output = Result<Action, Error>>,
{
    // Never closed; and without a turn is better than not at all.
    let _turn = context.turns.acquire().await.ok();
    let started = Instant::now();
    let uid = object.meta().uid.clone().unwrap_or_default();
    if let Some(wait) = context.backoff.left_alone(&uid, started) {
        // Woken by a watch before the control plane wants to hear of it again.
        return Ok(Action::requeue(wait));
    }
    context.metrics.began(kind, &uid);
    let span = tracing::info_span!(
        target: traces::SPANS,
        "reconcile",
        kind,
        namespace = object.meta().namespace.as_deref(),
        name = object.meta().name.as_deref(),
        outcome = tracing::field::Empty,
    );
    let reconcile = reconcile(object, Arc::clone(&context)).instrument(span.clone());
    let (outcome, pass) = Pass::of(reconcile).await;
    span.record("outcome", outcome.as_ref().map_or_else(Error::category, |_| "ok"));
    context.metrics.reconciled(kind, pass, outcome.as_ref().err(), started.elapsed());
    if outcome.is_ok() {
        context.backoff.reset(&uid);
    }
    outcome
}

/// When to try again after an error, each object by its own count.
#[expect(clippy::needless_pass_by_value, reason = "the signature kube asks for")]
fn again<K: Resource<DynamicType = ()>>(
    object: Arc<Guard<K>>,
    error: &Error,
    context: Arc<Context>,
) -> Action {
    let kind = K::kind(&());
    let name = object.name_any();
    let uid = object.meta().uid.as_deref().unwrap_or_default();
    if error.is_conflict() {
        // Somebody wrote first, or our own write is not in the cache yet: ordinary.
        tracing::debug!(%kind, name, error = chain(error), "reconcile is out of date");
        return Action::requeue(context.backoff.next(uid, CONFLICT_AGAIN));
    }
    let mut wait = context.backoff.next(uid, FIRST_AGAIN);
    if let Some(asked) = error.retry_after() {
        wait = wait.max(context.backoff.leave_alone(uid, asked, Instant::now()));
    }
    let again_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
    let error_chain = chain(error);
    match error.class() {
        _ if error.is_not_found() => {
            tracing::debug!(%kind, name, again_ms, error = error_chain, "an object went meanwhile");
        }
        Class::Transient | Class::Refused => {
            tracing::warn!(%kind, name, again_ms, error = error_chain, "failed to reconcile");
        }
        Class::Bug => {
            tracing::error!(%kind, name, again_ms, error = error_chain, "failed to reconcile");
        }
    }
    Action::requeue(wait)
}

/// The same changes, each noted as it comes into the queue.
fn noted<K: Resource + 'static>(
    kind: &'static str,
    metrics: &Metrics,
    changes: Changes<K>,
) -> impl Stream<Item = <Changes<K> as Stream>::Item> + Send + use<K> {
    let counted = metrics.clone();
    watched(kind, metrics, changes).inspect_ok(move |object| {
        counted.came(kind, object.meta().uid.as_deref().unwrap_or_default());
    })
}

/// The same changes, the failures of their watch counted.
fn watched<K: Resource + 'static>(
    kind: &'static str,
    metrics: &Metrics,
    changes: Changes<K>,
) -> impl Stream<Item = <Changes<K> as Stream>::Item> + Send + use<K> {
    let metrics = metrics.clone();
    changes.inspect_err(move |_| metrics.watch_failed(kind))
}

/// What the controller says beside the reconciles themselves, which log their own.
async fn log<K: Resource>(
    outcome: Result<
        (ObjectRef<K>, Action),
        controller::Error<Error, kube::runtime::watcher::Error>,
    >,
) {
    match outcome {
        Ok(_) | Err(controller::Error::ReconcilerFailed(..)) => {}
        Err(controller::Error::ObjectNotFound(object)) => {
            tracing::debug!(%object, "an object went before it was looked at");
        }
        Err(error) => tracing::warn!(%error, "a watch failed; it is begun again"),
    }
}
