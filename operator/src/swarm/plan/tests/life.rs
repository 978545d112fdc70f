//! What holds for any life of a swarm.

use foundry_crds::agent::LastStart;
use foundry_crds::condition::kind;
use foundry_crds::swarm::SwarmPhase;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use pretty_assertions::assert_eq;
use proptest::prelude::*;

use super::*;
use crate::swarm::apply::Applied;
use crate::swarm::report;
use crate::swarm::standing::Standing;

const NAMES: [&str; 3] = ["code", "docs", "test"];

/// What may happen to a swarm between two looks.
#[derive(Debug, Clone)]
enum Happening {
    ProcessLives(usize),
    ProcessEnds(usize, bool),
    Stop(usize),
    Restart(usize),
    Expire(usize),
    AgentIsDeleted(usize),
    ForeignerComes(usize),
    ForeignerGoes(usize),
    HarnessGoes(usize),
    HarnessComes(usize),
    ParentGoes,
    ParentComes,
    MemberTakenOut(usize),
    MemberAdded(usize),
    GoalEdited(u8),
    TtlEdited(u8),
    Refusals(bool),
    AgentsAreLookedAt,
    TimePasses(i64),
}

fn happening() -> impl Strategy<Value = Happening> {
    let which = || 0..NAMES.len();
    prop_oneof![
        4 => which().prop_map(Happening::ProcessLives),
        2 => (which(), any::<bool>()).prop_map(|(it, well)| Happening::ProcessEnds(it, well)),
        1 => which().prop_map(Happening::Stop),
        1 => which().prop_map(Happening::Restart),
        1 => which().prop_map(Happening::Expire),
        1 => which().prop_map(Happening::AgentIsDeleted),
        1 => which().prop_map(Happening::ForeignerComes),
        1 => which().prop_map(Happening::ForeignerGoes),
        1 => which().prop_map(Happening::HarnessGoes),
        1 => which().prop_map(Happening::HarnessComes),
        1 => Just(Happening::ParentGoes),
        1 => Just(Happening::ParentComes),
        1 => which().prop_map(Happening::MemberTakenOut),
        1 => which().prop_map(Happening::MemberAdded),
        1 => any::<u8>().prop_map(Happening::GoalEdited),
        1 => (1_u8..24).prop_map(Happening::TtlEdited),
        1 => any::<bool>().prop_map(Happening::Refusals),
        3 => Just(Happening::AgentsAreLookedAt),
        1 => (0_i64..30_000).prop_map(Happening::TimePasses),
    ]
}

/// A swarm, what the cluster shows of it, and the time.
struct World {
    observed: Observed,
    now: i64,
    refuses: bool,
    /// How often each agent was made.
    made: BTreeMap<String, usize>,
}

impl World {
    fn new() -> Self {
        Self { observed: fresh(), now: 0, refuses: false, made: BTreeMap::new() }
    }

    fn agent(&mut self, which: usize) -> Option<&mut Own> {
        match &mut self.observed.members.get_mut(NAMES[which])?.agent {
            Found::Own(own) => Some(own),
            _ => None,
        }
    }

    fn happen(&mut self, happening: &Happening) {
        match happening {
            Happening::ProcessLives(it) => {
                let wants = |own: &&mut Own| {
                    own.spec.lifecycle() == Lifecycle::Active
                        && own.spec.desired_state() == DesiredState::Running
                        && own.status.finished_start != Some(own.spec.starts.unwrap_or(0) + 1)
                };
                if let Some(own) = self.agent(*it).filter(wants) {
                    let number = own.spec.starts.unwrap_or(0) + 1;
                    own.status.last_start = Some(LastStart { number, ..LastStart::default() });
                    own.status.state = Some(AgentState::Running);
                    own.status.conditions = vec![];
                    own.is_seen = true;
                }
            }
            Happening::ProcessEnds(it, well) => {
                let reason = if *well { reason::COMPLETED } else { reason::FAILED };
                self.end(*it, reason);
            }
            Happening::Stop(it) => {
                if let Some(own) = self.agent(*it) {
                    own.spec.desired_state = Some(DesiredState::Completed);
                    own.is_seen = false;
                }
            }
            Happening::Restart(it) => {
                let ttl = Time(at(self.now + 4 * 3_600));
                if let Some(own) = self.agent(*it) {
                    own.spec.lifecycle = Some(Lifecycle::Active);
                    own.spec.desired_state = Some(DesiredState::Running);
                    own.spec.starts = Some(own.spec.starts.unwrap_or(0) + 1);
                    own.spec.ttl_at = Some(ttl);
                    own.is_seen = false;
                }
            }
            Happening::Expire(it) => {
                if let Some(own) = self.agent(*it) {
                    expire(own);
                }
            }
            Happening::AgentIsDeleted(it) => {
                if self.agent(*it).is_some() {
                    self.set(*it, Found::None);
                }
            }
            Happening::ForeignerComes(it) => {
                if self.has(*it, &Found::None) {
                    self.set(*it, Found::Foreign);
                }
            }
            Happening::ForeignerGoes(it) => {
                if self.has(*it, &Found::Foreign) {
                    self.set(*it, Found::None);
                }
            }
            Happening::HarnessGoes(it) => self.harness(*it, Ability::Missing),
            Happening::HarnessComes(it) => self.harness(*it, Ability::Able),
            Happening::ParentGoes => self.observed.parent = Parent::Missing("lead".to_owned()),
            Happening::ParentComes => self.observed.parent = Parent::OwnedBy("ann".to_owned()),
            Happening::MemberTakenOut(it) => self.take_out(*it),
            Happening::MemberAdded(it) => self.add(*it),
            Happening::GoalEdited(text) => {
                self.observed.spec.goal = format!("Ship {text}.");
                self.observed.generation += 1;
            }
            Happening::TtlEdited(hours) => {
                self.observed.spec.ttl = Some(format!("{hours}h"));
                self.observed.generation += 1;
            }
            Happening::Refusals(refuses) => self.refuses = *refuses,
            Happening::AgentsAreLookedAt => self.look_at_agents(),
            Happening::TimePasses(seconds) => self.now += seconds,
        }
    }

    fn end(&mut self, which: usize, reason: &str) {
        let lives = |own: &&mut Own| own.status.state == Some(AgentState::Running);
        let Some(own) = self.agent(which).filter(lives) else { return };
        own.status.finished_start = own.status.last_start.as_ref().map(|start| start.number);
        own.status.state = Some(AgentState::Stopped);
        own.status.conditions = vec![Condition {
            type_: kind::READY.to_owned(),
            status: "True".to_owned(),
            reason: reason.to_owned(),
            message: String::new(),
            observed_generation: None,
            last_transition_time: Time(at(0)),
        }];
    }

    fn set(&mut self, which: usize, agent: Found) {
        if let Some(member) = self.observed.members.get_mut(NAMES[which]) {
            member.agent = agent;
        }
        // Of what is taken out, only an agent that is there is shown.
        self.observed.members.retain(|_, it| it.said.is_some() || it.agent != Found::None);
    }

    fn has(&self, which: usize, agent: &Found) -> bool {
        self.observed.members.get(NAMES[which]).is_some_and(|member| member.agent == *agent)
    }

    fn harness(&mut self, which: usize, harness: Ability) {
        if let Some(member) = self.observed.members.get_mut(NAMES[which]) {
            member.harness = harness;
        }
    }

    fn take_out(&mut self, which: usize) {
        if self.observed.spec.members.len() == 1 {
            return;
        }
        self.observed.spec.members.retain(|member| member.name != NAMES[which]);
        if let Some(member) = self.observed.members.get_mut(NAMES[which]) {
            member.said = None;
        }
        let is_shown = |it: &Member| it.said.is_some() || matches!(it.agent, Found::Own(_));
        self.observed.members.retain(|_, it| is_shown(it));
        self.observed.generation += 1;
    }

    fn add(&mut self, which: usize) {
        let name = NAMES[which];
        if self.observed.spec.members.iter().any(|member| member.name == name) {
            return;
        }
        self.observed.spec.members.push(said(name));
        let (name, member) = unmade(said(name));
        self.observed.members.entry(name).or_insert(member).said = Some(said(NAMES[which]));
        self.observed.generation += 1;
    }

    /// Plays the reconciler of agents.
    fn look_at_agents(&mut self) {
        let now = at(self.now);
        for which in 0..NAMES.len() {
            let Some(own) = self.agent(which) else { continue };
            if own.spec.ttl_at.as_ref().is_some_and(|ttl| ttl.0 <= now) {
                expire(own);
            }
            match (own.spec.lifecycle(), own.spec.desired_state()) {
                (Lifecycle::Expired | Lifecycle::Archive, _) => {
                    own.status.state = Some(AgentState::Expired);
                    own.status.conditions = vec![];
                }
                (Lifecycle::Active, DesiredState::Running) => {
                    let number = own.spec.starts.unwrap_or(0) + 1;
                    let is_new = own.status.last_start.as_ref().map(|it| it.number) != Some(number);
                    if is_new {
                        own.status.last_start = Some(LastStart { number, ..LastStart::default() });
                        own.status.state = Some(AgentState::Pending);
                        own.status.conditions = vec![];
                    }
                }
                (Lifecycle::Active, _) => own.status.state = Some(AgentState::Stopped),
            }
            own.is_seen = true;
        }
    }

    /// One look at the swarm, carried out and reported.
    fn reconcile(&mut self) -> Standing {
        let plan = plan(&self.observed, at(self.now));
        let mut applied = Applied::default();
        for member in &plan.members {
            let Some(action) = &member.action else { continue };
            if self.refuses {
                applied.refused.insert(member.name.clone(), "no".to_owned());
                continue;
            }
            let slot = &mut self.observed.members.get_mut(&member.name).unwrap().agent;
            match (action, slot) {
                (Action::Create(agent), slot) => {
                    assert_eq!(*slot, Found::None, "another agent of one name is made");
                    *self.made.entry(member.agent.clone()).or_default() += 1;
                    *slot = Found::Own(Box::new(own_of(agent)));
                }
                (Action::Edit(_, edit), Found::Own(own)) => carry_out(own, edit),
                (Action::Expire(_), Found::Own(own)) => expire(own),
                (action, slot) => panic!("{action:?} of {slot:?}"),
            }
        }
        let standing = report::standing(&self.observed, &plan, &applied);
        self.observed.status = report::status(&self.observed, &standing, at(self.now));
        standing
    }

    fn settle(&mut self) {
        for _ in 0..4 {
            self.reconcile();
            self.look_at_agents();
        }
        self.reconcile();
    }
}

fn expire(own: &mut Own) {
    if own.spec.lifecycle() == Lifecycle::Active {
        own.spec.lifecycle = Some(Lifecycle::Expired);
        own.spec.desired_state = Some(DesiredState::Completed);
        own.is_seen = false;
    }
}

fn carry_out(own: &mut Own, edit: &Edit) {
    let Edit { ttl_seconds, fields } = edit.clone();
    let Fields { harness, instructions, model, tools, skills, tool_servers, members, ttl_at } =
        fields;
    let spec = &mut own.spec;
    own.ttl_seconds = ttl_seconds.or(own.ttl_seconds);
    spec.harness = harness.unwrap_or_else(|| spec.harness.clone());
    spec.instructions = instructions.or_else(|| spec.instructions.clone());
    spec.model = model.or_else(|| spec.model.clone());
    spec.tools = tools.unwrap_or_else(|| spec.tools.clone());
    spec.skills = skills.unwrap_or_else(|| spec.skills.clone());
    spec.tool_servers = tool_servers.unwrap_or_else(|| spec.tool_servers.clone());
    spec.members = members.unwrap_or_else(|| spec.members.clone());
    spec.ttl_at = ttl_at.or_else(|| spec.ttl_at.clone());
    own.is_seen = false;
}

/// What restarts nothing and names no other members.
fn lets_ends_be(happening: &Happening) -> bool {
    !matches!(
        happening,
        Happening::Restart(_) | Happening::MemberAdded(_) | Happening::MemberTakenOut(_)
    )
}

proptest! {
    /// WORK-01, SWARM-01: a member is made once, however often its agent goes, unless it was
    /// taken out and added again.
    #[test]
    fn never_two_agents_of_one_name(happenings in prop::collection::vec(happening(), 1..60)) {
        let mut world = World::new();
        for it in happenings.iter().filter(|it| !matches!(it, Happening::MemberTakenOut(_))) {
            world.happen(it);
            world.reconcile();
        }
        prop_assert!(world.made.values().all(|times| *times == 1), "{:?}", world.made);
    }

    /// WORK-01: a settled swarm costs nothing, whatever time it is.
    #[test]
    fn a_settled_plan_is_idle(happenings in prop::collection::vec(happening(), 1..60)) {
        let mut world = World::new();
        for it in &happenings {
            world.happen(it);
            world.reconcile();
        }
        world.refuses = false;
        world.settle();
        let status = world.observed.status.clone();
        let again = plan(&world.observed, at(world.now));
        prop_assert!(again.members.iter().all(|it| it.action.is_none()), "{again:?}");
        world.reconcile();
        prop_assert_eq!(&world.observed.status, &status);
    }

    /// The end of a member, and of a swarm, is final until somebody restarts a member.
    #[test]
    fn ends_are_final(happenings in prop::collection::vec(happening(), 1..60)) {
        let mut world = World::new();
        let mut before = world.reconcile();
        for it in &happenings {
            world.happen(it);
            let now = world.reconcile();
            if lets_ends_be(it) {
                if before.phase.is_an_end() {
                    prop_assert_eq!(now.phase, before.phase, "{:?}", it);
                }
                for ended in before.members.iter().filter(|member| member.phase.is_an_end()) {
                    let kept = now.members.iter().find(|member| member.name == ended.name);
                    // One that was taken out is forgotten with its agent.
                    prop_assert!(
                        kept.is_none_or(|kept| kept.phase == ended.phase), "{ended:?} {kept:?}"
                    );
                }
            } else if matches!(it, Happening::Restart(_)) {
                // What is restarted is looked at before the next happening.
                world.look_at_agents();
                before = world.reconcile();
                continue;
            }
            before = now;
        }
    }

    /// SWARM-04: a dismissed swarm makes nothing, ends as dismissed, and stays so; a member
    /// that is restarted after that lives on.
    #[test]
    fn a_dismissed_swarm_makes_nothing_and_is_clear_in_the_end(
        before in prop::collection::vec(happening(), 0..30),
        after in prop::collection::vec(happening(), 0..30),
    ) {
        let mut world = World::new();
        for it in &before {
            world.happen(it);
            world.reconcile();
        }
        world.observed.spec.dismissed = Some(true);
        world.refuses = false;
        let made = world.made.clone();
        world.settle();
        prop_assert_eq!(world.observed.status.phase, Some(SwarmPhase::Dismissed));
        let lives = |member: &Member| match &member.agent {
            Found::Own(own) => own.spec.lifecycle() == Lifecycle::Active,
            _ => false,
        };
        prop_assert!(!world.observed.members.values().any(lives));
        for it in &after {
            world.happen(it);
            let standing = world.reconcile();
            prop_assert_eq!(standing.phase, SwarmPhase::Dismissed);
            if let Happening::Restart(which) = it
                && world.observed.members.get(NAMES[*which]).is_some_and(|it| it.said.is_some())
                && let Some(own) = world.agent(*which)
            {
                prop_assert_eq!(own.spec.lifecycle(), Lifecycle::Active);
            }
        }
        prop_assert_eq!(world.made, made);
    }

    /// LIFE-13, LIFE-19: only a dismissal, or taking a member out, ends a process here.
    #[test]
    fn a_swarm_ends_no_member_that_it_names(happenings in prop::collection::vec(happening(), 1..60)) {
        let mut world = World::new();
        for it in &happenings {
            world.happen(it);
            let plan = plan(&world.observed, at(world.now));
            for member in plan.members.iter().filter(|member| !member.is_taken_out) {
                prop_assert!(!matches!(member.action, Some(Action::Expire(_))), "{member:?}");
            }
            world.reconcile();
        }
    }
}
