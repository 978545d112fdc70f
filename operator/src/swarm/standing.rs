//! Where a swarm stands: a pure reading of where its members stand.

use std::time::Duration;

use foundry_crds::SwarmStatus;
use foundry_crds::condition::{self, kind, reason};
use foundry_crds::swarm::{MemberPhase, MemberStanding, SwarmPhase};

use super::observe::Observed;
use super::phase::{DRAINING_AGAIN, LOOK_AGAIN, Trouble};
use super::plan::Planned;
use crate::conditions::{Readiness, clip};

/// Most members that a status holds.
const MOST_MEMBERS: usize = 100;
/// Bytes of a message that the troubles of all members share.
const MOST_WORDS: usize = 3_500;

/// Where a swarm stands, and what a person is told.
#[derive(Debug, Clone, PartialEq)]
pub struct Standing {
    /// The PHASE column.
    pub phase: SwarmPhase,
    /// How far the cluster is from the spec.
    pub readiness: Readiness,
    /// One documented word.
    pub reason: &'static str,
    /// What happened and what to do, for a person.
    pub message: String,
    /// Whether every member ended well.
    pub is_complete: bool,
    /// Whether a process of a member ever lived.
    pub has_begun: bool,
    /// The members whose agent was made, in the order of their names.
    pub members: Vec<MemberStanding>,
    /// The MEMBERS column.
    pub summary: String,
    /// When to look again, whatever the watches say.
    pub look_again: Duration,
}

/// Where a swarm stands whose members stand so, with what keeps others from being made.
pub fn standing(observed: &Observed, members: &[Planned], obstacle: Option<&Trouble>) -> Standing {
    let tally = Tally::of(members);
    let has_begun =
        observed.status.start_time.is_some() || members.iter().any(|member| member.stand.has_begun);
    let phase = phase(observed, members, &tally, has_begun);
    let listed = listed(members);
    let words = match phase {
        SwarmPhase::Dismissed => {
            let message = "the swarm is dismissed; a member can be restarted by itself".to_owned();
            Words::new(Readiness::Ready, reason::DISMISSED, message)
        }
        _ if observed.spec.is_dismissed() => {
            Words::of_troubles(members, obstacle).unwrap_or_else(|| dismissing(&observed.status))
        }
        SwarmPhase::Succeeded | SwarmPhase::Failed => {
            kept(observed, phase, &listed).unwrap_or_else(|| end(members, &tally))
        }
        SwarmPhase::Pending | SwarmPhase::Running => {
            Words::of_troubles(members, obstacle).unwrap_or_else(|| under_way(phase, &tally))
        }
    };
    Standing {
        phase,
        is_complete: tally.all > 0 && tally.succeeded == tally.all,
        has_begun,
        summary: format!("{}/{}", tally.ended, tally.all),
        look_again: look_again(observed, phase, members, obstacle),
        members: listed,
        readiness: words.readiness,
        reason: words.reason,
        message: words.message,
    }
}

/// How many of the members that the spec names stand where.
#[derive(Debug, Clone, Copy, Default)]
struct Tally {
    all: usize,
    running: usize,
    stopped: usize,
    succeeded: usize,
    ended: usize,
}

impl Tally {
    fn of(members: &[Planned]) -> Self {
        let mut tally = Self::default();
        for member in members.iter().filter(|member| !member.is_taken_out) {
            let phase = member.stand.phase;
            tally.all += 1;
            tally.running += usize::from(phase == MemberPhase::Running);
            tally.stopped += usize::from(phase == MemberPhase::Stopped);
            tally.succeeded += usize::from(phase == MemberPhase::Succeeded);
            tally.ended += usize::from(phase.is_an_end());
        }
        tally
    }
}

fn phase(observed: &Observed, members: &[Planned], tally: &Tally, has_begun: bool) -> SwarmPhase {
    let before = observed.status.phase;
    let is_clear = members.iter().all(|member| member.stand.is_clear);
    let under_way = if has_begun { SwarmPhase::Running } else { SwarmPhase::Pending };
    if observed.spec.is_dismissed() {
        return match before {
            Some(SwarmPhase::Dismissed) => SwarmPhase::Dismissed,
            _ if is_clear => SwarmPhase::Dismissed,
            // What had ended before it was dismissed has ended meanwhile too.
            Some(end @ (SwarmPhase::Succeeded | SwarmPhase::Failed)) => end,
            Some(SwarmPhase::Pending | SwarmPhase::Running) | None => under_way,
        };
    }
    if tally.ended < tally.all {
        under_way
    } else if tally.succeeded == tally.all {
        SwarmPhase::Succeeded
    } else {
        SwarmPhase::Failed
    }
}

/// Those whose agent was made; where there are too many, those of the spec first.
fn listed(members: &[Planned]) -> Vec<MemberStanding> {
    let made = |is_taken_out: bool| {
        members
            .iter()
            .filter(move |member| member.stand.is_made && member.is_taken_out == is_taken_out)
    };
    let mut listed: Vec<_> = made(false)
        .chain(made(true))
        .take(MOST_MEMBERS)
        .map(|member| MemberStanding {
            name: member.name.clone(),
            agent: member.agent.clone(),
            phase: member.stand.phase,
        })
        .collect();
    listed.sort_by(|one, other| one.name.cmp(&other.name));
    listed
}

/// What a person is told.
struct Words {
    readiness: Readiness,
    reason: &'static str,
    message: String,
}

impl Words {
    fn new(readiness: Readiness, reason: &'static str, message: String) -> Self {
        Self { readiness, reason, message }
    }

    /// What is otherwise than the spec says: the worst decides, and all of it is told.
    fn of_troubles(members: &[Planned], obstacle: Option<&Trouble>) -> Option<Self> {
        let troubles: Vec<_> = obstacle
            .into_iter()
            .map(|trouble| (None, trouble))
            .chain(members.iter().filter_map(|member| {
                Some((Some(member.name.as_str()), member.stand.trouble.as_ref()?))
            }))
            .collect();
        let is_stalled = |trouble: &Trouble| trouble.readiness == Readiness::Stalled;
        let worst = troubles.iter().find(|(_, trouble)| is_stalled(trouble));
        let (_, worst) = worst.or_else(|| troubles.first())?;
        let each = MOST_WORDS / troubles.len();
        let told: Vec<_> = troubles
            .iter()
            .map(|(name, trouble)| {
                let words = clip(&trouble.message, each);
                name.map_or_else(|| words.to_owned(), |name| format!("member \"{name}\": {words}"))
            })
            .collect();
        Some(Self::new(worst.readiness, worst.reason, told.join("; ")))
    }
}

fn dismissing(status: &SwarmStatus) -> Words {
    let message = match status.phase {
        Some(SwarmPhase::Succeeded | SwarmPhase::Failed) => {
            "the swarm is dismissed: its members expire"
        }
        _ => "the swarm is dismissed: its members are told to end",
    };
    Words::new(Readiness::Reconciling, reason::DRAINING, message.to_owned())
}

fn under_way(phase: SwarmPhase, tally: &Tally) -> Words {
    let Tally { all, running, stopped, succeeded: _, ended } = *tally;
    let (reason, message) = if phase == SwarmPhase::Pending {
        (reason::PENDING, "its members are asked for".to_owned())
    } else if stopped > 0 && stopped + ended == all {
        let message = format!(
            "{stopped} of {all} members are stopped; start them to go on, or dismiss the swarm"
        );
        (reason::STOPPED, message)
    } else {
        (reason::RUNNING, format!("{running} of {all} members run, {ended} have ended"))
    };
    Words::new(Readiness::Ready, reason, message)
}

/// How a swarm ends.
fn end(members: &[Planned], tally: &Tally) -> Words {
    if tally.succeeded == tally.all {
        let message = "every member ended well".to_owned();
        return Words::new(Readiness::Ready, reason::SUCCEEDED, message);
    }
    let is_failed = |member: &Planned| member.stand.phase == MemberPhase::Failed;
    let said = || members.iter().filter(|member| !member.is_taken_out);
    let reason = if said().any(is_failed) { reason::MEMBER_FAILED } else { reason::EXPIRED };
    let badly: Vec<_> = said()
        .filter(|member| member.stand.phase != MemberPhase::Succeeded)
        .map(|member| {
            let trouble = member.stand.trouble.as_ref().map(|trouble| trouble.message.as_str());
            let why = trouble.unwrap_or(
                "its time was over before it had ended; restart its agent to begin again",
            );
            (member.name.as_str(), why)
        })
        .collect();
    let each = MOST_WORDS / badly.len().max(1);
    let told: Vec<_> = badly
        .into_iter()
        .map(|(name, why)| format!("member \"{name}\": {}", clip(why, each)))
        .collect();
    Words::new(Readiness::Stalled, reason, told.join("; "))
}

/// What was told of this very end. What killed a process is not told by an agent that has
/// since expired; here it stays.
fn kept(observed: &Observed, phase: SwarmPhase, members: &[MemberStanding]) -> Option<Words> {
    let status = &observed.status;
    let is_the_same = status.phase == Some(phase)
        && status.members == members
        && status.observed_generation == Some(observed.generation);
    let told = status.conditions.iter().find(|condition| condition.type_ == kind::COMPLETE);
    let told = told.filter(|_| is_the_same)?;
    let word = condition::documented(&told.reason)?.word;
    let readiness = match phase {
        SwarmPhase::Failed => Readiness::Stalled,
        _ => Readiness::Ready,
    };
    Some(Words::new(readiness, word, told.message.clone()))
}

fn look_again(
    observed: &Observed,
    phase: SwarmPhase,
    members: &[Planned],
    obstacle: Option<&Trouble>,
) -> Duration {
    if phase == SwarmPhase::Dismissed {
        return LOOK_AGAIN;
    }
    // A trouble has a time of its own: what is refused is not asked for each second.
    let quiet = if observed.spec.is_dismissed() { DRAINING_AGAIN } else { LOOK_AGAIN };
    let troubles = members.iter().filter_map(|member| member.stand.trouble.as_ref());
    let waits = troubles.chain(obstacle).map(|trouble| trouble.look_again);
    waits.min().unwrap_or(quiet)
}

#[cfg(test)]
mod tests;
