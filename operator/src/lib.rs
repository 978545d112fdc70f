//! Makes the cluster match the resources.
//!
//! People and Git write intent as custom resources; this operator turns it into
//! workloads and reports what came of it. It reads and writes the Kubernetes API
//! only: no database, no model provider.

pub mod agent;
mod apply;
mod caches;
pub mod clock;
pub mod coding_run;
mod conditions;
pub mod config;
mod connect;
mod context;
mod controllers;
pub mod error;
mod events;
mod harness;
mod invalid;
mod leader;
mod mailboxes;
mod members;
mod metrics;
mod model;
pub mod network;
mod pod;
mod read;
mod retry_after;
pub mod runtime;
mod secret_key;
mod serve;
mod skill;
mod slugs;
pub mod swarm;
mod tool_server;
pub mod traces;
mod users;
pub mod versions;
mod wakes;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::join_all;
use kube::Client;
use tokio::sync::Semaphore;
use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use crate::caches::Caches;
use crate::clock::Clock;
use crate::config::{Config, RuntimeConfig};
use crate::context::{Backoff, Context};
use crate::error::Error;
use crate::events::Events;
use crate::leader::{Candidate, Term};
use crate::mailboxes::{Mailboxes, People};
use crate::metrics::Metrics;
use crate::runtime::Runtime;
use crate::runtime::cluster::Cluster;
use crate::runtime::local::Local;
use crate::serve::{Health, Phase};
use crate::slugs::Slugs;
pub use connect::connect;

/// How long what is under way may take to finish after the signal to stop: above
/// the longest single write.
const GRACE: Duration = Duration::from_secs(25);
/// How long open connections of the probe server are waited for.
const PROBES_GRACE: Duration = Duration::from_secs(1);

/// Runs the operator until `shutdown`, then finishes what is under way and hands
/// the lease over.
pub async fn run(client: Client, config: Config, shutdown: CancellationToken) -> Result<(), Error> {
    run_by(Clock::system(), client, config, shutdown).await
}

/// The same by another clock than the machine's.
pub async fn run_by(
    clock: Clock,
    client: Client,
    config: Config,
    shutdown: CancellationToken,
) -> Result<(), Error> {
    if let RuntimeConfig::Local(local) = &config.runtime {
        runtime::local::check(local)?;
    }
    let metrics = Metrics::new();
    let health = Health::new();
    let people = config.people.as_ref().map(People::new).transpose().map_err(Error::People)?;
    let people = people.map(Arc::new);
    let listener = serve::bind(&config).await?;
    // Only now: what keeps us from starting is to be told alone.
    if let RuntimeConfig::Cluster(Some(_)) = &config.runtime {
        tell_of_network_policies(&config);
    }
    let tasks = TaskTracker::new();
    let probes = CancellationToken::new();
    tasks.spawn(serve_probes(listener, health.clone(), metrics.clone(), probes.clone()));

    let candidate = Candidate::new(client.clone(), &config, clock.clone(), health.clone());
    let outcome = loop {
        health.set(Phase::Asking);
        metrics.leads(false);
        let parts = Parts {
            client: &client,
            config: &config,
            clock: &clock,
            metrics: &metrics,
            people: people.as_ref(),
        };
        let term = candidate
            .lead(&shutdown, |lost| parts.work(health.clone(), shutdown.clone(), lost))
            .await;
        match term {
            Term::Ended(outcome) => break outcome,
            Term::NeverLed => break Ok(()),
            Term::Lost => metrics.lost_the_lease(),
        }
    };
    health.set(Phase::Stopping);
    metrics.leads(false);
    probes.cancel();
    tasks.close();
    // A client that holds a connection open must not hold this process too.
    if tokio::time::timeout(PROBES_GRACE, tasks.wait()).await.is_err() {
        tracing::debug!("left while a client still read a probe");
    }
    outcome
}

/// What no condition could tell: whether policies act, nobody but the cluster's own
/// network knows (NET-06).
fn tell_of_network_policies(config: &Config) {
    tracing::info!(
        "harness pods stand behind network policies; {}",
        network::policies::ENGINE_NOTE
    );
    let api_url = &config.template.api_url;
    if !network::policies::is_within_reach(api_url) {
        tracing::warn!(
            api_url,
            "FOUNDRY_API_URL names no Service that the network policies are known to open; see \
             that it leads to the pods of foundry-api, or let harness pods reach it by a \
             NetworkPolicy of your own"
        );
    }
}

async fn serve_probes(
    listener: tokio::net::TcpListener,
    health: Health,
    metrics: Metrics,
    stop: CancellationToken,
) {
    if let Err(error) = serve::serve(listener, health, metrics, stop).await {
        tracing::error!(%error, "failed to serve probes and metrics");
    }
}

/// What one term of leadership is made of.
struct Parts<'a> {
    client: &'a Client,
    config: &'a Config,
    clock: &'a Clock,
    metrics: &'a Metrics,
    people: Option<&'a Arc<People>>,
}

impl Parts<'_> {
    /// One term of leadership: fresh caches, all controllers, the runtime's keeper.
    async fn work(
        self,
        health: Health,
        shutdown: CancellationToken,
        lost: CancellationToken,
    ) -> Result<(), Error> {
        let Self { client, config, clock, metrics, people } = self;
        health.set(Phase::Reading);
        metrics.leads(true);
        let stop = lost.child_token();
        let slugs = Arc::new(Slugs::default());
        let mut caches = BTreeMap::new();
        let mut streams = Vec::new();
        for namespace in &config.namespaces {
            let (cache, stream) = caches::watch_namespace(client, namespace, &slugs);
            caches.insert(namespace.clone(), cache);
            streams.push((namespace.clone(), stream));
        }
        let runtime = self::runtime(client, config, clock, metrics, &caches);
        let context = Arc::new(Context {
            client: client.clone(),
            config: config.clone(),
            clock: clock.clone(),
            runtime: Arc::clone(&runtime),
            caches,
            slugs,
            mailboxes: people
                .map(|people| Arc::new(Mailboxes::new(Arc::clone(people), &config.namespaces))),
            events: Events::new(client.clone(), &config.identity),
            metrics: metrics.clone(),
            backoff: Backoff::default(),
            turns: Semaphore::new(context::RECONCILES_AT_ONCE),
        });
        let (counted, unread) = (Arc::clone(&context), Arc::clone(&context));
        metrics.count_by(Some(Box::new(move || {
            metrics::take(&counted.caches, counted.mailboxes.as_deref())
        })));
        health.read_by(move || {
            let of = |(namespace, caches): (&String, &Caches)| {
                caches.unread().into_iter().map(|kind| format!("{kind} of {namespace}")).collect()
            };
            unread.caches.iter().flat_map(|it| -> Vec<String> { of(it) }).collect()
        });
        let controllers: Vec<_> = streams
            .into_iter()
            .flat_map(|(namespace, stream)| {
                controllers::run(client, &namespace, stream, &context, &stop)
            })
            .collect();

        let announce = async {
            let mut whole = true;
            for caches in context.caches.values() {
                whole &= caches.wait_until_whole().await.is_ok();
            }
            if whole {
                health.set(Phase::Leading);
            }
            std::future::pending::<()>().await;
        };
        let mailboxes = async {
            match &context.mailboxes {
                Some(mailboxes) => mailboxes.keep(&context.caches, metrics).await,
                None => std::future::pending().await,
            }
        };
        let mut controllers = std::pin::pin!(join_all(controllers));
        let mut keeper = std::pin::pin!(runtime.keep(stop.clone()));
        tokio::select! {
            _ = &mut controllers => return Ok(()),
            outcome = &mut keeper => return outcome,
            () = announce => {}
            // Nobody waits for a call that is under way: the next leader makes it again.
            () = mailboxes => {}
            () = shutdown.cancelled() => {}
        }
        health.set(Phase::Stopping);
        stop.cancel();
        let finished = async { tokio::join!(&mut controllers, &mut keeper).1 };
        tokio::time::timeout(GRACE, finished).await.unwrap_or_else(|_| {
            tracing::warn!(seconds = GRACE.as_secs(), "failed to finish in time; leaving");
            Ok(())
        })
    }
}

fn runtime(
    client: &Client,
    config: &Config,
    clock: &Clock,
    metrics: &Metrics,
    caches: &BTreeMap<String, Caches>,
) -> Arc<dyn Runtime> {
    match &config.runtime {
        RuntimeConfig::Cluster(network) => {
            Arc::new(Cluster::new(client, network.as_ref(), caches, metrics))
        }
        RuntimeConfig::Local(local) => Arc::new(Local::new(
            client.clone(),
            config.namespaces.clone(),
            local.clone(),
            clock.clone(),
            metrics.clone(),
        )),
    }
}
