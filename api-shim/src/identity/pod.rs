//! Harness pods, by their projected service account token.
//!
//! The API server vouches for the pod's name and UID; owner references, followed by
//! UID, lead from there to the one Agent the pod is. A label is only a hint and is not
//! read.

mod owners;

use std::{sync::Arc, time::Duration};

use foundry_crds::{Agent, meta};
use k8s_openapi::api::{
    authentication::v1::{TokenReview, TokenReviewSpec, UserInfo},
    core::v1::Pod,
};
use moka::future::Cache;
use sha2::{Digest, Sha256};
use tokio::sync::Semaphore;

use super::{Actor, Principal};
use crate::{cluster::Cluster, problem::Problem};

/// How long an answer of the API server is believed: below the 30 seconds within which
/// a deleted pod's token must be dead.
const BELIEVED: Duration = Duration::from_secs(20);
/// How long a refusal is remembered, so that a broken caller costs no review each time.
const REFUSAL_REMEMBERED: Duration = Duration::from_secs(5);
/// Tokens remembered at once.
const REMEMBERED: u64 = 20_000;
/// Token reviews under way at once.
const CONCURRENT_REVIEWS: usize = 16;
/// Longest token that is shown to the API server.
const MAX_TOKEN: usize = 8 * 1024;
/// Role every harness pod has.
const POD_ROLE: &str = "agent";

const EXTRA_POD_NAME: &str = "authentication.kubernetes.io/pod-name";
const EXTRA_POD_UID: &str = "authentication.kubernetes.io/pod-uid";

type TokenDigest = [u8; 32];

/// Knows harness pods by their tokens.
pub struct Pods {
    cluster: Arc<Cluster>,
    known: Cache<TokenDigest, Principal>,
    refused: Cache<TokenDigest, Refusal>,
    reviews: Semaphore,
}

/// Why a token is no pod's.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Refusal {
    /// The API server does not know the token for our audience.
    Unknown,
    /// It is valid, but not bound to a pod.
    NotAPod,
    /// It is not of the harness ServiceAccount of a watched namespace.
    NotAHarness,
    /// The pod it is bound to is gone or another.
    PodGone,
    /// The pod belongs to no agent.
    NoAgent,
}

impl Refusal {
    fn problem(self) -> Problem {
        Problem::unauthenticated(match self {
            Self::Unknown => "the token is not known",
            Self::NotAPod => "the token is not bound to a pod",
            Self::NotAHarness => "the token is not of a harness",
            Self::PodGone => "the token's pod is gone",
            Self::NoAgent => "the token's pod belongs to no agent",
        })
    }
}

/// Either a refusal to remember, or a failure to find out.
enum Failure {
    Refused(Refusal),
    Unanswered(Problem),
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        Self::Unanswered(problem)
    }
}

impl Pods {
    /// Pods of this cluster.
    pub fn new(cluster: Arc<Cluster>) -> Self {
        let remember = |time| Cache::builder().max_capacity(REMEMBERED).time_to_live(time);
        Self {
            cluster,
            known: remember(BELIEVED).build(),
            refused: Cache::builder()
                .max_capacity(REMEMBERED)
                .time_to_live(REFUSAL_REMEMBERED)
                .build(),
            reviews: Semaphore::new(CONCURRENT_REVIEWS),
        }
    }

    /// The agent whose pod shows this token.
    pub async fn principal(&self, token: &str) -> Result<Principal, Problem> {
        // The API server need not see what cannot be a token of its own.
        if token.len() > MAX_TOKEN {
            return Err(Refusal::Unknown.problem());
        }
        let digest: TokenDigest = Sha256::digest(token.as_bytes()).into();
        if let Some(refusal) = self.refused.get(&digest).await {
            return Err(refusal.problem());
        }
        if let Some(principal) = self.known.get(&digest).await {
            if self.is_still(&principal) {
                return Ok(principal);
            }
            self.known.invalidate(&digest).await;
        }
        // Boxed: a review is rare and its future large; every request would carry it.
        let review = Box::pin(async {
            match self.identify(token).await {
                Ok(principal) => Ok(principal),
                Err(Failure::Refused(refusal)) => {
                    self.refused.insert(digest, refusal).await;
                    Err(refusal.problem())
                }
                Err(Failure::Unanswered(problem)) => Err(problem),
            }
        });
        // Callers of one token share one review, and so its failure.
        Box::pin(self.known.try_get_with(digest, review)).await.map_err(|problem| problem.repeat())
    }

    /// Whether what was found out about a pod still holds: an agent of the same name is
    /// another one, and one that was given away acts as its new owner (AUTHZ-01).
    fn is_still(&self, principal: &Principal) -> bool {
        let Principal { subject, workspace, roles: _, actor } = principal;
        let Actor::Agent { id, uid } = actor else { return false };
        let same = self.cluster.agents.peek(workspace, id, |agent| {
            agent.metadata.uid.as_ref() == Some(uid) && agent.spec.owner == *subject
        });
        // The cache may not have it yet; what is gone for good has no rows to reach.
        same.unwrap_or(true)
    }

    async fn identify(&self, token: &str) -> Result<Principal, Failure> {
        let user = self.review(token).await?;
        let (namespace, pod_name, pod_uid) = bound_pod(&user).map_err(Failure::Refused)?;
        if self.cluster.workspace(&namespace).is_err() {
            return Err(Failure::Refused(Refusal::NotAHarness));
        }
        let pod: Pod = self
            .cluster
            .read(&namespace, &pod_name)
            .await?
            .filter(|pod: &Pod| pod.metadata.uid.as_deref() == Some(&pod_uid))
            .ok_or(Failure::Refused(Refusal::PodGone))?;
        let agent: Agent = owners::agent_of(&self.cluster, &namespace, &pod)
            .await?
            .ok_or(Failure::Refused(Refusal::NoAgent))?;
        match (agent.metadata.name, agent.metadata.uid) {
            (Some(id), Some(uid)) => Ok(Principal {
                subject: agent.spec.owner,
                workspace: namespace,
                roles: vec![POD_ROLE.to_owned()],
                actor: Actor::Agent { id, uid },
            }),
            _ => Err(Failure::Refused(Refusal::NoAgent)),
        }
    }

    async fn review(&self, token: &str) -> Result<UserInfo, Failure> {
        let _permit = self.reviews.acquire().await.map_err(Problem::bug)?;
        let review = TokenReview {
            spec: TokenReviewSpec {
                audiences: Some(vec![meta::TOKEN_AUDIENCE.to_owned()]),
                token: Some(token.to_owned()),
            },
            ..TokenReview::default()
        };
        let status = self.cluster.review_token(&review).await?;
        let for_us = status
            .audiences
            .is_some_and(|audiences| audiences.iter().any(|a| a == meta::TOKEN_AUDIENCE));
        match status.user {
            Some(user) if status.authenticated == Some(true) && for_us => Ok(user),
            _ => Err(Failure::Refused(Refusal::Unknown)),
        }
    }
}

/// Namespace, name and UID of the pod that a reviewed token is bound to.
fn bound_pod(user: &UserInfo) -> Result<(String, String, String), Refusal> {
    let account = user.username.as_deref().unwrap_or_default();
    let (namespace, name) = account
        .strip_prefix("system:serviceaccount:")
        .and_then(|rest| rest.split_once(':'))
        .ok_or(Refusal::NotAHarness)?;
    if name != meta::HARNESS_SERVICE_ACCOUNT {
        return Err(Refusal::NotAHarness);
    }
    let extra = |key: &str| {
        user.extra.as_ref().and_then(|extra| extra.get(key)).and_then(|values| values.first())
    };
    match (extra(EXTRA_POD_NAME), extra(EXTRA_POD_UID)) {
        (Some(pod), Some(uid)) => Ok((namespace.to_owned(), pod.clone(), uid.clone())),
        _ => Err(Refusal::NotAPod),
    }
}

#[cfg(test)]
mod tests;
