//! One operator works at a time: a `coordination.k8s.io` Lease, by the protocol and
//! with the timings of Kubernetes' own controllers.
//!
//! A lease expires by being seen unchanged for its duration, not by comparing
//! clocks. Whoever cannot renew drops the work before another may take it up.
//! Alert on `foundry_operator_leader` summed over replicas being 0 for a minute.

use std::future::Future;
use std::time::Duration;

use k8s_openapi::api::coordination::v1::{Lease, LeaseSpec};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::MicroTime;
use kube::Client;
use kube::api::{Api, ObjectMeta, PostParams};
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use crate::clock::Clock;
use crate::config::Config;
use crate::serve::{Health, Phase};

/// A lease seen unchanged for this long is free.
const DURATION: Duration = Duration::from_secs(15);
/// A leader that could not renew for this long drops its work.
const RENEW_WITHIN: Duration = Duration::from_secs(10);
/// How often a leader renews.
const RETRY: Duration = Duration::from_secs(2);
/// How often a candidate looks whether the lease is free: often enough that a leader that
/// stops is followed within two seconds.
const LOOK: Duration = Duration::from_secs(1);

/// A candidate for the lease.
pub struct Candidate {
    leases: Api<Lease>,
    lease: String,
    identity: String,
    clock: Clock,
    health: Health,
}

/// How a term of leadership ended.
#[derive(Debug, PartialEq, Eq)]
pub enum Term<T> {
    /// The work ended by itself, with this outcome.
    Ended(T),
    /// The lease was lost and the work dropped.
    Lost,
    /// Told to stop before ever leading.
    NeverLed,
}

impl Candidate {
    /// A candidate for the lease that the settings name.
    pub fn new(client: Client, config: &Config, clock: Clock, health: Health) -> Self {
        Self {
            leases: Api::namespaced(client, &config.lease_namespace),
            lease: config.lease_name.clone(),
            identity: config.identity.clone(),
            clock,
            health,
        }
    }

    /// Waits for the lease, then does the work for as long as it holds. The work
    /// gets a token that says when leadership is lost, for what it has spawned.
    pub async fn lead<T, F>(
        &self,
        shutdown: &CancellationToken,
        work: impl FnOnce(CancellationToken) -> F,
    ) -> Term<T>
    where
        F: Future<Output = T>,
    {
        let acquired = tokio::select! {
            acquired = self.acquire() => acquired,
            () = shutdown.cancelled() => return Term::NeverLed,
        };
        let lost = CancellationToken::new();
        let dropped = lost.clone().drop_guard();
        let term = tokio::select! {
            outcome = work(lost) => Term::Ended(outcome),
            () = self.hold(acquired) => Term::Lost,
        };
        drop(dropped);
        if matches!(term, Term::Ended(_)) {
            // Handing over at once spares the next leader the whole duration.
            self.release().await;
        }
        term
    }

    /// Waits until the lease is ours; gives the instant before the request that won
    /// it, the latest from which others may count.
    async fn acquire(&self) -> Instant {
        let mut seen: Option<(LeaseSpec, Instant)> = None;
        loop {
            let before = Instant::now();
            let tried = tokio::time::timeout(RENEW_WITHIN, self.try_acquire(&mut seen)).await;
            self.health.round(matches!(tried, Ok(Ok(_))));
            match tried {
                Ok(Ok(true)) => {
                    tracing::info!(identity = self.identity, "leading");
                    return before;
                }
                Ok(Ok(false)) => {
                    self.health.set(Phase::Standby);
                    tracing::debug!("another operator leads");
                }
                Ok(Err(error)) => {
                    self.health.set(Phase::Asking);
                    tracing::warn!(%error, "failed to ask for the lease; asked again in 1 s");
                }
                Err(_) => {
                    self.health.set(Phase::Asking);
                    tracing::warn!("failed to ask for the lease in time; asked again in 1 s");
                }
            }
            tokio::time::sleep(LOOK).await;
        }
    }

    async fn try_acquire(
        &self,
        seen: &mut Option<(LeaseSpec, Instant)>,
    ) -> Result<bool, kube::Error> {
        let Some(lease) = self.leases.get_opt(&self.lease).await? else {
            let lease = Lease {
                metadata: ObjectMeta { name: Some(self.lease.clone()), ..ObjectMeta::default() },
                spec: Some(self.term_after(None)),
            };
            return won(self.leases.create(&PostParams::default(), &lease).await);
        };
        let spec = lease.spec.clone().unwrap_or_default();
        let holder = spec.holder_identity.as_deref().filter(|holder| !holder.is_empty());
        let is_free = match (holder, &seen) {
            (None, _) => true,
            (Some(holder), _) if holder == self.identity => true,
            (Some(_), Some((last, since))) if *last == spec => since.elapsed() >= DURATION,
            (Some(_), _) => {
                *seen = Some((spec.clone(), Instant::now()));
                false
            }
        };
        if !is_free {
            return Ok(false);
        }
        self.write(lease, self.term_after(Some(&spec))).await
    }

    /// Renews until that fails for too long or another holds the lease.
    async fn hold(&self, mut renewed: Instant) {
        loop {
            tokio::time::sleep(RETRY).await;
            let before = Instant::now();
            let left = RENEW_WITHIN.saturating_sub(renewed.elapsed());
            let renewal = tokio::time::timeout(left, self.renew()).await;
            self.health.round(matches!(renewal, Ok(Ok(_))));
            match renewal {
                Ok(Ok(true)) => renewed = before,
                Ok(Ok(false)) => {
                    tracing::warn!("another operator took the lease; dropping the work");
                    return;
                }
                Ok(Err(error)) => tracing::warn!(%error, "failed to renew the lease"),
                Err(_) => {
                    tracing::warn!("failed to renew the lease in time; dropping the work");
                    return;
                }
            }
        }
    }

    async fn renew(&self) -> Result<bool, kube::Error> {
        let Some(lease) = self.leases.get_opt(&self.lease).await? else { return Ok(false) };
        let spec = lease.spec.clone().unwrap_or_default();
        if spec.holder_identity.as_deref() != Some(&self.identity) {
            return Ok(false);
        }
        self.write(lease, self.term_after(Some(&spec))).await
    }

    async fn release(&self) {
        let released = async {
            let Some(lease) = self.leases.get_opt(&self.lease).await? else { return Ok(false) };
            let spec = lease.spec.clone().unwrap_or_default();
            if spec.holder_identity.as_deref() != Some(&self.identity) {
                return Ok(false);
            }
            let free = LeaseSpec {
                holder_identity: Some(String::new()),
                lease_duration_seconds: Some(1),
                ..spec
            };
            self.write(lease, free).await
        };
        match tokio::time::timeout(RETRY, released).await {
            Ok(Ok(true)) => tracing::info!("released the lease"),
            Ok(Ok(false)) => {}
            Ok(Err(error)) => tracing::warn!(%error, "failed to release the lease; it expires"),
            Err(_) => tracing::warn!("failed to release the lease in time; it expires"),
        }
    }

    /// Replaces, never patches: whoever wrote in between wins by conflict.
    async fn write(&self, lease: Lease, spec: LeaseSpec) -> Result<bool, kube::Error> {
        let lease = Lease { spec: Some(spec), ..lease };
        won(self.leases.replace(&self.lease, &PostParams::default(), &lease).await)
    }

    fn term_after(&self, last: Option<&LeaseSpec>) -> LeaseSpec {
        let now = MicroTime(self.clock.now());
        let again = last.filter(|last| last.holder_identity.as_deref() == Some(&self.identity));
        let transitions = last.and_then(|last| last.lease_transitions).unwrap_or(0);
        LeaseSpec {
            holder_identity: Some(self.identity.clone()),
            lease_duration_seconds: i32::try_from(DURATION.as_secs()).ok(),
            acquire_time: again
                .and_then(|again| again.acquire_time.clone())
                .or_else(|| Some(now.clone())),
            renew_time: Some(now),
            lease_transitions: Some(transitions + i32::from(last.is_some() && again.is_none())),
            ..LeaseSpec::default()
        }
    }
}

/// Whether a write went through; losing to another is an answer, not an error.
fn won(outcome: Result<Lease, kube::Error>) -> Result<bool, kube::Error> {
    match outcome {
        Ok(_) => Ok(true),
        Err(kube::Error::Api(status)) if status.is_conflict() || status.is_already_exists() => {
            Ok(false)
        }
        Err(error) => Err(error),
    }
}
