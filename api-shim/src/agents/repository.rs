//! The repository scope of a coding agent: as a request names it, as the resource holds
//! it, and as answers show it (CODE-09).

use foundry_client::{Activation, Approval, RepositoryScope};
use foundry_crds::{
    AgentSpec, Harness,
    agent::{self, Lifetime},
    coding_run::{self, Limits, Repository},
};

use crate::{identity::Actor, problem::Problem};

/// Model turns in one attempt that admission lets in.
const TURNS: std::ops::RangeInclusive<u32> = 10..=500;
/// Seconds of a task that admission lets in.
const SECONDS: std::ops::RangeInclusive<u64> = 60..=86_400;

/// Carries a scope out on a spec: the whole of it, and nothing left to a default, so
/// that what an earlier scope said is gone. Its forms are for admission to judge.
pub fn apply(scope: RepositoryScope, spec: &mut AgentSpec) {
    let RepositoryScope {
        remote,
        base_ref,
        default_ref,
        paths,
        extra_commands,
        approval,
        turns_per_attempt,
        wall_clock_seconds,
    } = scope;
    let limits = Limits {
        turns_per_attempt: turns_per_attempt.map(i64::from),
        wall_clock: wall_clock_seconds.map(|seconds| format!("{seconds}s")),
    };
    spec.repository = Some(Repository { remote, base_ref, default_ref, paths, extra_commands });
    spec.approval = Some(match approval.unwrap_or(Approval::Person) {
        Approval::Person => coding_run::Approval::Person,
        Approval::Itself => coding_run::Approval::Itself,
    });
    spec.limits = Some(limits.in_full());
}

/// The scope of an agent with what holds for it.
pub fn of_agent(spec: &AgentSpec) -> Option<RepositoryScope> {
    let repository = spec.repository.as_ref()?;
    Some(shown(repository, spec.approval(), &spec.limits()))
}

/// A repository with who approves plans for it and the bounds of each task.
pub fn shown(
    repository: &Repository,
    approval: coding_run::Approval,
    limits: &Limits,
) -> RepositoryScope {
    let Repository { remote, base_ref, default_ref, paths, extra_commands } = repository.clone();
    RepositoryScope {
        remote,
        base_ref,
        default_ref,
        paths,
        extra_commands,
        approval: Some(match approval {
            coding_run::Approval::Person => Approval::Person,
            coding_run::Approval::Itself => Approval::Itself,
        }),
        turns_per_attempt: u32::try_from(limits.turns_per_attempt()).ok(),
        wall_clock_seconds: Some(limits.wall_clock().as_secs()),
    }
}

/// Checks a scope that a request names.
pub fn check(scope: &RepositoryScope, harness: &Harness) -> Result<(), Problem> {
    if !harness.spec.has_repo_scope() {
        let detail = "the harness works on no repository: it lacks the feature repo_scope";
        return Err(Problem::invalid("repository", "RepositoryNotAllowed", detail)
            .remedy("leave repository away, or name a harness with that feature"));
    }
    if scope.turns_per_attempt.is_some_and(|turns| !TURNS.contains(&turns)) {
        let detail =
            format!("turns_per_attempt is not within {} and {}", TURNS.start(), TURNS.end());
        return Err(Problem::invalid("repository.turns_per_attempt", "OutOfRange", detail));
    }
    if scope.wall_clock_seconds.is_some_and(|seconds| !SECONDS.contains(&seconds)) {
        let (least, most) = (SECONDS.start(), SECONDS.end());
        let detail = format!("wall_clock_seconds is not within {least} and {most}");
        return Err(Problem::invalid("repository.wall_clock_seconds", "OutOfRange", detail));
    }
    Ok(())
}

/// Only a person says that an agent approves its own plans: whoever may not answer in a
/// person's place must not do away with the question either (CODE-31).
pub fn check_approval(
    scope: Option<&RepositoryScope>,
    current: Option<&AgentSpec>,
    actor: &Actor,
) -> Result<(), Problem> {
    let is_self = scope.is_some_and(|scope| scope.approval == Some(Approval::Itself));
    let was_self = current.is_some_and(|spec| spec.approval() == coding_run::Approval::Itself);
    match actor {
        Actor::Agent { .. } | Actor::Service { .. } if is_self && !was_self => {
            let detail = "only a person lets an agent approve its own plans";
            Err(Problem::forbidden("NotAPerson", detail)
                .field("repository.approval")
                .remedy("leave approval away, or have a person who may edit the agent set it"))
        }
        Actor::Person { .. } | Actor::Agent { .. } | Actor::Service { .. } => Ok(()),
    }
}

/// An on-demand agent thinks inside the API, which has no toolchain: nothing could run
/// the work of a coding agent (CODE-38).
pub fn check_activation(
    activation: Option<Activation>,
    current: Option<&AgentSpec>,
    codes: bool,
) -> Result<(), Problem> {
    let persistent = current.is_none_or(|spec| spec.lifetime() == Lifetime::Persistent);
    let on_demand = match activation {
        Some(activation) => activation == Activation::OnDemand,
        None => current.is_some_and(|spec| spec.activation() == agent::Activation::OnDemand),
    };
    if !(codes && persistent && on_demand) {
        return Ok(());
    }
    let detail = "a coding agent needs a process of its own, and an on-demand agent has none";
    Err(Problem::invalid("activation", "CodingOnDemand", detail)
        .remedy("set activation to always_on, or choose a harness without repo_scope"))
}
