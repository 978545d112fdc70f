//! What holds for any life of a run.

use foundry_crds::coding_run::{
    Outcome, Plan as StoredPlan, Question, QuestionKind, Reported, RunResult,
};
use proptest::prelude::*;

use super::*;

/// What may happen to a run between two looks.
#[derive(Debug, Clone)]
enum Happening {
    ProcessLives,
    PodIsMadeAgain,
    ProcessEnds,
    PlanIsStored,
    PlanIsAsked,
    PlanIsApproved,
    Result(usize),
    LateResultOfAnEarlierStart,
    Stop,
    Start,
    Expire,
    Rests,
    AgentIsDeleted,
    HarnessGoes,
    HarnessComes,
    TaskEdited,
    ClockEdited,
    TimePasses(i64),
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        Just(Happening::ProcessLives),
        Just(Happening::PodIsMadeAgain),
        Just(Happening::ProcessEnds),
        Just(Happening::PlanIsStored),
        Just(Happening::PlanIsAsked),
        Just(Happening::PlanIsApproved),
        (0..Outcome::ALL.len()).prop_map(Happening::Result),
        Just(Happening::LateResultOfAnEarlierStart),
        Just(Happening::Stop),
        Just(Happening::Start),
        Just(Happening::Expire),
        Just(Happening::Rests),
        Just(Happening::AgentIsDeleted),
        Just(Happening::HarnessGoes),
        Just(Happening::HarnessComes),
        Just(Happening::TaskEdited),
        Just(Happening::ClockEdited),
        (0_i64..30_000).prop_map(Happening::TimePasses),
    ]
}

/// A run, what the cluster shows of it, and the time.
struct World {
    observed: Observed,
    now: i64,
    created: usize,
}

impl World {
    fn start(&self) -> Option<i64> {
        match &self.observed.agent {
            Found::Own(own) => own.status.last_start.as_ref().map(|start| start.number),
            _ => None,
        }
    }

    fn report(&mut self, change: impl FnOnce(&mut Reported)) {
        let start = self.start();
        let reported = self.observed.status.reported.get_or_insert_with(Reported::default);
        if reported.start_number != start {
            *reported = Reported { start_number: start, ..Reported::default() };
        }
        if start.is_some() {
            change(reported);
        }
    }

    fn agent(&mut self, change: impl FnOnce(&mut Own)) {
        if let Found::Own(own) = &mut self.observed.agent {
            change(own);
        }
    }

    fn happen(&mut self, happening: &Happening) {
        match happening {
            Happening::ProcessLives => self.agent(|own| {
                let wanted = own.spec.lifecycle() == Lifecycle::Active
                    && own.spec.desired_state() == DesiredState::Running;
                let start = own.status.last_start.clone().unwrap_or_default();
                if wanted && own.status.finished_start != Some(start.number) {
                    let number = start.number.max(1);
                    own.status.last_start = Some(LastStart { number, ..start });
                    own.status.state = Some(AgentState::Running);
                    own.status.workload = Some(job(number));
                }
            }),
            Happening::PodIsMadeAgain => self.agent(|own| {
                if own.status.state == Some(AgentState::Running) {
                    own.status.state = Some(AgentState::Pending);
                }
            }),
            Happening::ProcessEnds => self.agent(|own| {
                let lives = [Some(AgentState::Running), Some(AgentState::Pending)];
                if own.status.workload.is_some() && lives.contains(&own.status.state) {
                    own.status.state = Some(AgentState::Stopped);
                    own.status.finished_start = own.status.last_start.as_ref().map(|it| it.number);
                }
            }),
            Happening::PlanIsStored => self.report(|it| {
                it.plan = Some(StoredPlan::default());
                it.question = None;
            }),
            Happening::PlanIsAsked => self.report(|it| {
                it.question =
                    Some(Question { id: "q".to_owned(), kind: QuestionKind::Plan, text: None });
            }),
            Happening::PlanIsApproved => self.report(|it| {
                it.plan = Some(StoredPlan {
                    approved_by: Some("ann".to_owned()),
                    ..StoredPlan::default()
                });
                it.question = None;
            }),
            Happening::Result(number) => self.report(|it| {
                let outcome = Outcome::ALL[*number].as_str().to_owned();
                it.result.get_or_insert(RunResult { outcome, summary: None });
            }),
            Happening::LateResultOfAnEarlierStart => {
                let start = self.start().map(|start| start - 1);
                let result = RunResult { outcome: "completed".to_owned(), summary: None };
                self.observed.status.reported = Some(Reported {
                    start_number: start,
                    result: Some(result),
                    ..Reported::default()
                });
            }
            Happening::Stop => {
                self.agent(|own| own.spec.desired_state = Some(DesiredState::Completed));
            }
            Happening::Start => self.agent(|own| {
                own.spec.desired_state = Some(DesiredState::Running);
                own.spec.lifecycle = Some(Lifecycle::Active);
                let before = own.status.last_start.as_ref().map_or(0, |start| start.number);
                let number = before + 1;
                own.status.last_start = Some(LastStart { number, ..LastStart::default() });
                own.status.state = Some(AgentState::Pending);
            }),
            Happening::Expire => self.agent(|own| own.spec.lifecycle = Some(Lifecycle::Expired)),
            Happening::Rests => self.agent(|own| {
                let state = match (own.spec.lifecycle(), own.spec.desired_state()) {
                    (Lifecycle::Expired, _) => AgentState::Expired,
                    (_, DesiredState::Completed) => AgentState::Stopped,
                    _ => return,
                };
                own.status.state = Some(state);
                own.status.workload = None;
            }),
            Happening::AgentIsDeleted => self.observed.agent = Found::None,
            Happening::HarnessGoes => self.observed.harness = Ability::Missing,
            Happening::HarnessComes => self.observed.harness = Ability::Able,
            Happening::TaskEdited => {
                self.agent(|own| own.spec.instructions = Some("else".to_owned()));
            }
            Happening::ClockEdited => {
                let wall_clock = Some("3h".to_owned());
                self.observed.spec.limits = Some(Limits { turns_per_attempt: None, wall_clock });
            }
            Happening::TimePasses(seconds) => self.now += seconds,
        }
    }

    fn planned(&self) -> Plan {
        plan(&self.observed, at(self.now))
    }

    /// Carries a plan out and reports it.
    fn look(&mut self) {
        let plan = self.planned();
        match &plan.action {
            None => {}
            Some(Action::Create(agent)) => {
                self.created += 1;
                self.observed.agent = Found::Own(Box::new(Own {
                    version: version(),
                    spec: agent.spec.clone(),
                    status: AgentStatus::default(),
                    going: false,
                }));
            }
            Some(Action::Edit(_, edit)) => {
                let Edit { harness, instructions, model, limits, ttl_at } = (**edit).clone();
                self.agent(|own| {
                    let spec = &mut own.spec;
                    spec.harness = harness.unwrap_or(spec.harness.clone());
                    spec.instructions = instructions.or(spec.instructions.clone());
                    spec.model = model.or(spec.model.clone());
                    spec.limits = limits.or(spec.limits.clone());
                    spec.ttl_at = ttl_at.or(spec.ttl_at.clone());
                });
            }
        }
        let reported = self.observed.status.reported.clone();
        let present = report::ours(&self.observed.status);
        let now = at(self.now);
        let status = report::status(&present, &plan, &Applied::Done, &plan.standing, 1, now);
        self.observed.status = CodingRunStatus { reported, ..status };
    }
}

proptest! {
    /// Terminal is final for its start, and nothing goes back to Pending within it; a run
    /// makes one agent in its life; and it is Complete exactly when it succeeded.
    #[test]
    fn an_end_is_final_and_one_agent_is_made(happenings in prop::collection::vec(happening(), 1..60)) {
        let mut world = World { observed: fresh(), now: 0, created: 0 };
        for it in &happenings {
            let before = world.observed.status.clone();
            world.happen(it);
            world.look();
            let after = &world.observed.status;
            prop_assert!(world.created <= 1, "{} agents", world.created);
            let complete = |status: &CodingRunStatus| {
                status.conditions.iter().find(|it| it.type_ == "Complete").cloned()
            };
            let is_presumed = complete(&before).is_some_and(|it| {
                [reason::STOPPED, reason::EXPIRED, reason::HARNESS_LOST].contains(&it.reason.as_str())
            });
            let is_end = before.phase.is_some_and(Phase::is_an_end);
            if is_end && !is_presumed && before.start_number == after.start_number {
                prop_assert_eq!(after.phase, before.phase, "after {:?}", it);
                prop_assert_eq!(&after.completion_time, &before.completion_time);
            }
            let phase = after.phase.unwrap();
            if before.start_number == after.start_number && before.phase.is_some() {
                let is_back = phase == Phase::Pending && before.phase != Some(Phase::Pending);
                prop_assert!(!is_back, "after {:?}", it);
            }
            prop_assert_eq!(after.completion_time.is_some(), phase.is_an_end());
            let is_complete = complete(after).is_some_and(|it| it.status == "True");
            prop_assert_eq!(is_complete, phase == Phase::Succeeded);
            let reported = after.reported.as_ref().filter(|it| it.start_number == after.start_number);
            let outcome = reported.and_then(|it| it.result.as_ref()).map(|it| it.outcome.as_str());
            if is_end && is_presumed && before.start_number == after.start_number {
                prop_assert!(after.phase == before.phase || outcome.is_some(), "after {:?}", it);
                prop_assert!(phase.is_an_end(), "after {:?}", it);
            }
            if phase == Phase::Succeeded && before.phase != Some(Phase::Succeeded) {
                prop_assert_eq!(outcome, Some("completed"));
            }
        }
    }

    /// A second look at the same things writes nothing.
    #[test]
    fn a_settled_run_costs_no_write(happenings in prop::collection::vec(happening(), 1..60)) {
        let mut world = World { observed: fresh(), now: 0, created: 0 };
        for it in &happenings {
            world.happen(it);
            world.look();
            world.look();
            let settled = world.observed.status.clone();
            prop_assert_eq!(world.planned().action, None, "after {:?}", it);
            world.look();
            prop_assert_eq!(&world.observed.status, &settled, "after {:?}", it);
        }
    }

    #[test]
    fn a_run_without_a_process_ends_sooner_or_later(
        happenings in prop::collection::vec(happening(), 1..40),
    ) {
        let mut world = World { observed: fresh(), now: 0, created: 0 };
        for it in &happenings {
            world.happen(it);
            world.look();
        }
        if world.observed.status.phase == Some(Phase::Pending) {
            return Ok(());
        }
        world.happen(&Happening::ProcessEnds);
        world.happen(&Happening::Rests);
        world.look();
        world.happen(&Happening::TimePasses(21));
        world.look();
        let status = &world.observed.status;
        prop_assert!(status.phase.is_some_and(Phase::is_an_end), "{:?}", status);
    }
}
