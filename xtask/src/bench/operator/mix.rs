//! What the cluster is filled with: the same objects for the same seed and size.

use foundry_crds::agent::{Activation, DesiredState};
use foundry_crds::coding_run::{Approval, Repository};
use foundry_crds::harness::NetworkRole;
use foundry_crds::model::{Provider, SecretKeyRef};
use foundry_crds::{
    Agent, AgentSpec, CodingRun, CodingRunSpec, Harness, HarnessSpec, Model, ModelSpec,
};

/// Bytes of an agent's instructions.
const INSTRUCTIONS: usize = 4 * 1024;
/// Harness of the agents.
pub const HARNESS: &str = "agent-v1";
/// Harness of the runs.
pub const CODING_HARNESS: &str = "coding-v1";
/// Secret that the Models name.
pub const MODEL_SECRET: &str = "bench-model";

/// A kind of object in the mix.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Persistent, and it runs: a Deployment and its pod.
    RunningAgent,
    /// Persistent, and stopped.
    StoppedAgent,
    /// Woken on demand.
    OnDemandAgent,
    /// A run that succeeded, with its agent.
    FinishedRun,
    /// A Harness that nobody uses.
    Harness,
    /// A Model with its key.
    Model,
}

/// Hundredths of all objects that are of a kind: 70 agents, 20 finished runs, 10 others.
const SHARES: [(Kind, usize); 6] = [
    (Kind::RunningAgent, 50),
    (Kind::StoppedAgent, 10),
    (Kind::OnDemandAgent, 10),
    (Kind::FinishedRun, 20),
    (Kind::Harness, 3),
    (Kind::Model, 7),
];

/// An object to create.
#[derive(Clone, Debug, PartialEq)]
pub enum Object {
    /// An agent of any kind.
    Agent(Box<Agent>),
    /// A run.
    Run(Box<CodingRun>),
    /// A Harness.
    Harness(Box<Harness>),
    /// A Model.
    Model(Box<Model>),
}

/// How many objects of a kind there are among so many.
pub fn count(kind: Kind, objects: usize) -> usize {
    kinds(objects).into_iter().filter(|it| *it == kind).count()
}

/// So many objects in a fixed order that mixes the kinds.
pub fn objects(objects: usize) -> Vec<Object> {
    let mut chance = Chance::new();
    let kinds = kinds(objects).into_iter().enumerate();
    kinds.map(|(number, kind)| object(kind, number, &mut chance)).collect()
}

/// Names of the agents that run, in their order.
pub fn running_agents(objects: usize) -> Vec<String> {
    of_kind(Kind::RunningAgent, objects)
}

/// Names of the runs that end, in their order.
pub fn finished_runs(objects: usize) -> Vec<String> {
    of_kind(Kind::FinishedRun, objects)
}

fn of_kind(kind: Kind, objects: usize) -> Vec<String> {
    let kinds = kinds(objects).into_iter().enumerate();
    kinds.filter(|(_, it)| *it == kind).map(|(number, kind)| name(kind, number)).collect()
}

/// The kinds of so many objects, in a fixed order that mixes them.
fn kinds(objects: usize) -> Vec<Kind> {
    let mut kinds = Vec::with_capacity(objects);
    for (kind, share) in SHARES {
        kinds.extend(std::iter::repeat_n(kind, objects * share / 100));
    }
    // What rounding leaves over.
    kinds.resize(objects, Kind::RunningAgent);
    let mut chance = Chance::new();
    for end in (1..kinds.len()).rev() {
        kinds.swap(end, chance.below(end + 1));
    }
    kinds
}

fn name(kind: Kind, number: usize) -> String {
    match kind {
        Kind::RunningAgent | Kind::StoppedAgent | Kind::OnDemandAgent => format!("agent-{number}"),
        Kind::FinishedRun => format!("run-{number}"),
        Kind::Harness => format!("harness-{number}"),
        Kind::Model => format!("model-{number}"),
    }
}

fn object(kind: Kind, number: usize, chance: &mut Chance) -> Object {
    let name = name(kind, number);
    match kind {
        Kind::RunningAgent => agent(&name, chance, |_| {}),
        Kind::StoppedAgent => {
            agent(&name, chance, |spec| spec.desired_state = Some(DesiredState::Stopped))
        }
        Kind::OnDemandAgent => {
            agent(&name, chance, |spec| spec.activation = Some(Activation::OnDemand))
        }
        Kind::FinishedRun => Object::Run(Box::new(run(&name))),
        Kind::Harness => Object::Harness(Box::new(Harness::new(&name, HarnessSpec::default()))),
        Kind::Model => Object::Model(Box::new(Model::new(&name, model(&name)))),
    }
}

fn agent(name: &str, chance: &mut Chance, edit: impl FnOnce(&mut AgentSpec)) -> Object {
    let mut spec = AgentSpec {
        owner: "ann".to_owned(),
        harness: HARNESS.to_owned(),
        instructions: Some(chance.words(INSTRUCTIONS)),
        ..AgentSpec::default()
    };
    edit(&mut spec);
    Object::Agent(Box::new(Agent::new(name, spec)))
}

/// A run that waits for nobody.
pub fn run(name: &str) -> CodingRun {
    let repository = Repository {
        remote: "git@git.example:acme/greeting.git".to_owned(),
        ..Repository::default()
    };
    let spec = CodingRunSpec {
        owner: "ann".to_owned(),
        task: "Mend the greeting, and see that its tests say so.".to_owned(),
        repository,
        approval: Some(Approval::Person),
        ..CodingRunSpec::default()
    };
    CodingRun::new(name, spec)
}

/// The Harness of runs.
pub fn coding_harness() -> Harness {
    let spec = HarnessSpec {
        command: Some("/harness-coding".to_owned()),
        features: vec!["repo_scope".to_owned()],
        network_role: Some(NetworkRole::Coding),
        ..HarnessSpec::default()
    };
    Harness::new(CODING_HARNESS, spec)
}

fn model(name: &str) -> ModelSpec {
    ModelSpec {
        wire_id: name.to_owned(),
        provider: Provider::OpenAi,
        upstream_model: None,
        base_url: None,
        api_key: Some(SecretKeyRef { name: MODEL_SECRET.to_owned(), key: "apiKey".to_owned() }),
        max_context_tokens: None,
        reasoning_efforts: Vec::new(),
        prices: None,
    }
}

/// Numbers that look like chance and are the same each time (xorshift64).
struct Chance(u64);

impl Chance {
    /// Begins at the fixed seed.
    fn new() -> Self {
        Self(0x5eed_0f0f_0d12_3457)
    }

    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    fn below(&mut self, bound: usize) -> usize {
        let bound = u64::try_from(bound).unwrap_or(u64::MAX).max(1);
        usize::try_from(self.next() % bound).unwrap_or_default()
    }

    /// Text of exactly so many bytes.
    fn words(&mut self, bytes: usize) -> String {
        const WORDS: [&str; 8] =
            ["watch ", "the ", "harbour ", "and ", "say ", "what ", "ships ", "come.\n"];
        let mut text = String::with_capacity(bytes + 8);
        while text.len() < bytes {
            text.push_str(WORDS[self.below(WORDS.len())]);
        }
        text.truncate(bytes);
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mix_is_seventy_agents_twenty_runs_and_ten_others_of_a_hundred() {
        let agents = [Kind::RunningAgent, Kind::StoppedAgent, Kind::OnDemandAgent];
        let sum = |kinds: &[Kind], all| kinds.iter().map(|kind| count(*kind, all)).sum::<usize>();
        for all in [100, 1_000, 10_000] {
            assert_eq!(sum(&agents, all), all * 70 / 100);
            assert_eq!(count(Kind::FinishedRun, all), all * 20 / 100);
            assert_eq!(sum(&[Kind::Harness, Kind::Model], all), all * 10 / 100);
        }
        assert_eq!(kinds(7).len(), 7, "rounding loses none");
    }

    #[test]
    fn the_same_objects_come_each_time_and_agents_have_four_kibibytes_to_say() {
        let first = objects(60);
        assert_eq!(first, objects(60));
        let told: Vec<usize> = first
            .iter()
            .filter_map(|object| match object {
                Object::Agent(agent) => agent.spec.instructions.as_ref().map(String::len),
                Object::Run(_) | Object::Harness(_) | Object::Model(_) => None,
            })
            .collect();
        assert!(told.len() > 30 && told.iter().all(|bytes| *bytes == INSTRUCTIONS), "{told:?}");
        assert_eq!(running_agents(60).len(), count(Kind::RunningAgent, 60));
    }
}
