//! The only reads of a reconcile: caches, and the agent itself where the cache is behind
//! what was reported, for that would end the run.

use foundry_crds::agent::Lifetime;
use foundry_crds::coding_run::Phase;
use foundry_crds::harness::HarnessHost;
use foundry_crds::{Agent, AgentSpec, AgentStatus, CodingRun, CodingRunSpec, CodingRunStatus};
use k8s_openapi::jiff::SignedDuration;
use kube::api::ObjectMeta;
use kube::{Api, Resource as _};

use super::RunId;
use crate::agent::observe::spawner;
use crate::agent::plan::Parent;
use crate::apply::Version;
use crate::caches::{Caches, Guard};
use crate::context::Context;
use crate::error::Error;
use crate::read;
use crate::runtime::workload;

/// Everything a plan is made from.
#[derive(Debug, Clone)]
pub struct Observed {
    /// Whose plan this is.
    pub run: RunId,
    /// What is wanted.
    pub spec: CodingRunSpec,
    /// What was reported last, by us and by the run's harness.
    pub status: CodingRunStatus,
    /// The Harness the run names.
    pub harness: Ability,
    /// The agent that spawned the run.
    pub spawner: Parent,
    /// The agent that has the run's name.
    pub agent: Found,
    /// How long the result of a process that is gone may be on its way.
    pub grace: SignedDuration,
}

/// Whether a Harness can carry out a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Ability {
    /// There is no such Harness.
    Missing,
    /// It knows nothing of repositories.
    NoRepositories,
    /// It has no pods.
    NoPods,
    /// It can.
    Able,
}

/// The agent that has the run's name.
#[derive(Debug, Clone, PartialEq)]
pub enum Found {
    /// There is none.
    None,
    /// It is the run's own.
    Own(Box<Own>),
    /// It is the run's own, and this operator cannot read it.
    Unreadable,
    /// It is that of an earlier run of this name, and about to go.
    OfAnEarlierRun,
    /// It is somebody else's.
    Foreign,
}

/// The run's own agent.
#[derive(Debug, Clone, PartialEq)]
pub struct Own {
    /// Which version of it was read.
    pub version: Version,
    /// What it is told.
    pub spec: AgentSpec,
    /// How it fares.
    pub status: AgentStatus,
    /// Whether its deletion has been asked for.
    pub going: bool,
}

/// Reads everything a plan is made from.
#[tracing::instrument(target = "foundry_operator::spans", name = "observe", skip_all)]
pub async fn observe(
    context: &Context,
    run: &CodingRun,
    version: &Version,
) -> Result<Observed, Error> {
    let namespace = &version.namespace;
    let caches = context.caches(namespace).await?;
    let status = run.status.clone().unwrap_or_default();
    Ok(Observed {
        run: RunId {
            namespace: namespace.clone(),
            name: version.name.clone(),
            uid: version.uid.clone(),
        },
        harness: ability(caches, namespace, run.spec.harness()),
        spawner: spawner(caches, namespace, run.spec.agent.as_deref()),
        agent: agent(context, caches, version, &run.spec, &status).await?,
        spec: run.spec.clone(),
        status,
        grace: context.config.result_grace,
    })
}

fn ability(caches: &Caches, namespace: &str, name: &str) -> Ability {
    match caches.harnesses.get(namespace, name).as_deref() {
        Some(Guard { 0: Ok(harness) }) => {
            if !harness.spec.has_repo_scope() {
                Ability::NoRepositories
            } else if harness.spec.host == Some(HarnessHost::Chat) {
                Ability::NoPods
            } else {
                Ability::Able
            }
        }
        Some(_) | None => Ability::Missing,
    }
}

async fn agent(
    context: &Context,
    caches: &Caches,
    run: &Version,
    spec: &CodingRunSpec,
    status: &CodingRunStatus,
) -> Result<Found, Error> {
    let shown = match caches.agents.get(&run.namespace, &run.name) {
        Some(agent) => match &agent.0 {
            Ok(agent) => found(agent, run, spec)?,
            Err(invalid) => stranger(&invalid.metadata, run).unwrap_or(Found::Unreadable),
        },
        None => Found::None,
    };
    if !is_behind(&shown, status) {
        return Ok(shown);
    }
    let api: Api<Agent> = Api::namespaced(context.client.clone(), &run.namespace);
    match read::bounded("Agent", &run.name, api.get_opt(&run.name)).await? {
        Some(agent) => found(&agent, run, spec),
        None => Ok(Found::None),
    }
}

/// Whether a cache shows less than was known when `status` was written. Caches of one
/// operator may be behind what another one saw; that must end no run, and take none back.
fn is_behind(shown: &Found, status: &CodingRunStatus) -> bool {
    match shown {
        Found::Own(own) => {
            own.status.last_start.as_ref().map(|start| start.number) < status.start_number
        }
        Found::Unreadable => false,
        Found::None | Found::OfAnEarlierRun | Found::Foreign => {
            status.agent.is_some() && !status.phase.is_some_and(Phase::is_an_end)
        }
    }
}

fn found(agent: &Agent, run: &Version, spec: &CodingRunSpec) -> Result<Found, Error> {
    if let Some(stranger) = stranger(&agent.metadata, run) {
        return Ok(stranger);
    }
    // Anybody may write an owner reference; ephemeral agents only Foundry makes (LIFE-05).
    if agent.spec.lifetime() != Lifetime::Ephemeral || agent.spec.owner != spec.owner {
        return Ok(Found::Foreign);
    }
    Ok(Found::Own(Box::new(Own {
        version: Version::of("Agent", agent.meta())?,
        spec: agent.spec.clone(),
        status: agent.status.clone().unwrap_or_default(),
        going: agent.metadata.deletion_timestamp.is_some(),
    })))
}

/// What an agent of the run's name is, when it is not the run's own.
fn stranger(agent: &ObjectMeta, run: &Version) -> Option<Found> {
    match workload::controller(agent) {
        Some(owner) if owner.uid == run.uid => None,
        Some(owner) if owner.kind == CodingRun::kind(&()) && owner.name == run.name => {
            Some(Found::OfAnEarlierRun)
        }
        Some(_) | None => Some(Found::Foreign),
    }
}

#[cfg(test)]
mod tests {
    use foundry_crds::agent::LastStart;
    use k8s_openapi::apimachinery::pkg::apis::meta::v1::OwnerReference;
    use pretty_assertions::assert_eq;
    use rstest::rstest;

    use super::*;

    fn run() -> Version {
        Version {
            name: "fix".to_owned(),
            namespace: "team".to_owned(),
            uid: "uid-run".to_owned(),
            revision: "1".to_owned(),
        }
    }

    fn spec() -> CodingRunSpec {
        CodingRunSpec { owner: "ann".to_owned(), ..CodingRunSpec::default() }
    }

    /// An agent that says it is the run's.
    fn claiming(owner: &str, lifetime: Lifetime) -> Agent {
        let mut agent = Agent::new(
            "fix",
            AgentSpec { owner: owner.to_owned(), lifetime: Some(lifetime), ..AgentSpec::default() },
        );
        agent.metadata = ObjectMeta {
            namespace: Some("team".to_owned()),
            uid: Some("uid-agent".to_owned()),
            resource_version: Some("1".to_owned()),
            owner_references: Some(vec![OwnerReference {
                kind: "CodingRun".to_owned(),
                name: "fix".to_owned(),
                uid: "uid-run".to_owned(),
                controller: Some(true),
                ..OwnerReference::default()
            }]),
            ..agent.metadata
        };
        agent
    }

    /// LIFE-05
    #[rstest]
    #[case("ann", Lifetime::Ephemeral, true)]
    #[case("ann", Lifetime::Persistent, false)]
    #[case("ben", Lifetime::Ephemeral, false)]
    fn an_owner_reference_alone_makes_no_agent_a_runs_own(
        #[case] owner: &str,
        #[case] lifetime: Lifetime,
        #[case] is_own: bool,
    ) {
        let found = found(&claiming(owner, lifetime), &run(), &spec()).unwrap();
        assert_eq!(matches!(found, Found::Own(_)), is_own, "{found:?}");
    }

    fn own(start: Option<i64>) -> Found {
        let mut agent = claiming("ann", Lifetime::Ephemeral);
        let last_start = start.map(|number| LastStart { number, ..LastStart::default() });
        agent.status = Some(AgentStatus { last_start, ..AgentStatus::default() });
        found(&agent, &run(), &spec()).unwrap()
    }

    /// The agent itself is read before its absence, or an earlier start of it, counts.
    #[rstest]
    #[case::not_made(Found::None, None, None, false)]
    #[case::made(Found::None, None, Some(Phase::Pending), true)]
    #[case::of_an_earlier_run(Found::OfAnEarlierRun, None, Some(Phase::Pending), true)]
    #[case::foreign(Found::Foreign, Some(1), Some(Phase::Building), true)]
    #[case::ended(Found::None, Some(1), Some(Phase::Succeeded), false)]
    #[case::unreadable(Found::Unreadable, Some(1), Some(Phase::Building), false)]
    #[case::not_begun(own(None), None, Some(Phase::Pending), false)]
    #[case::of_this_start(own(Some(2)), Some(2), Some(Phase::Building), false)]
    #[case::of_a_later_start(own(Some(3)), Some(2), Some(Phase::Failed), false)]
    #[case::of_an_earlier_start(own(Some(1)), Some(2), Some(Phase::Succeeded), true)]
    #[case::before_its_start(own(None), Some(1), Some(Phase::Planning), true)]
    fn a_cache_that_is_behind_is_not_believed(
        #[case] shown: Found,
        #[case] start_number: Option<i64>,
        #[case] phase: Option<Phase>,
        #[case] is: bool,
    ) {
        let agent = phase.map(|_| "fix".to_owned());
        let status = CodingRunStatus { agent, phase, start_number, ..CodingRunStatus::default() };
        assert_eq!(is_behind(&shown, &status), is, "{shown:?}");
    }
}
