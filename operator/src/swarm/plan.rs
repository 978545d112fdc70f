//! What should be done for a swarm: all rules, no input or output.

use foundry_crds::Agent;
use foundry_crds::agent::Lifecycle;
use foundry_crds::condition::reason;
use foundry_crds::swarm::{MemberPhase, SwarmMember, member_agent};
use k8s_openapi::jiff::Timestamp;

use super::child::{self, Edit};
use super::observe::{self, Ability, Found, Member, Observed, Own};
use super::phase::{self, DRAINING_AGAIN, Stand, Trouble};
use crate::agent::plan::{MISSING_AGAIN, Parent};
use crate::apply::Version;

/// What is to be done.
#[derive(Debug, Clone, PartialEq)]
pub struct Plan {
    /// The members, in the order of their names.
    pub members: Vec<Planned>,
    /// What keeps members from being made, all of them alike.
    pub obstacle: Option<Trouble>,
}

/// What is to be done for one member.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned {
    /// Its name within the swarm.
    pub name: String,
    /// Name of its agent.
    pub agent: String,
    /// Whether the spec names it no more.
    pub is_taken_out: bool,
    /// What to do with its agent.
    pub action: Option<Action>,
    /// Where it stands once that is done.
    pub stand: Stand,
}

/// What to do with a member's agent.
#[derive(Debug, Clone, PartialEq)]
pub enum Action {
    /// Make it.
    Create(Box<Agent>),
    /// Write these fields of it.
    Edit(Version, Box<Edit>),
    /// Write that its time is over.
    Expire(Version),
}

/// Decides what to do for each member of a swarm. No member waits for another.
pub fn plan(observed: &Observed, now: Timestamp) -> Plan {
    let obstacle = obstacle(observed);
    let members: Vec<_> = observed
        .members
        .iter()
        .map(|(name, member)| {
            let (action, stand) = of_member(observed, name, member, obstacle.as_ref(), now);
            Planned {
                agent: member_agent(&observed.swarm.name, name),
                name: name.clone(),
                is_taken_out: member.said.is_none(),
                action,
                stand,
            }
        })
        .collect();
    let is_in_the_way =
        !observed.spec.is_dismissed() && members.iter().any(|member| !member.stand.is_made);
    Plan { obstacle: obstacle.filter(|_| is_in_the_way), members }
}

fn of_member(
    observed: &Observed,
    name: &str,
    member: &Member,
    obstacle: Option<&Trouble>,
    now: Timestamp,
) -> (Option<Action>, Stand) {
    let known = observe::known(&observed.status, name);
    match (&member.agent, known, &member.said) {
        (Found::Own(own), _, said) => of_agent(observed, said.as_ref(), own, known, now),
        (Found::Unreadable, _, _) => (None, Stand::unreadable(known)),
        (Found::None | Found::OfAnEarlierSwarm | Found::Foreign, Some(known), _) => {
            (None, Stand::deleted(known))
        }
        (Found::None | Found::OfAnEarlierSwarm | Found::Foreign, None, None) => {
            (None, Stand::unmade(None))
        }
        // SWARM-04: nothing is made for a swarm that is dismissed.
        (_, None, Some(_)) if observed.spec.is_dismissed() => (None, Stand::unmade(None)),
        (Found::OfAnEarlierSwarm, None, Some(_)) => {
            let message = "the agent of an earlier swarm of this name still ends".to_owned();
            let trouble = Trouble::passing(reason::DRAINING, message);
            (None, Stand::unmade(Some(Trouble { look_again: DRAINING_AGAIN, ..trouble })))
        }
        (Found::Foreign, None, Some(_)) => {
            let message = format!(
                "Agent \"{}\" exists and is not this swarm's; delete it, or give the member \
                 another name",
                member_agent(&observed.swarm.name, name)
            );
            (None, Stand::unmade(Some(held(Trouble::stalled(reason::NAME_TAKEN, message)))))
        }
        (Found::None, None, Some(_)) if obstacle.is_some() => (None, Stand::unmade(None)),
        (Found::None, None, Some(said)) => make(observed, member.harness, said, now),
    }
}

/// The agent of a member is made, unless its Harness stands in the way.
fn make(
    observed: &Observed,
    harness: Ability,
    member: &SwarmMember,
    now: Timestamp,
) -> (Option<Action>, Stand) {
    let name = &member.harness;
    let trouble = match harness {
        Ability::Able => {
            let agent = child::agent(&observed.swarm, &observed.spec, member, now);
            return (Some(Action::Create(Box::new(agent))), Stand::just_made());
        }
        Ability::Missing => {
            let message = format!(
                "Harness \"{name}\" not found in namespace {}; create it or name another; looked \
                 for every 15 s",
                observed.swarm.namespace
            );
            Trouble::passing(reason::HARNESS_NOT_FOUND, message)
        }
        Ability::NoPods => {
            let message = format!(
                "Harness \"{name}\" is of host chat and has no pods, and a member runs as a Job; \
                 name another"
            );
            Trouble::stalled(reason::HARNESS_LACKS_FEATURE, message)
        }
    };
    (None, Stand::unmade(Some(held(trouble))))
}

/// Something stands in the way, and may go.
fn held(trouble: Trouble) -> Trouble {
    Trouble { look_again: MISSING_AGAIN, ..trouble }
}

/// A member that has its agent: told to go, or kept as the spec says.
fn of_agent(
    observed: &Observed,
    said: Option<&SwarmMember>,
    own: &Own,
    known: Option<MemberPhase>,
    now: Timestamp,
) -> (Option<Action>, Stand) {
    let is_dismissed = observed.spec.is_dismissed();
    let is_over = observe::is_being_dismissed(&observed.spec, &observed.status) || said.is_none();
    // What was restarted by itself after a dismissal is not told to go once more.
    let is_told_to_go = is_over || (is_dismissed && own.spec.lifecycle() != Lifecycle::Active);
    let stand = phase::of_agent(own, known, is_told_to_go, now);
    let action = match said {
        _ if own.going => None,
        _ if is_over && own.spec.lifecycle() == Lifecycle::Active => {
            Some(Action::Expire(own.version.clone())) // SWARM-04
        }
        Some(said) => child::edit(&observed.spec, said, own, now)
            .map(|edit| Action::Edit(own.version.clone(), Box::new(edit))),
        None => None,
    };
    (action, stand)
}

/// Why no member may be made now.
fn obstacle(observed: &Observed) -> Option<Trouble> {
    let Observed { swarm, generation: _, spec, status: _, parent, parent_is_archived, members: _ } =
        observed;
    match parent {
        Parent::Missing(name) => {
            let message = format!(
                "agent \"{name}\", which spec.parent says started this swarm, not found in \
                 namespace {}; looked for every 15 s",
                swarm.namespace
            );
            Some(held(Trouble::passing(reason::PARENT_NOT_FOUND, message)))
        }
        Parent::OwnedBy(owner) if *owner != spec.owner => {
            let message = "the agent that spec.parent names has another owner; a swarm acts for \
                           the owner of the agent that started it";
            Some(held(Trouble::stalled(reason::PARENT_OWNER, message.to_owned())))
        }
        Parent::OwnedBy(_) if *parent_is_archived => {
            let message = format!(
                "agent \"{}\", which started this swarm, is archived, so no further member is \
                 made; dismiss the swarm, or create it for another agent",
                spec.parent
            );
            Some(held(Trouble::stalled(reason::PARENT_ARCHIVED, message)))
        }
        Parent::None | Parent::OwnedBy(_) => None,
    }
}

#[cfg(test)]
mod tests;
