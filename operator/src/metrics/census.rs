//! What there is, counted when `/metrics` is read: nothing is counted at each reconcile,
//! and nothing can drift.

use std::collections::BTreeMap;

use foundry_crds::coding_run::Phase;
use foundry_crds::condition::{documented, kind};
use foundry_crds::swarm::SwarmPhase;
use foundry_crds::{Agent, AgentState, CodingRun, Swarm};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::Condition;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::registry::Registry;

use crate::caches::Caches;
use crate::mailboxes::Mailboxes;

/// Every state, so that one nobody is in reads 0 and not nothing.
const STATES: [AgentState; 6] = [
    AgentState::Stopped,
    AgentState::Pending,
    AgentState::Running,
    AgentState::OnDemand,
    AgentState::Expired,
    AgentState::Archived,
];
/// What an object stands in that no operator has looked at yet.
const UNSEEN: &str = "Unseen";
/// A reason that is none of ours.
const OTHER: &str = "Other";

/// What there is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Census {
    agents: BTreeMap<&'static str, i64>,
    coding_runs: BTreeMap<&'static str, i64>,
    swarms: BTreeMap<&'static str, i64>,
    /// By kind and reason.
    stalled: BTreeMap<(&'static str, &'static str), i64>,
    /// Agents whose mailbox waits, and whether calls are held back; none where none are
    /// registered.
    mailboxes: Option<(i64, bool)>,
}

/// Counts what the caches hold.
pub fn take(caches: &BTreeMap<String, Caches>, mailboxes: Option<&Mailboxes>) -> Census {
    let mut census = Census {
        agents: STATES.iter().map(|state| (state.as_str(), 0)).collect(),
        ..Census::default()
    };
    for caches in caches.values() {
        for agent in caches.agents.all() {
            if let Ok(agent) = &agent.0 {
                census.count_agent(agent);
            }
        }
        for run in caches.runs.all() {
            if let Ok(run) = &run.0 {
                census.count_run(run);
            }
        }
        for swarm in caches.swarms.all() {
            if let Ok(swarm) = &swarm.0 {
                census.count_swarm(swarm);
            }
        }
    }
    census.mailboxes = mailboxes.map(|mailboxes| {
        (i64::try_from(mailboxes.waiting()).unwrap_or(i64::MAX), mailboxes.is_held_back())
    });
    census
}

impl Census {
    fn count_agent(&mut self, agent: &Agent) {
        let status = agent.status.as_ref();
        let state = status.and_then(|status| status.state).map_or(UNSEEN, AgentState::as_str);
        *self.agents.entry(state).or_default() += 1;
        self.count_stalled("Agent", status.map_or(&[], |status| &status.conditions));
    }

    fn count_run(&mut self, run: &CodingRun) {
        let status = run.status.as_ref();
        let phase = status.and_then(|status| status.phase).map_or(UNSEEN, Phase::as_str);
        *self.coding_runs.entry(phase).or_default() += 1;
        self.count_stalled("CodingRun", status.map_or(&[], |status| &status.conditions));
    }

    fn count_swarm(&mut self, swarm: &Swarm) {
        let status = swarm.status.as_ref();
        let phase = status.and_then(|status| status.phase).map_or(UNSEEN, SwarmPhase::as_str);
        *self.swarms.entry(phase).or_default() += 1;
        self.count_stalled("Swarm", status.map_or(&[], |status| &status.conditions));
    }

    fn count_stalled(&mut self, of: &'static str, conditions: &[Condition]) {
        let stalled = conditions.iter().find(|it| it.type_ == kind::STALLED && it.status == "True");
        if let Some(stalled) = stalled {
            let reason = documented(&stalled.reason).map_or(OTHER, |reason| reason.word);
            *self.stalled.entry((of, reason)).or_default() += 1;
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct State {
    state: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct InPhase {
    phase: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Stalled {
    kind: &'static str,
    reason: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Nothing {}

/// The gauges that a census sets.
#[derive(Clone, Default)]
pub struct Gauges {
    agents: Family<State, Gauge>,
    coding_runs: Family<InPhase, Gauge>,
    swarms: Family<InPhase, Gauge>,
    stalled: Family<Stalled, Gauge>,
    mailboxes_waiting: Family<Nothing, Gauge>,
    people_held_back: Family<Nothing, Gauge>,
}

impl Gauges {
    /// The gauges, known to this registry.
    pub fn registered(registry: &mut Registry) -> Self {
        let gauges = Self::default();
        let Self { agents, coding_runs, swarms, stalled, mailboxes_waiting, people_held_back } =
            gauges.clone();
        registry.register("agents", "Agents by state", agents);
        registry.register("coding_runs", "Coding runs by phase", coding_runs);
        registry.register("swarms", "Swarms by phase", swarms);
        registry.register("stalled", "Objects that wait for a person, by kind and reason", stalled);
        registry.register(
            "mailboxes_waiting",
            "Agents whose mailbox is not registered yet",
            mailboxes_waiting,
        );
        registry.register(
            "people_held_back",
            "1 while the people service is left alone because it is in trouble",
            people_held_back,
        );
        gauges
    }

    /// Shows a census, or nothing.
    pub fn set(&self, census: Option<Census>) {
        let Self { agents, coding_runs, swarms, stalled, mailboxes_waiting, people_held_back } =
            self;
        agents.clear();
        coding_runs.clear();
        swarms.clear();
        stalled.clear();
        mailboxes_waiting.clear();
        people_held_back.clear();
        let Some(census) = census else { return };
        for (state, count) in census.agents {
            agents.get_or_create(&State { state }).set(count);
        }
        for (phase, count) in census.coding_runs {
            coding_runs.get_or_create(&InPhase { phase }).set(count);
        }
        for (phase, count) in census.swarms {
            swarms.get_or_create(&InPhase { phase }).set(count);
        }
        for ((kind, reason), count) in census.stalled {
            stalled.get_or_create(&Stalled { kind, reason }).set(count);
        }
        if let Some((waiting, held_back)) = census.mailboxes {
            mailboxes_waiting.get_or_create(&Nothing {}).set(waiting);
            people_held_back.get_or_create(&Nothing {}).set(i64::from(held_back));
        }
    }
}

/// One of everything.
#[cfg(test)]
pub fn sample() -> Census {
    Census {
        agents: [("Running", 1)].into(),
        coding_runs: [("Planning", 1)].into(),
        swarms: [("Running", 1)].into(),
        stalled: [(("Agent", "SlugTaken"), 1)].into(),
        mailboxes: Some((1, true)),
    }
}

#[cfg(test)]
mod tests {
    use foundry_crds::{AgentSpec, AgentStatus};
    use pretty_assertions::assert_eq;

    use super::*;
    use crate::conditions::{Readiness, merge};

    fn agent(state: Option<AgentState>, stalled: Option<&'static str>) -> Agent {
        let mut agent = Agent::new("ann", AgentSpec::default());
        let wanted = stalled.map(|reason| Readiness::Stalled.conditions(reason, "words"));
        let now = k8s_openapi::jiff::Timestamp::UNIX_EPOCH;
        let conditions = merge(&[], wanted.unwrap_or_default(), 1, now);
        agent.status = Some(AgentStatus { state, conditions, ..AgentStatus::default() });
        agent
    }

    #[test]
    fn agents_are_counted_by_state_and_those_that_wait_for_a_person_by_reason() {
        let mut census = Census::default();
        census.count_agent(&agent(Some(AgentState::Running), None));
        census.count_agent(&agent(Some(AgentState::Pending), Some("SlugTaken")));
        census.count_agent(&agent(Some(AgentState::Pending), Some("words of a stranger")));
        census.count_agent(&agent(None, None));
        assert_eq!(
            census,
            Census {
                agents: [("Running", 1), ("Pending", 2), (UNSEEN, 1)].into(),
                coding_runs: BTreeMap::new(),
                swarms: BTreeMap::new(),
                stalled: [(("Agent", "SlugTaken"), 1), (("Agent", OTHER), 1)].into(),
                mailboxes: None,
            }
        );
    }
}
