//! Keeps the policies of a namespace as they should be: before each pod that is begun,
//! and whenever somebody changes them.

use std::collections::HashMap;
use std::future::ready;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Duration;

use foundry_crds::{Agent, meta};
use futures::StreamExt as _;
use k8s_openapi::api::networking::v1::NetworkPolicy;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use kube::runtime::watcher::Event;
use kube::{Client, Resource as _};
use tokio::sync::Notify;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::pace::Pace;
use super::plan::{self, FEW_OWNERS, Observed, Plan, Removal, plan};
use crate::apply::{self, Propagation};
use crate::caches::{self, Cache, Caches, Changes, Guard};
use crate::config::NetworkConfig;
use crate::context::Backoff;
use crate::error::{Error, chain};
use crate::metrics::Metrics;

/// How long the first list of policies is waited for before pods are refused: it comes
/// with the first lists of all else.
const SHOWN_WITHIN: Duration = Duration::from_secs(5);
/// How long somebody else's look is waited for; the control plane may take its time.
const TURN_WITHIN: Duration = Duration::from_secs(2);
/// How soon a failed look is tried again; ever more slowly while it fails.
const FIRST_AGAIN: Duration = Duration::from_millis(500);

/// The policies of one namespace.
pub struct Fence {
    client: Client,
    metrics: Metrics,
    namespace: String,
    /// None where the installation wants no policies.
    settings: Option<NetworkConfig>,
    caches: Caches,
    policies: Cache<NetworkPolicy>,
    changes: Mutex<Option<Changes<NetworkPolicy>>>,
    under_way: Arc<UnderWay>,
    /// Until when the first list is waited for; of all who wait, the first sets it.
    shown_until: OnceLock<Instant>,
    /// One look at a time: agents that begin together would each write the same.
    turn: tokio::sync::Mutex<()>,
    woken: Notify,
}

impl Fence {
    /// The fence of a namespace; [`Fence::keep`] begins its watch.
    pub fn new(
        client: &Client,
        namespace: &str,
        settings: Option<&NetworkConfig>,
        caches: &Caches,
        metrics: &Metrics,
    ) -> Self {
        let under_way = Arc::new(UnderWay::default());
        let noted = Arc::clone(&under_way);
        let ours = format!("{}={}", meta::label::MANAGED_BY, meta::label::MANAGED_BY_OPERATOR);
        let (policies, changes) = caches::watch_kind(
            client,
            namespace,
            caches::settings(Some(&ours)),
            move |event| noted.note(event),
            |_: &mut NetworkPolicy| {},
        );
        Self {
            client: client.clone(),
            metrics: metrics.clone(),
            namespace: namespace.to_owned(),
            settings: settings.cloned(),
            caches: caches.clone(),
            policies,
            changes: Mutex::new(Some(changes)),
            under_way,
            shown_until: OnceLock::new(),
            turn: tokio::sync::Mutex::default(),
            woken: Notify::new(),
        }
    }

    /// Returns when the policies stand: a pod that is begun then is never without.
    pub async fn close(&self) -> Result<(), Error> {
        if self.settings.is_none() {
            return Ok(());
        }
        self.wait_until_shown().await?;
        // The agent may have been deleted since it was read, and the policies with it.
        let Looked { is_fenced, .. } = self.look().await?;
        let namespace = self.namespace.clone();
        if is_fenced { Ok(()) } else { Err(Error::NobodyToFence { namespace }) }
    }

    /// Waits once for all: agents without end that each wait their time would keep those
    /// that are to be stopped waiting too.
    async fn wait_until_shown(&self) -> Result<(), Error> {
        let until = *self.shown_until.get_or_init(|| Instant::now() + SHOWN_WITHIN);
        let shown = caches::wait_until_whole(std::slice::from_ref(&self.policies));
        let shown = tokio::time::timeout_at(until, shown).await;
        shown.map_err(|_| Error::PoliciesNotShown { namespace: self.namespace.clone() })?
    }

    /// Puts right what is changed, until told to leave.
    pub async fn keep(&self, leave: &CancellationToken) {
        let changes = self.changes.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(changes) = changes else { return };
        let reading = changes.for_each(|change| {
            if let Err(error) = change {
                let namespace = &self.namespace;
                tracing::warn!(%error, namespace, "the watch of network policies failed; it is begun again");
            }
            self.woken.notify_one();
            ready(())
        });
        tokio::select! {
            () = reading => {}
            () = self.look_again_and_again(leave) => {}
        }
    }

    /// What is under way when told to leave is finished.
    async fn look_again_and_again(&self, leave: &CancellationToken) {
        tokio::select! {
            () = leave.cancelled() => return,
            whole = self.wait_until_whole() => if whole.is_err() { return },
        }
        let backoff = Backoff::default();
        let mut pace = Pace::default();
        while !leave.is_cancelled() {
            let wait = match self.look().await {
                Ok(Looked { look_again, has_written, .. }) => {
                    backoff.reset(&self.namespace);
                    if has_written {
                        let rest = pace.next(Instant::now());
                        tokio::time::timeout(rest, leave.cancelled()).await.ok();
                    }
                    look_again
                }
                Err(error) => {
                    let wait = backoff.next(&self.namespace, FIRST_AGAIN);
                    let again_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
                    let (namespace, error) = (&self.namespace, chain(&error));
                    tracing::warn!(namespace, again_ms, error, "failed to keep network policies");
                    wait
                }
            };
            tokio::select! {
                () = leave.cancelled() => {}
                () = self.woken.notified() => {}
                // What no watch has shown in all this time is not on its way.
                () = tokio::time::sleep(wait) => self.under_way.forget_all(),
            }
        }
    }

    async fn wait_until_whole(&self) -> Result<(), Error> {
        caches::wait_until_whole(std::slice::from_ref(&self.policies)).await?;
        self.caches.wait_until_whole().await
    }

    /// Observes, plans and applies once.
    async fn look(&self) -> Result<Looked, Error> {
        let turn = tokio::time::timeout(TURN_WITHIN, self.turn.lock()).await;
        let _turn =
            turn.map_err(|_| Error::PoliciesUnderWay { namespace: self.namespace.clone() })?;
        let Plan { apply, remove, is_fenced, look_again } =
            plan(&self.observe(), self.settings.as_ref());
        let has_written = !(apply.is_empty() && remove.is_empty());
        for policy in apply {
            self.apply(policy).await?;
        }
        for removal in remove {
            self.remove(removal).await?;
        }
        Ok(Looked { is_fenced, has_written, look_again })
    }

    fn observe(&self) -> Observed {
        let Caches { deployments, jobs, pods, .. } = &self.caches;
        let present: Vec<NetworkPolicy> =
            self.policies.all().iter().filter_map(|it| it.0.as_ref().ok().cloned()).collect();
        let owners = self.owners(&present);
        let heirs = if owners.len() < FEW_OWNERS { self.heirs() } else { Vec::new() };
        Observed {
            namespace: self.namespace.clone(),
            owners,
            heirs,
            has_workloads: !(deployments.is_empty() && jobs.is_empty() && pods.is_empty()),
            present,
        }
    }

    /// The agents that policies name and that stay.
    fn owners(&self, present: &[NetworkPolicy]) -> Vec<OwnerReference> {
        let mut named: Vec<_> = present
            .iter()
            .flat_map(|policy| policy.metadata.owner_references.iter().flatten())
            .filter(|owner| owner.kind == Agent::kind(&()))
            .collect();
        named.sort_by(|one, other| one.uid.cmp(&other.uid));
        named.dedup_by(|one, other| one.uid == other.uid);
        named
            .into_iter()
            .filter_map(|owner| {
                self.caches.agents.get(&self.namespace, &owner.name).zip(Some(owner))
            })
            .filter(|(agent, owner)| agent.meta().uid.as_ref() == Some(&owner.uid))
            .filter_map(|(agent, _)| stays(agent.meta()))
            .collect()
    }

    /// All agents that stay, the oldest first: they are likely to stay longest.
    fn heirs(&self) -> Vec<OwnerReference> {
        let agents = self.caches.agents.all();
        let mut agents: Vec<_> = agents.iter().map(|agent| agent.meta()).collect();
        agents.sort_by(|one, other| age(one).cmp(&age(other)));
        agents.into_iter().filter_map(stays).collect()
    }

    async fn apply(&self, policy: NetworkPolicy) -> Result<(), Error> {
        let name = policy.metadata.name.clone().unwrap_or_default();
        // Noted before it is asked for: the watch may show it sooner than the answer comes.
        if !self.under_way.begin(&name, Some(policy.clone())) {
            return Ok(());
        }
        let outcome = apply::child(&self.client, &policy).await.map(drop);
        self.came_of("apply", &name, outcome)
    }

    async fn remove(&self, removal: Removal) -> Result<(), Error> {
        let Removal { name, uid } = removal;
        if !self.under_way.begin(&name, None) {
            return Ok(());
        }
        let outcome = apply::delete::<NetworkPolicy>(
            &self.client,
            &self.namespace,
            &name,
            &uid,
            Propagation::None,
        );
        self.came_of("delete", &name, outcome.await)
    }

    fn came_of(
        &self,
        verb: &'static str,
        name: &str,
        outcome: Result<(), Error>,
    ) -> Result<(), Error> {
        match outcome {
            Ok(()) => {
                self.metrics.written(verb, "NetworkPolicy");
                tracing::info!(namespace = self.namespace, name, verb, "wrote a network policy");
            }
            Err(_) => self.under_way.forget(name),
        }
        outcome
    }
}

/// What came of a look.
struct Looked {
    /// Whether harness pods are fenced.
    is_fenced: bool,
    /// Whether anything had to be put right.
    has_written: bool,
    /// How long that holds.
    look_again: Duration,
}

/// An agent as an owner, unless it is about to go.
fn stays(agent: &ObjectMeta) -> Option<OwnerReference> {
    let is_going = agent.deletion_timestamp.is_some();
    plan::owner(agent).filter(|_| !is_going)
}

fn age(agent: &ObjectMeta) -> (Option<k8s_openapi::jiff::Timestamp>, Option<&String>) {
    (agent.creation_timestamp.as_ref().map(|created| created.0), agent.name.as_ref())
}

/// Writes that the watch has yet to show, by name of the policy; none is a deletion. A
/// cache that is late must not have the same written twice.
#[derive(Debug, Default)]
struct UnderWay {
    writes: Mutex<HashMap<String, Option<NetworkPolicy>>>,
}

impl UnderWay {
    /// Takes note of a watch event: what it is about is known better now.
    fn note(&self, event: &Event<Guard<NetworkPolicy>>) {
        match event {
            Event::Apply(policy) | Event::Delete(policy) => {
                self.forget(policy.meta().name.as_deref().unwrap_or_default());
            }
            Event::InitDone => self.forget_all(),
            Event::Init | Event::InitApply(_) => {}
        }
    }

    /// Whether a write is to be made now, and not under way already.
    fn begin(&self, name: &str, write: Option<NetworkPolicy>) -> bool {
        let mut writes = self.writes.lock().unwrap_or_else(PoisonError::into_inner);
        if writes.get(name) == Some(&write) {
            return false;
        }
        writes.insert(name.to_owned(), write);
        true
    }

    fn forget(&self, name: &str) {
        self.writes.lock().unwrap_or_else(PoisonError::into_inner).remove(name);
    }

    fn forget_all(&self) {
        self.writes.lock().unwrap_or_else(PoisonError::into_inner).clear();
    }
}

#[cfg(test)]
mod tests {
    use axum::http::{Method, Uri};
    use axum::{Json, Router};
    use serde_json::json;

    use super::*;
    use crate::config::NetworkConfig;
    use crate::network::policies;

    fn policy() -> NetworkPolicy {
        let settings =
            NetworkConfig { dns_port: 53, dns_addresses: Vec::new(), coding_except: Vec::new() };
        policies::render("team", &[], &settings).remove(0)
    }

    fn shown(policy: NetworkPolicy) -> Event<Guard<NetworkPolicy>> {
        Event::Apply(kube::core::DeserializeGuard(Ok(policy)))
    }

    /// A control plane in which there is nothing, and whose watches say nothing.
    async fn nothing(uri: Uri) -> Json<serde_json::Value> {
        if uri.query().is_some_and(|query| query.contains("watch=true")) {
            std::future::pending::<()>().await;
        }
        Json(json!({
            "apiVersion": "v1", "kind": "List", "metadata": { "resourceVersion": "1" }, "items": [],
        }))
    }

    /// One with an agent in it, that answers no write.
    async fn stuck(method: Method, uri: Uri) -> Json<serde_json::Value> {
        if method == Method::PATCH {
            std::future::pending::<()>().await;
        }
        let is_agents = uri.path().ends_with("/agents");
        let Json(mut list) = nothing(uri).await;
        if is_agents {
            list["items"] = json!([{
                "metadata": { "name": "ann", "namespace": "team", "uid": "uid-ann" },
            }]);
        }
        Json(list)
    }

    /// A fence, and what fills the caches beside its own.
    fn fence(control_plane: Router) -> (Fence, caches::Streams) {
        let client = Client::new(control_plane, "team");
        let (caches, streams) = caches::watch_namespace(&client, "team", &Arc::default());
        let settings =
            NetworkConfig { dns_port: 53, dns_addresses: Vec::new(), coding_except: Vec::new() };
        (Fence::new(&client, "team", Some(&settings), &caches, &Metrics::new()), streams)
    }

    /// NET-01: an agent may be deleted while its pod is about to be made; with the last one
    /// the policies go.
    #[tokio::test]
    async fn no_pod_is_begun_where_nobody_is_left_whom_policies_could_be_for() {
        let (fence, _streams) = fence(Router::new().fallback(nothing));
        let leave = CancellationToken::new();
        let closed = tokio::select! {
            () = fence.keep(&leave) => panic!("it was not told to leave"),
            closed = fence.close() => closed,
        };
        let said = closed.unwrap_err();
        assert!(said.to_string().contains("no agent is left"), "{said}");
        assert_eq!(said.class(), crate::error::Class::Transient);
    }

    /// A thousand agents, sixteen at once, would keep what is to be stopped waiting.
    #[tokio::test]
    async fn the_first_list_is_waited_for_once_and_not_by_each_agent_anew() {
        let (fence, _streams) = fence(Router::new().fallback(nothing));
        for most in [SHOWN_WITHIN * 2, SHOWN_WITHIN / 2] {
            let closed = tokio::time::timeout(most, fence.close()).await;
            let closed = closed.expect("a pod is refused in time");
            assert!(matches!(closed, Err(Error::PoliciesNotShown { .. })), "{closed:?}");
        }
    }

    /// A webhook that hangs holds up the one that asks, and not whatever comes behind.
    #[tokio::test]
    async fn a_write_that_hangs_is_waited_for_by_one_agent_and_not_by_all() {
        let (fence, streams) = fence(Router::new().fallback(stuck));
        let leave = CancellationToken::new();
        let both = async {
            caches::wait_until_whole(std::slice::from_ref(&fence.caches.agents)).await.unwrap();
            let (one, other) = (std::pin::pin!(fence.close()), std::pin::pin!(fence.close()));
            futures::future::select(one, other).await.factor_first().0
        };
        let closed = tokio::select! {
            () = fence.keep(&leave) => panic!("it was not told to leave"),
            () = streams.agents.for_each(|_| ready(())) => panic!("a watch has no end"),
            closed = tokio::time::timeout(TURN_WITHIN * 4, both) => closed,
        };
        let closed = closed.expect("the second gives up in time");
        assert!(matches!(closed, Err(Error::PoliciesUnderWay { .. })), "{closed:?}");
    }

    /// A reconcile that comes before the watch has shown a write does not repeat it.
    #[test]
    fn a_write_is_not_repeated_until_the_watch_has_shown_something_of_it() {
        let under_way = UnderWay::default();
        let (policy, name) = (policy(), "foundry-harness");
        assert!(under_way.begin(name, Some(policy.clone())));
        assert!(!under_way.begin(name, Some(policy.clone())), "it is on its way");
        assert!(under_way.begin("foundry-harness-coding", Some(policy.clone())));
        let changed = NetworkPolicy { spec: None, ..policy.clone() };
        assert!(under_way.begin(name, Some(changed.clone())), "another is another write");
        assert!(under_way.begin(name, None), "and so is its deletion");

        under_way.note(&shown(policy.clone()));
        assert!(under_way.begin(name, None));
        under_way.note(&Event::InitDone);
        assert!(under_way.begin(name, None), "a new list shows all there is");
        under_way.forget(name);
        assert!(under_way.begin(name, None), "a write that failed is made again");
    }
}
