//! The rules of a swarm's members, as tables.

use std::collections::BTreeMap;

use foundry_crds::agent::{DesiredState, Lifetime, Member as Reader, MemberRole, SkillRef};
use foundry_crds::swarm::{MemberStanding, SwarmPhase};
use foundry_crds::{AgentSpec, AgentState, AgentStatus, SwarmSpec, SwarmStatus, meta};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, Time};
use pretty_assertions::assert_eq;
use rstest::rstest;

use super::*;
use crate::conditions::Readiness;
use crate::swarm::SwarmId;
use crate::swarm::child::Fields;

mod life;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

fn said(name: &str) -> SwarmMember {
    SwarmMember {
        name: name.to_owned(),
        harness: "agent-v1".to_owned(),
        instructions: format!("Do what {name} does."),
        ..SwarmMember::default()
    }
}

fn unmade(said: SwarmMember) -> (String, Member) {
    let name = said.name.clone();
    (name, Member { said: Some(said), harness: Ability::Able, agent: Found::None })
}

/// A swarm of two that nobody has looked at, its parent and Harness there.
fn fresh() -> Observed {
    let members = vec![said("code"), said("docs")];
    Observed {
        swarm: SwarmId {
            namespace: "space".to_owned(),
            name: "team".to_owned(),
            uid: "uid-swarm".to_owned(),
        },
        generation: 1,
        members: members.iter().cloned().map(unmade).collect(),
        spec: SwarmSpec {
            owner: "ann".to_owned(),
            parent: "lead".to_owned(),
            goal: "Ship it.".to_owned(),
            members,
            ..SwarmSpec::default()
        },
        status: SwarmStatus::default(),
        parent: Parent::OwnedBy("ann".to_owned()),
        parent_is_archived: false,
    }
}

fn planned<'a>(plan: &'a Plan, name: &str) -> &'a Planned {
    plan.members.iter().find(|member| member.name == name).unwrap()
}

fn created<'a>(plan: &'a Plan, name: &str) -> &'a Agent {
    match &planned(plan, name).action {
        Some(Action::Create(agent)) => agent,
        other => panic!("{name} is not made but {other:?}"),
    }
}

fn version(name: &str) -> Version {
    Version {
        name: name.to_owned(),
        namespace: "space".to_owned(),
        uid: format!("uid-{name}"),
        revision: "1".to_owned(),
    }
}

fn own_of(agent: &Agent) -> Own {
    let annotations = agent.metadata.annotations.as_ref().unwrap();
    Own {
        version: version(agent.metadata.name.as_deref().unwrap()),
        spec: agent.spec.clone(),
        status: AgentStatus::default(),
        ttl_seconds: annotations[meta::annotation::SWARM_TTL].parse().ok(),
        is_seen: false,
        going: false,
    }
}

/// The same swarm, its agents made and running.
fn running() -> Observed {
    let mut observed = fresh();
    let plan = plan(&observed, at(0));
    for (name, member) in &mut observed.members {
        let mut own = own_of(created(&plan, name));
        own.status.state = Some(AgentState::Running);
        own.is_seen = true;
        member.agent = Found::Own(Box::new(own));
        observed.status.members.push(standing(name, MemberPhase::Running));
    }
    observed
}

fn standing(name: &str, phase: MemberPhase) -> MemberStanding {
    MemberStanding { name: name.to_owned(), agent: format!("team-{name}"), phase }
}

fn own<'a>(observed: &'a mut Observed, name: &str) -> &'a mut Own {
    let Found::Own(own) = &mut observed.members.get_mut(name).unwrap().agent else {
        panic!("{name} has no agent")
    };
    own
}

/// What the spec says of a member, changed; as the spec and the observation hold it.
fn edited(observed: &mut Observed, name: &str, change: impl Fn(&mut SwarmMember)) {
    for member in observed.spec.members.iter_mut().filter(|member| member.name == name) {
        change(member);
    }
    if let Some(said) = &mut observed.members.get_mut(name).unwrap().said {
        change(said);
    }
}

fn actions(observed: &Observed, now: i64) -> BTreeMap<String, Action> {
    let members = plan(observed, at(now)).members.into_iter();
    members.filter_map(|member| Some((member.name, member.action?))).collect()
}

fn edits(observed: &Observed, now: i64) -> BTreeMap<String, Edit> {
    let edit = |(name, action)| match action {
        Action::Edit(version, edit) => {
            assert_eq!(version, self::version(&format!("team-{name}")));
            (name, *edit)
        }
        other => panic!("{name}: {other:?}"),
    };
    actions(observed, now).into_iter().map(edit).collect()
}

/// SWARM-01, SWARM-02, LIFE-06, LIFE-14, AUTHZ-02
#[test]
fn a_member_becomes_one_ephemeral_agent_that_says_everything() {
    let mut observed = fresh();
    edited(&mut observed, "docs", |member| {
        member.model = Some("gpt-5".to_owned());
        member.tools = vec!["send_email".to_owned()];
        member.skills = vec![SkillRef { name: "style".to_owned(), version: Some(2) }];
        member.tool_servers = vec!["wiki".to_owned()];
    });
    let plan = plan(&observed, at(0));
    let agent = created(&plan, "docs");
    assert_eq!(
        agent.spec,
        AgentSpec {
            owner: "ann".to_owned(),
            parent: Some("lead".to_owned()),
            swarm: Some("team".to_owned()),
            harness: "agent-v1".to_owned(),
            instructions: Some(
                "# Goal of the swarm\n\nShip it.\n\n# Your part, as member docs\n\n\
                 Do what docs does."
                    .to_owned()
            ),
            model: Some("gpt-5".to_owned()),
            tools: vec!["send_email".to_owned()],
            skills: vec![SkillRef { name: "style".to_owned(), version: Some(2) }],
            tool_servers: vec!["wiki".to_owned()],
            lifetime: Some(Lifetime::Ephemeral),
            ttl_at: Some(Time(at(4 * 3_600))),
            ..AgentSpec::default()
        },
        "its members are none: its roles are the parent's"
    );
    let ObjectMeta { name, namespace, labels, owner_references, .. } = agent.metadata.clone();
    assert_eq!((name.as_deref(), namespace.as_deref()), (Some("team-docs"), Some("space")));
    let labels = labels.unwrap();
    assert_eq!(labels["foundry.flow.life/parent"], "lead", "SWARM-05");
    assert_eq!(labels["foundry.flow.life/swarm"], "team");
    assert_eq!(labels["app.kubernetes.io/managed-by"], "foundry-operator");
    let owner = &owner_references.unwrap()[0];
    assert_eq!((owner.kind.as_str(), owner.uid.as_str()), ("Swarm", "uid-swarm"));
    assert_eq!((owner.controller, owner.block_owner_deletion), (Some(true), Some(false)));
}

/// WORK-01
#[test]
fn a_swarm_that_is_as_it_should_be_is_left_alone() {
    assert_eq!(plan(&fresh(), at(0)), plan(&fresh(), at(0)));
    assert_eq!(actions(&running(), 10), BTreeMap::new());
}

/// Nobody waits for a member that cannot be made.
#[rstest]
#[case::no_harness(|member: &mut Member| member.harness = Ability::Missing, reason::HARNESS_NOT_FOUND, Readiness::Reconciling)]
#[case::no_pods(|member: &mut Member| member.harness = Ability::NoPods, reason::HARNESS_LACKS_FEATURE, Readiness::Stalled)]
#[case::foreign(|member: &mut Member| member.agent = Found::Foreign, reason::NAME_TAKEN, Readiness::Stalled)]
#[case::earlier(|member: &mut Member| member.agent = Found::OfAnEarlierSwarm, reason::DRAINING, Readiness::Reconciling)]
#[case::unreadable(|member: &mut Member| member.agent = Found::Unreadable, reason::INVALID, Readiness::Stalled)]
fn one_broken_member_holds_up_no_other(
    #[case] breaks: fn(&mut Member),
    #[case] reason: &str,
    #[case] readiness: Readiness,
) {
    let mut observed = fresh();
    breaks(observed.members.get_mut("code").unwrap());
    let plan = plan(&observed, at(0));
    created(&plan, "docs");
    let broken = planned(&plan, "code");
    assert_eq!(broken.action, None);
    assert_eq!(broken.stand.phase, MemberPhase::Pending);
    let trouble = broken.stand.trouble.as_ref().unwrap();
    assert_eq!((trouble.reason, trouble.readiness), (reason, readiness));
}

/// SWARM-02: a member acts for whom the agent that started it acts for.
#[rstest]
#[case::missing(|it: &mut Observed| it.parent = Parent::Missing("lead".to_owned()), reason::PARENT_NOT_FOUND, Readiness::Reconciling)]
#[case::of_another(|it: &mut Observed| it.parent = Parent::OwnedBy("ben".to_owned()), reason::PARENT_OWNER, Readiness::Stalled)]
#[case::archived(|it: &mut Observed| it.parent_is_archived = true, reason::PARENT_ARCHIVED, Readiness::Stalled)]
fn nothing_is_made_for_a_parent_that_cannot_be_one(
    #[case] breaks: fn(&mut Observed),
    #[case] reason: &str,
    #[case] readiness: Readiness,
) {
    let mut observed = fresh();
    breaks(&mut observed);
    assert_eq!(actions(&observed, 0), BTreeMap::new());
    let obstacle = plan(&observed, at(0)).obstacle.unwrap();
    assert_eq!((obstacle.reason, obstacle.readiness), (reason, readiness));

    let mut observed = running();
    breaks(&mut observed);
    assert_eq!(plan(&observed, at(10)), plan(&running(), at(10)), "what is made goes on");
}

/// WORK-01: a member is made once.
#[test]
fn a_deleted_member_is_not_made_again() {
    for found in [Found::None, Found::Foreign, Found::OfAnEarlierSwarm] {
        let mut observed = running();
        observed.members.get_mut("code").unwrap().agent = found;
        let plan = plan(&observed, at(10));
        assert_eq!(planned(&plan, "code").action, None);
        assert_eq!(planned(&plan, "code").stand.phase, MemberPhase::Failed);
        assert_eq!(planned(&plan, "docs").stand.phase, MemberPhase::Running);
    }
}

type Change = fn(&mut SwarmMember);
type Wanted = fn(&mut Fields);

/// LIFE-16: an edit is one of fields, and the process stays.
#[rstest]
#[case(|it: &mut SwarmMember| it.harness = "agent-v2".to_owned(), |it: &mut Fields| it.harness = Some("agent-v2".to_owned()))]
#[case(|it: &mut SwarmMember| it.model = Some("gpt-5".to_owned()), |it: &mut Fields| it.model = Some("gpt-5".to_owned()))]
#[case(|it: &mut SwarmMember| it.tools = vec!["x".to_owned()], |it: &mut Fields| it.tools = Some(vec!["x".to_owned()]))]
#[case(|it: &mut SwarmMember| it.tool_servers = vec!["x".to_owned()], |it: &mut Fields| it.tool_servers = Some(vec!["x".to_owned()]))]
#[case(|it: &mut SwarmMember| it.skills = vec![SkillRef { name: "x".to_owned(), version: None }], |it: &mut Fields| it.skills = Some(vec![SkillRef { name: "x".to_owned(), version: None }]))]
#[case(|it: &mut SwarmMember| it.instructions = "More.".to_owned(), |it: &mut Fields| it.instructions = Some("# Goal of the swarm\n\nShip it.\n\n# Your part, as member docs\n\nMore.".to_owned()))]
fn an_edit_of_a_member_reaches_its_agent_alone(#[case] change: Change, #[case] wanted: Wanted) {
    let mut observed = running();
    edited(&mut observed, "docs", change);
    let mut fields = Fields::default();
    wanted(&mut fields);
    let edit = Edit { ttl_seconds: None, fields };
    assert_eq!(edits(&observed, 10), BTreeMap::from([("docs".to_owned(), edit)]));
}

/// LIFE-14, LIFE-16
#[test]
fn an_edit_of_the_goal_reaches_every_agent() {
    let mut observed = running();
    observed.spec.goal = "Ship it soon.".to_owned();
    let told = edits(&observed, 10).into_values().map(|edit| edit.fields.instructions.unwrap());
    assert!(told.into_iter().all(|told| told.contains("Ship it soon.")));
    assert_eq!(edits(&observed, 10).len(), 2);
}

/// AUTHZ-02: what somebody else wrote into a member's agent is put back.
#[test]
fn roles_written_on_a_member_are_taken_out_again() {
    let mut observed = running();
    let ben = Reader { subject: "ben".to_owned(), role: MemberRole::Editor };
    own(&mut observed, "docs").spec.members = vec![ben];
    assert_eq!(edits(&observed, 10)["docs"].fields.members, Some(vec![]));
}

/// LIFE-13: an edit of `ttl` moves the end by as much, from wherever a restart put it.
#[test]
fn an_edit_of_the_ttl_moves_the_end_of_active_members_and_of_no_other() {
    let mut observed = running();
    observed.spec.ttl = Some("5h".to_owned());
    own(&mut observed, "code").spec.ttl_at = Some(Time(at(9 * 3_600)));
    let moved = |at| Edit {
        ttl_seconds: Some(5 * 3_600),
        fields: Fields { ttl_at: at, ..Fields::default() },
    };
    assert_eq!(
        edits(&observed, 10),
        BTreeMap::from([
            ("code".to_owned(), moved(Some(Time(at(10 * 3_600))))),
            ("docs".to_owned(), moved(Some(Time(at(5 * 3_600))))),
        ])
    );
    own(&mut observed, "code").spec.lifecycle = Some(Lifecycle::Expired);
    own(&mut observed, "docs").spec.ttl_at = Some(Time(at(5)));
    assert_eq!(
        edits(&observed, 10),
        BTreeMap::from([("code".to_owned(), moved(None)), ("docs".to_owned(), moved(None))]),
        "what is over, or about to be, is remembered for a restart and not moved"
    );
    for name in ["code", "docs"] {
        own(&mut observed, name).ttl_seconds = Some(5 * 3_600);
    }
    assert_eq!(edits(&observed, 10), BTreeMap::new());
}

/// LIFE-13, LIFE-19: lifecycle, desired state, starts and `ttlAt` are the verbs' own.
#[rstest]
#[case::expired(|it: &mut AgentSpec| { it.lifecycle = Some(Lifecycle::Expired); it.desired_state = Some(DesiredState::Completed); })]
#[case::archived(|it: &mut AgentSpec| it.lifecycle = Some(Lifecycle::Archive))]
#[case::stopped(|it: &mut AgentSpec| it.desired_state = Some(DesiredState::Stopped))]
#[case::restarted(|it: &mut AgentSpec| { it.starts = Some(3); it.ttl_at = Some(Time(at(20 * 3_600))); })]
#[case::out_of_time(|it: &mut AgentSpec| it.ttl_at = Some(Time(at(-60))))]
fn what_a_verb_writes_on_a_member_is_respected(#[case] verb: fn(&mut AgentSpec)) {
    let mut observed = running();
    verb(&mut own(&mut observed, "docs").spec);
    assert_eq!(actions(&observed, 10), BTreeMap::new());
}

#[test]
fn a_member_that_is_added_is_made_and_one_taken_out_expires() {
    let mut observed = running();
    observed.members.extend([unmade(said("test"))]);
    observed.members.get_mut("code").unwrap().said = None;
    let actions = actions(&observed, 10);
    assert!(matches!(actions["test"], Action::Create(_)));
    assert_eq!(actions["code"], Action::Expire(version("team-code")));
    assert_eq!(actions.len(), 2);
    own(&mut observed, "code").spec.lifecycle = Some(Lifecycle::Expired);
    assert!(!self::actions(&observed, 10).contains_key("code"), "it is told once");
}

/// SWARM-04
#[test]
fn a_dismissed_swarm_expires_every_active_member_and_makes_none() {
    let mut observed = running();
    observed.members.extend([unmade(said("test"))]);
    observed.spec.dismissed = Some(true);
    let expire = |name: &str| (name.to_owned(), Action::Expire(version(&format!("team-{name}"))));
    assert_eq!(actions(&observed, 10), BTreeMap::from([expire("code"), expire("docs")]));
    own(&mut observed, "code").spec.lifecycle = Some(Lifecycle::Expired);
    assert_eq!(actions(&observed, 10), BTreeMap::from([expire("docs")]));
    own(&mut observed, "docs").going = true;
    assert_eq!(actions(&observed, 10), BTreeMap::new());
}

/// SWARM-04, LIFE-13: a member restarted by itself after the dismissal lives on.
#[test]
fn a_restart_of_a_member_of_a_dismissed_swarm_is_respected() {
    let mut observed = running();
    observed.spec.dismissed = Some(true);
    observed.status.phase = Some(SwarmPhase::Dismissed);
    own(&mut observed, "docs").spec.starts = Some(1);
    let plan = plan(&observed, at(10));
    assert!(plan.members.iter().all(|member| member.action.is_none()));
    assert_eq!(planned(&plan, "docs").stand.phase, MemberPhase::Running);
}
