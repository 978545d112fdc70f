//! The rules of a run's agent, as tables.

use foundry_crds::agent::{LastStart, Lifetime, WorkloadRef};
use foundry_crds::coding_run::{Approval, Limits, Repository};
use foundry_crds::{AgentSpec, AgentState, AgentStatus, CodingRunSpec, CodingRunStatus};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use k8s_openapi::jiff::SignedDuration;
use pretty_assertions::assert_eq;
use rstest::rstest;

use super::*;
use crate::agent::apply::Applied;
use crate::coding_run::{RunId, report};
use crate::conditions::{self, Wanted};
use crate::runtime::WorkloadKind;

mod life;

fn at(second: i64) -> Timestamp {
    Timestamp::from_second(1_800_000_000 + second).unwrap()
}

/// A run that nobody has looked at, its Harness there.
fn fresh() -> Observed {
    Observed {
        run: RunId {
            namespace: "team".to_owned(),
            name: "fix".to_owned(),
            uid: "uid-run".to_owned(),
        },
        spec: CodingRunSpec {
            owner: "ann".to_owned(),
            task: "Mend it.".to_owned(),
            repository: Repository {
                remote: "git@git.example:team/app.git".to_owned(),
                ..Repository::default()
            },
            ..CodingRunSpec::default()
        },
        status: CodingRunStatus::default(),
        harness: Ability::Able,
        spawner: Parent::None,
        agent: Found::None,
        grace: SignedDuration::from_secs(20),
    }
}

fn version() -> Version {
    Version {
        name: "fix".to_owned(),
        namespace: "team".to_owned(),
        uid: "uid-agent".to_owned(),
        revision: "1".to_owned(),
    }
}

/// The same run with its agent made.
fn with_agent(mut observed: Observed) -> Observed {
    let Some(Action::Create(agent)) = plan(&observed, at(0)).action else { panic!("none is made") };
    observed.agent = Found::Own(Box::new(Own {
        version: version(),
        spec: agent.spec,
        status: AgentStatus::default(),
        going: false,
    }));
    observed.status.agent = Some("fix".to_owned());
    observed
}

fn own(observed: &mut Observed) -> &mut Own {
    let Found::Own(own) = &mut observed.agent else { panic!("it has no agent") };
    own
}

fn running(mut observed: Observed) -> Observed {
    own(&mut observed).status = AgentStatus {
        last_start: Some(LastStart { number: 1, ..LastStart::default() }),
        state: Some(AgentState::Running),
        workload: Some(job(1)),
        ..AgentStatus::default()
    };
    observed
}

/// The Job of a start.
fn job(start: i64) -> WorkloadRef {
    WorkloadRef { kind: "Job".to_owned(), name: WorkloadKind::Job.name("fix", start) }
}

fn edit(observed: &Observed, now: i64) -> Option<Edit> {
    match plan(observed, at(now)).action {
        Some(Action::Edit(version, edit)) => {
            assert_eq!(version, self::version(), "at the version it was compared with");
            Some(*edit)
        }
        None => None,
        Some(Action::Create(_)) => panic!("another is made"),
    }
}

/// LIFE-06, CODE-09, CODE-23, CODE-24, CODE-31
#[test]
fn a_run_becomes_one_ephemeral_agent_of_its_name_that_says_everything() {
    let plan = plan(&fresh(), at(0));
    let Some(Action::Create(agent)) = plan.action else { panic!("no agent") };
    assert_eq!(
        agent.spec,
        AgentSpec {
            owner: "ann".to_owned(),
            harness: "coding-v1".to_owned(),
            instructions: Some("Mend it.".to_owned()),
            model: Some("auto".to_owned()),
            lifetime: Some(Lifetime::Ephemeral),
            ttl_at: Some(Time(at(1_800 + 4 * 3_600))),
            repository: Some(fresh().spec.repository),
            approval: Some(Approval::Person),
            limits: Some(Limits {
                turns_per_attempt: Some(60),
                wall_clock: Some("30m".to_owned()),
            }),
            ..AgentSpec::default()
        }
    );
    let ObjectMeta { name, namespace, owner_references, .. } = &agent.metadata;
    assert_eq!((name.as_deref(), namespace.as_deref()), (Some("fix"), Some("team")));
    let owner = &owner_references.as_ref().unwrap()[0];
    assert_eq!((owner.kind.as_str(), owner.uid.as_str()), ("CodingRun", "uid-run"));
    assert_eq!(owner.controller, Some(true));
    assert_eq!((plan.agent.as_deref(), plan.standing.phase), (Some("fix"), Phase::Pending));
    assert_eq!((plan.start_time, plan.completion_time), (None, None));
}

/// CODE-33
#[test]
fn a_run_that_an_agent_spawned_is_its_child_and_approves_its_own_plan() {
    let mut observed = fresh();
    observed.spec.agent = Some("lead".to_owned());
    observed.spec.approval = Some(Approval::Person);
    observed.spawner = Parent::OwnedBy("ann".to_owned());
    let Some(Action::Create(agent)) = plan(&observed, at(0)).action else { panic!("no agent") };
    assert_eq!(agent.spec.parent.as_deref(), Some("lead"));
    assert_eq!(agent.spec.approval, Some(Approval::Itself));
}

/// CODE-24: the agent has four hours beside its run's clock.
#[test]
fn a_longer_clock_is_a_later_end() {
    let mut observed = fresh();
    let limits = Limits { turns_per_attempt: Some(12), wall_clock: Some("2h".to_owned()) };
    observed.spec.limits = Some(limits.clone());
    let Some(Action::Create(agent)) = plan(&observed, at(0)).action else { panic!("no agent") };
    assert_eq!(agent.spec.ttl_at, Some(Time(at(6 * 3_600))));
    assert_eq!(agent.spec.limits, Some(limits));
}

#[rstest]
#[case::no_spawner(|it: &mut Observed| it.spawner = Parent::Missing("lead".to_owned()),
    reason::PARENT_NOT_FOUND, Readiness::Reconciling)]
#[case::other_owner(|it: &mut Observed| it.spawner = Parent::OwnedBy("ben".to_owned()),
    reason::PARENT_OWNER, Readiness::Stalled)]
#[case::no_harness(|it: &mut Observed| it.harness = Ability::Missing,
    reason::HARNESS_NOT_FOUND, Readiness::Reconciling)]
#[case::no_repositories(|it: &mut Observed| it.harness = Ability::NoRepositories,
    reason::HARNESS_LACKS_FEATURE, Readiness::Stalled)]
#[case::no_pods(|it: &mut Observed| it.harness = Ability::NoPods,
    reason::HARNESS_LACKS_FEATURE, Readiness::Stalled)]
#[case::foreign(|it: &mut Observed| it.agent = Found::Foreign,
    reason::NAME_TAKEN, Readiness::Stalled)]
#[case::of_an_earlier_run(|it: &mut Observed| it.agent = Found::OfAnEarlierRun,
    reason::DRAINING, Readiness::Reconciling)]
#[case::unreadable(|it: &mut Observed| it.agent = Found::Unreadable,
    reason::INVALID, Readiness::Stalled)]
fn an_obstacle_is_told_makes_nothing_and_heals(
    #[case] obstruct: fn(&mut Observed),
    #[case] reason: &'static str,
    #[case] readiness: Readiness,
) {
    let mut observed = fresh();
    obstruct(&mut observed);
    let plan = plan(&observed, at(0));
    assert_eq!((&plan.action, &plan.agent), (&None, &None));
    let Standing { phase, readiness: ready, reason: word, look_again, .. } = plan.standing;
    assert_eq!((phase, word, ready), (Phase::Pending, reason, readiness));
    assert!(look_again <= MISSING_AGAIN);
    let healed = self::plan(&fresh(), at(60)).action;
    let Some(Action::Create(agent)) = healed else { panic!("it does not heal") };
    assert_eq!(agent.spec.ttl_at, Some(Time(at(60 + 1_800 + 4 * 3_600))), "waiting took no time");
}

/// What of a run may change flows to its agent; nothing else is ever written to it.
#[test]
fn an_edit_of_the_run_flows_to_its_agent() {
    let mut observed = running(with_agent(fresh()));
    assert_eq!(edit(&observed, 0), None);
    observed.spec.model = Some("gpt-5".to_owned());
    observed.spec.limits =
        Some(Limits { turns_per_attempt: None, wall_clock: Some("1h".to_owned()) });
    let limits = Limits { turns_per_attempt: Some(60), wall_clock: Some("1h".to_owned()) };
    assert_eq!(
        edit(&observed, 0),
        Some(Edit {
            model: Some("gpt-5".to_owned()),
            limits: Some(limits),
            // Half an hour more on the clock, half an hour more to live.
            ttl_at: Some(Time(at(3_600 + 4 * 3_600))),
            ..Edit::default()
        })
    );
}

#[test]
fn what_somebody_changed_on_the_agent_is_put_back() {
    let mut observed = running(with_agent(fresh()));
    let spec = &mut own(&mut observed).spec;
    spec.instructions = Some("Do something else.".to_owned());
    spec.harness = "agent-v1".to_owned();
    assert_eq!(
        edit(&observed, 0),
        Some(Edit {
            instructions: Some("Mend it.".to_owned()),
            harness: Some("coding-v1".to_owned()),
            ..Edit::default()
        })
    );
}

/// LIFE-13: what a runtime verb wrote stays.
#[test]
fn the_fields_of_runtime_verbs_are_left_alone() {
    let mut observed = running(with_agent(fresh()));
    let spec = &mut own(&mut observed).spec;
    spec.ttl_at = Some(Time(at(4 * 3_600)));
    spec.starts = Some(3);
    spec.desired_state = Some(DesiredState::Running);
    assert_eq!(edit(&observed, 0), None);
    let spec = &mut own(&mut observed).spec;
    spec.lifecycle = Some(Lifecycle::Expired);
    observed.spec.limits =
        Some(Limits { turns_per_attempt: None, wall_clock: Some("1h".to_owned()) });
    assert_eq!(edit(&observed, 0).unwrap().ttl_at, None, "a restart gives it time anew");
}

#[test]
fn an_agent_that_waits_for_its_turn_keeps_its_whole_time() {
    let waiting = with_agent(fresh());
    let end = 1_800 + 4 * 3_600;
    // While two hours beside the clock are left, nothing is written.
    assert_eq!(edit(&waiting, end - 1_800 - 2 * 3_600), None);
    let later = end - 1_800 - 2 * 3_600 + 1;
    let wanted = Some(Edit { ttl_at: Some(Time(at(later + end))), ..Edit::default() });
    assert_eq!(edit(&waiting, later), wanted);
    // LIFE-12: what is past ends the agent, whoever looks first.
    assert_eq!(edit(&waiting, end), None);
    assert_eq!(edit(&running(waiting), later), None, "one that began has what it has");
}

/// LIFE-13: four hours are enough for a clock of half an hour, and not for one of six.
#[test]
fn a_restart_does_not_cut_a_longer_clock_short() {
    let mut observed = fresh();
    let limits =
        |clock: &str| Some(Limits { turns_per_attempt: None, wall_clock: Some(clock.to_owned()) });
    for (clock, wanted) in [("30m", None), ("6h", Some(10 * 3_600))] {
        observed.spec.limits = limits(clock);
        let mut restarted = running(with_agent(observed.clone()));
        let own = own(&mut restarted);
        own.spec.ttl_at = Some(Time(at(4 * 3_600)));
        own.status.last_start =
            Some(LastStart { number: 2, at: Some(Time(at(0))), ..LastStart::default() });
        own.status.workload = Some(job(2));
        let ttl_at = edit(&restarted, 5).and_then(|edit| edit.ttl_at);
        assert_eq!(ttl_at, wanted.map(|second| Time(at(second))), "{clock}");
        assert_eq!(edit(&restarted, 4 * 3_600), None, "what is past is somebody's word");
    }
}

/// A deleted agent is not made again: its successor would pass for it.
#[test]
fn the_deletion_of_its_agent_ends_a_run_that_is_under_way() {
    let mut observed = running(with_agent(fresh()));
    own(&mut observed).going = true;
    let plan = plan(&observed, at(0));
    assert_eq!((plan.action, plan.standing.reason), (None, reason::FINISHING));
    for agent in [Found::None, Found::Foreign] {
        observed.agent = agent;
        let plan = self::plan(&observed, at(0));
        assert_eq!(plan.action, None);
        let standing = plan.standing;
        assert_eq!((standing.phase, standing.reason), (Phase::Failed, reason::HARNESS_LOST));
        assert!(standing.message.contains("deleted"), "{}", standing.message);
    }
}

/// An agent that another release wrote takes nothing of its run back.
#[test]
fn an_agent_that_cannot_be_read_leaves_its_run_where_it_stands() {
    let mut observed = running(with_agent(fresh()));
    observed.status.phase = Some(Phase::Building);
    observed.status.start_number = Some(1);
    observed.agent = Found::Unreadable;
    let plan = plan(&observed, at(0));
    assert_eq!((plan.action, plan.standing.reason), (None, reason::INVALID));
    assert_eq!((plan.standing.phase, plan.standing.start_number), (Phase::Building, Some(1)));
}

#[test]
fn a_run_that_ended_outlives_its_agent() {
    let mut observed = fresh();
    observed.status = CodingRunStatus {
        phase: Some(Phase::Succeeded),
        start_number: Some(2),
        agent: Some("fix".to_owned()),
        completion_time: Some(Time(at(5))),
        conditions: vec![Condition {
            type_: "Complete".to_owned(),
            status: "True".to_owned(),
            reason: reason::SUCCEEDED.to_owned(),
            message: "done".to_owned(),
            observed_generation: None,
            last_transition_time: Time(at(5)),
        }],
        ..CodingRunStatus::default()
    };
    let plan = plan(&observed, at(60));
    assert_eq!((plan.action, plan.standing.phase), (None, Phase::Succeeded));
    assert_eq!((plan.standing.start_number, plan.completion_time), (Some(2), Some(Time(at(5)))));
}

/// The end of a run is read again from what was told: words added to it would grow.
#[test]
fn a_refused_edit_adds_nothing_to_the_end_of_a_run() {
    let mut observed = running(with_agent(fresh()));
    observed.status = CodingRunStatus {
        phase: Some(Phase::Succeeded),
        start_number: Some(1),
        agent: Some("fix".to_owned()),
        completion_time: Some(Time(at(5))),
        ..CodingRunStatus::default()
    };
    let told = Readiness::Ready.conditions(reason::SUCCEEDED, "done");
    let complete = Wanted { kind: "Complete", ..told[0].clone() };
    let told = told.into_iter().chain([complete]).collect();
    observed.status.conditions = conditions::merge(&[], told, 1, at(5));
    observed.spec.model = Some("gpt-5".to_owned());
    let plan = plan(&observed, at(60));
    assert!(matches!(plan.action, Some(Action::Edit(..))), "{:?}", plan.action);
    let applied = Applied::Refused("denied by policy".to_owned());
    let standing = report::standing(&plan, &applied);
    let status = report::status(&observed.status, &plan, &applied, &standing, 1, at(60));
    assert_eq!(
        (status.phase, &status.conditions),
        (Some(Phase::Succeeded), &observed.status.conditions)
    );
}

#[rstest]
#[case::quota("exceeded quota: agents", Readiness::Reconciling)]
#[case::policy("denied by policy", Readiness::Stalled)]
fn an_agent_that_the_cluster_refuses_was_not_made(
    #[case] words: &str,
    #[case] readiness: Readiness,
) {
    let observed = fresh();
    let plan = plan(&observed, at(0));
    let applied = Applied::Refused(words.to_owned());
    let standing = report::standing(&plan, &applied);
    assert_eq!((standing.reason, standing.readiness), (reason::REFUSED, readiness));
    let status = report::status(&observed.status, &plan, &applied, &standing, 1, at(0));
    assert_eq!(status.agent, None, "a later look must not take it for deleted");
    assert_eq!(status.phase, Some(Phase::Pending));
}
