//! Where a swarm stands, as tables.

use foundry_crds::SwarmSpec;
use k8s_openapi::jiff::Timestamp;
use pretty_assertions::assert_eq;
use rstest::rstest;

use super::*;
use crate::agent::plan::Parent;
use crate::swarm::SwarmId;
use crate::swarm::apply::Applied;
use crate::swarm::phase::Stand;
use crate::swarm::plan::{Action, Plan};
use crate::swarm::report;

fn swarm(is_dismissed: bool, phase: Option<SwarmPhase>) -> Observed {
    Observed {
        swarm: SwarmId {
            namespace: "space".to_owned(),
            name: "team".to_owned(),
            uid: "uid-swarm".to_owned(),
        },
        generation: 1,
        spec: SwarmSpec { dismissed: Some(is_dismissed), ..SwarmSpec::default() },
        status: SwarmStatus { phase, ..SwarmStatus::default() },
        parent: Parent::OwnedBy("ann".to_owned()),
        parent_is_archived: false,
        members: std::collections::BTreeMap::new(),
    }
}

fn member(index: usize, phase: MemberPhase, trouble: Option<Trouble>) -> Planned {
    let name = ["a", "b", "c"][index].to_owned();
    Planned {
        agent: format!("team-{name}"),
        name,
        is_taken_out: false,
        action: None,
        stand: Stand {
            phase,
            is_made: true,
            has_begun: !matches!(phase, MemberPhase::Pending),
            is_clear: phase == MemberPhase::Expired,
            trouble,
        },
    }
}

fn members(phases: &[MemberPhase]) -> Vec<Planned> {
    phases.iter().enumerate().map(|(index, phase)| member(index, *phase, None)).collect()
}

use MemberPhase::{Expired, Failed, Pending, Running, Stopped, Succeeded};

#[rstest]
#[case(&[Pending, Pending], SwarmPhase::Pending, "0/2", reason::PENDING, Readiness::Ready, false)]
#[case(&[Running, Pending], SwarmPhase::Running, "0/2", reason::RUNNING, Readiness::Ready, false)]
#[case(&[Succeeded, Running], SwarmPhase::Running, "1/2", reason::RUNNING, Readiness::Ready, false)]
#[case(&[Succeeded, Pending], SwarmPhase::Running, "1/2", reason::RUNNING, Readiness::Ready, false)]
#[case(&[Succeeded, Stopped], SwarmPhase::Running, "1/2", reason::STOPPED, Readiness::Ready, false)]
#[case(&[Expired, Running], SwarmPhase::Running, "1/2", reason::RUNNING, Readiness::Ready, false)]
#[case(&[Succeeded, Succeeded], SwarmPhase::Succeeded, "2/2", reason::SUCCEEDED, Readiness::Ready, true)]
#[case(&[Succeeded, Failed], SwarmPhase::Failed, "2/2", reason::MEMBER_FAILED, Readiness::Stalled, false)]
#[case(&[Succeeded, Expired], SwarmPhase::Failed, "2/2", reason::EXPIRED, Readiness::Stalled, false)]
#[case(&[Expired, Failed], SwarmPhase::Failed, "2/2", reason::MEMBER_FAILED, Readiness::Stalled, false)]
fn a_swarm_stands_where_its_members_do(
    #[case] phases: &[MemberPhase],
    #[case] phase: SwarmPhase,
    #[case] summary: &str,
    #[case] reason: &str,
    #[case] readiness: Readiness,
    #[case] is_complete: bool,
) {
    let standing = standing(&swarm(false, None), &members(phases), None);
    assert_eq!((standing.phase, standing.summary.as_str()), (phase, summary));
    assert_eq!((standing.reason, standing.readiness), (reason, readiness));
    assert_eq!(standing.is_complete, is_complete);
}

/// SWARM-04
#[rstest]
#[case::runs(&[Running, Expired], None, SwarmPhase::Running, reason::DRAINING, false)]
#[case::had_ended(&[Succeeded, Expired], Some(SwarmPhase::Failed), SwarmPhase::Failed, reason::DRAINING, false)]
#[case::no_end_of_its_own(&[Failed, Expired], Some(SwarmPhase::Running), SwarmPhase::Running, reason::DRAINING, false)]
#[case::is_clear(&[Expired, Expired], Some(SwarmPhase::Running), SwarmPhase::Dismissed, reason::DISMISSED, false)]
#[case::is_restarted(&[Running, Expired], Some(SwarmPhase::Dismissed), SwarmPhase::Dismissed, reason::DISMISSED, false)]
#[case::was_complete(&[Succeeded, Succeeded], Some(SwarmPhase::Dismissed), SwarmPhase::Dismissed, reason::DISMISSED, true)]
fn a_dismissed_swarm_is_so_for_good_once_nothing_of_it_runs(
    #[case] phases: &[MemberPhase],
    #[case] before: Option<SwarmPhase>,
    #[case] phase: SwarmPhase,
    #[case] reason: &str,
    #[case] is_complete: bool,
) {
    let standing = standing(&swarm(true, before), &members(phases), None);
    assert_eq!((standing.phase, standing.reason), (phase, reason));
    assert_eq!(standing.is_complete, is_complete, "what ended well before stays so");
    let is_there = standing.phase == SwarmPhase::Dismissed;
    assert_eq!(standing.readiness == Readiness::Ready, is_there);
}

/// A swarm of none that was ever made is dismissed at once.
#[test]
fn a_swarm_that_never_began_is_dismissed_at_once() {
    let unmade = vec![Planned { stand: Stand::unmade(None), ..member(0, Pending, None) }];
    let standing = standing(&swarm(true, Some(SwarmPhase::Pending)), &unmade, None);
    assert_eq!((standing.phase, standing.summary.as_str()), (SwarmPhase::Dismissed, "0/1"));
    assert_eq!(standing.members, vec![], "listed is what was made");
}

/// The worst of all troubles decides, and each is told with its member's name.
#[test]
fn every_trouble_is_told_and_the_worst_decides() {
    let waits = Trouble::passing(reason::HARNESS_NOT_FOUND, "no Harness".to_owned());
    let refused = Trouble::stalled(reason::REFUSED, "refused: tools".to_owned());
    let all = vec![
        member(0, Pending, Some(waits)),
        member(1, Running, None),
        member(2, Pending, Some(refused)),
    ];
    let parent = Trouble::passing(reason::PARENT_NOT_FOUND, "no parent".to_owned());
    let standing = standing(&swarm(false, None), &all, Some(&parent));
    assert_eq!((standing.readiness, standing.reason), (Readiness::Stalled, reason::REFUSED));
    assert_eq!(
        standing.message,
        "no parent; member \"a\": no Harness; member \"c\": refused: tools"
    );
    assert_eq!(standing.phase, SwarmPhase::Running, "the others go on");
}

/// Twenty members with long troubles are all named within what a condition holds.
#[test]
fn long_troubles_are_cut_so_that_each_member_is_named() {
    let long = Trouble::stalled(reason::REFUSED, "ö".repeat(4_000));
    let all: Vec<_> = (0..20)
        .map(|index| Planned {
            name: format!("member-{index:02}"),
            ..member(0, Pending, Some(long.clone()))
        })
        .collect();
    let standing = standing(&swarm(false, None), &all, None);
    assert!(standing.message.len() <= 4_096, "{}", standing.message.len());
    assert!(standing.message.contains("member-19"));
}

/// A member that is taken out counts no more, and is listed while its agent is there.
#[test]
fn a_member_taken_out_counts_no_more() {
    let out = Planned { is_taken_out: true, ..member(1, Failed, None) };
    let all = vec![member(0, Succeeded, None), out];
    let standing = standing(&swarm(false, None), &all, None);
    assert_eq!((standing.phase, standing.summary.as_str()), (SwarmPhase::Succeeded, "1/1"));
    let listed: Vec<_> = standing.members.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(listed, ["a", "b"]);
}

/// The words of an end outlive what they were read from.
#[test]
fn what_killed_a_member_is_still_told_when_its_agent_tells_no_more() {
    let killed = Trouble::stalled(reason::MEMBER_FAILED, "OOMKilled".to_owned());
    let mut observed = swarm(false, None);
    let failed = vec![member(0, Failed, Some(killed))];
    let first = standing(&observed, &failed, None);
    assert_eq!(first.message, "member \"a\": OOMKilled");
    observed.status = report::status(&observed, &first, Timestamp::UNIX_EPOCH);
    let later = vec![member(0, Failed, None)];
    assert_eq!(standing(&observed, &later, None), first);
    observed.generation = 2;
    assert_ne!(standing(&observed, &later, None).message, first.message, "of another spec");
}

/// What the cluster refuses is told in its words, with the time of the next try, and the
/// member waits; nothing says that it was made.
#[rstest]
#[case::quota("exceeded quota: count/agents=1", Readiness::Reconciling)]
#[case::tools("harness \"agent-v1\" does not permit tool x", Readiness::Stalled)]
fn a_refused_member_waits_in_the_clusters_words(#[case] words: &str, #[case] readiness: Readiness) {
    let mut refused = member(0, Pending, None);
    refused.action = Some(Action::Create(Box::new(foundry_crds::Agent::new(
        "team-a",
        foundry_crds::AgentSpec::default(),
    ))));
    refused.stand = Stand::just_made();
    let plan = Plan { members: vec![refused, member(1, Running, None)], obstacle: None };
    let applied =
        Applied { refused: [("a".to_owned(), words.to_owned())].into(), ..Applied::default() };
    let standing = report::standing(&swarm(false, None), &plan, &applied);
    assert_eq!((standing.reason, standing.readiness), (reason::REFUSED, readiness));
    assert!(standing.message.contains(words) && standing.message.contains("every 30 s"));
    assert_eq!(standing.look_again, Duration::from_secs(30));
    let listed: Vec<_> = standing.members.iter().map(|it| it.name.as_str()).collect();
    assert_eq!(listed, ["b"], "it is made when the cluster takes it");
}

/// A settled swarm is reported as it is.
#[test]
fn a_settled_swarm_is_reported_as_it_is() {
    let mut observed = swarm(false, None);
    let all = members(&[Running, Succeeded]);
    let at = |second| Timestamp::from_second(second).unwrap();
    observed.status = report::status(&observed, &standing(&observed, &all, None), at(10));
    let again = report::status(&observed, &standing(&observed, &all, None), at(99));
    assert_eq!(again, observed.status);
    assert!(again.start_time.is_some() && again.completion_time.is_none());
}
