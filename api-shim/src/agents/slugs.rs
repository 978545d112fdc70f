//! Slugs are unique over all workspaces (LIFE-20).

use std::sync::Arc;

use foundry_crds::Agent;
use kube::ResourceExt;
use moka::future::Cache;

use super::view::slug_of;
use crate::{
    cluster::{CACHE_LAG, Cluster},
    problem::Problem,
};

/// Slugs just written that the cache of agents may not show yet.
const JUST_TAKEN: u64 = 10_000;

/// Keeps two requests of this process from taking one slug. Between replicas, and by
/// kubectl, the operator marks the later agent `SlugTaken`.
pub struct Slugs {
    cluster: Arc<Cluster>,
    just_taken: Cache<String, Holder>,
}

/// Workspace and id of the agent that has a slug.
type Holder = (String, String);

impl Slugs {
    /// The slugs of this cluster.
    pub fn new(cluster: Arc<Cluster>) -> Self {
        let just_taken = Cache::builder().max_capacity(JUST_TAKEN).time_to_live(CACHE_LAG).build();
        Self { cluster, just_taken }
    }

    /// Takes the slug for this agent, or says that another has it.
    pub async fn take(&self, slug: &str, workspace: &str, id: &str) -> Result<Taken, Problem> {
        let me: Holder = (workspace.to_owned(), id.to_owned());
        let taken = || {
            Problem::conflict("SlugTaken", format!("another agent has the slug {slug:?}"))
                .field("slug")
                .remedy("choose another slug")
        };
        let holds = |agent: &Agent| slug_of(agent) == slug;
        let holder = self.cluster.agents.find(holds);
        if holder.is_some_and(|holder| holder_of(&holder) != me) {
            return Err(taken());
        }
        let entry = self.just_taken.entry(slug.to_owned()).or_insert(me.clone()).await;
        if *entry.value() == me {
            Ok(Taken { slug: slug.to_owned(), newly: entry.is_fresh() })
        } else {
            Err(taken())
        }
    }

    /// Gives a slug back that was not written after all, unless another request for
    /// the same agent had taken it before: that one may have written it.
    pub async fn give_back(&self, Taken { slug, newly }: Taken) {
        if newly {
            self.just_taken.invalidate(&slug).await;
        }
    }
}

/// A slug that a request has taken.
pub struct Taken {
    slug: String,
    newly: bool,
}

fn holder_of(agent: &Agent) -> Holder {
    (agent.namespace().unwrap_or_default(), agent.name_any())
}
