//! The agent as this process knows it: what it is made of, what it remembers between
//! cycles, and what must hold before the model is called.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use foundry_client::{
    AgentView, CatalogTool, ClientError, Failure, HarnessView, ModelView, SkillRef,
};
use foundry_kernel::Tool;
use foundry_platform::api::Api;
use foundry_platform::catalog::{self, Executors};
use foundry_platform::clock::Clock;
use foundry_platform::events::{EventLog, kind};
use foundry_platform::gate::{Blocked, CLOSED_FOR, Gate};
use foundry_platform::heartbeat::Vitals;
use foundry_platform::reasoning::Effort;
use foundry_platform::relay::{self, Broker, Route};
use foundry_platform::rest;
use foundry_platform::runs::Recorder;
use foundry_platform::settings::ModelSettings;
use tokio::sync::watch;
use tokio_util::sync::CancellationToken;

use crate::prompt::{self, Identity};
use crate::start::{Observed, Start};
use crate::working_set::WorkingSet;

/// Everything a cycle needs.
pub(crate) struct Agent {
    pub api: Arc<dyn Api>,
    pub broker: Arc<dyn Broker>,
    pub model: ModelSettings,
    pub executors: Executors,
    pub log: EventLog,
    pub clock: Clock,
    pub vitals: Arc<Vitals>,
    pub runs: Arc<Recorder>,
    /// Whether the agent should be running, as last read.
    pub active: watch::Sender<bool>,
    pub stop: CancellationToken,
    pub mind: Mutex<Mind>,
}

/// What the process carries from one cycle to the next.
#[derive(Default)]
pub(crate) struct Mind {
    pub start: Option<Start>,
    pub cycles: WorkingSet,
    pub gate: Gate<Config>,
    /// Closed while the agent has no usable model (BIND-10). It opens with any change of
    /// the model's row in the catalog, so this waits for no rhythm of its own.
    pub models: Gate<(Config, Option<ModelView>)>,
    resting: Option<&'static str>,
    unread: Option<String>,
    warnings: Vec<String>,
    dropped_effort: Option<String>,
}

/// What an agent is configured with; a change passes the retry gate (LOOP-30).
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Config {
    instructions: String,
    model: String,
    harness_id: String,
    tools: Vec<String>,
    skills: Vec<SkillRef>,
    max_turns: i64,
}

/// All that a run is assembled from.
pub(crate) struct Ready {
    pub agent: AgentView,
    pub start: Start,
    pub cycles: WorkingSet,
    pub system: String,
    pub tools: Vec<Arc<Tool>>,
    /// The model's row in the catalog, if it has one.
    pub model: Option<ModelView>,
    pub route: Route,
    pub effort: Effort,
}

/// Why the model is not called now.
#[derive(Debug, PartialEq)]
pub(crate) enum NotReady {
    /// The API could not be read; trying again helps.
    Unread,
    /// The agent should not be running.
    Resting,
    /// Something must change first; the gate says when to look again.
    Blocked,
}

impl Ready {
    pub(crate) fn who(&self) -> Identity<'_> {
        Identity { id: &self.agent.id, slug: &self.agent.slug, name: &self.agent.name }
    }
}

impl Agent {
    pub(crate) fn mind(&self) -> MutexGuard<'_, Mind> {
        self.mind.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Reads the agent and all its run needs (LOOP-03).
    pub(crate) async fn ready(&self) -> Result<Ready, NotReady> {
        let agent = self.api.agent().await.map_err(|error| self.unread(&error))?;
        let start = self.observe(&agent);
        // Before the gate: a person's stop comes first (LOOP-32).
        self.rest(&agent)?;
        let config = Config::of(&agent);
        if !self.mind().gate.passes(&config, self.clock.now()) {
            return Err(NotReady::Blocked);
        }
        let read = self.read(&agent).await;
        let Read { thoughts, tools, harness, model } = match read {
            Ok(read) => read,
            Err(Unreadable::Api(error)) => return Err(self.unread(&error)),
            Err(Unreadable::Catalog(error)) if is_passing(&error) => {
                return Err(self.unread(&error));
            }
            Err(Unreadable::Catalog(error)) => return Err(self.block(&agent, &error.to_string())),
        };
        self.readable_again();
        let selected = catalog::select(&tools, &agent, &harness, &self.executors)
            .map_err(|blocker| self.block(&agent, &blocker.to_string()))?;
        self.warn(warnings(&agent, &selected.not_permitted));
        // BIND-10: what was told of a model that cannot be used is not told again.
        if !self.mind().models.passes(&(config, model.clone()), self.clock.now()) {
            return Err(NotReady::Blocked);
        }
        let route = relay::route(model.as_ref());
        let effort = Effort::decide(self.model.effort(), &agent.model, &route);
        self.tell_effort(&effort);
        Ok(Ready {
            start,
            cycles: self.mind().cycles.clone(),
            system: prompt::system(&agent.instructions, &thoughts),
            tools: selected.tools,
            model,
            route,
            effort,
            agent,
        })
    }

    /// Stops the cycle before the model is called, and closes the gate (LOOP-29).
    pub(crate) fn block(&self, agent: &AgentView, blocker: &str) -> NotReady {
        self.close_gate(agent, blocker, CLOSED_FOR);
        NotReady::Blocked
    }

    /// Lets no cycle of this configuration pass for a while; says so once (LOOP-31).
    pub(crate) fn close_gate(&self, agent: &AgentView, reason: &str, time: Duration) {
        let config = Config::of(agent);
        let told = self.mind().gate.close(config, reason.to_owned(), self.clock.now(), time);
        match told {
            Blocked::New => {
                let seconds = time.as_secs();
                self.log.error(&format!("{reason}; no cycle for {seconds} s unless it changes"));
            }
            Blocked::Unchanged => {}
        }
    }

    /// A cycle of this configuration got past its start.
    pub(crate) fn open_gate(&self, agent: &AgentView) {
        let now = self.clock.now();
        self.mind().gate.open_if_it_passes(&Config::of(agent), now);
    }

    /// Lets no cycle pass whose model is as it is now; says why, once (BIND-10).
    pub(crate) fn close_models(&self, ready: &Ready, reason: &str) -> Blocked {
        let now = self.clock.now();
        let as_it_is = (Config::of(&ready.agent), ready.model.clone());
        self.mind().models.close(as_it_is, reason.to_owned(), now, CLOSED_FOR)
    }

    /// Takes note of the start number (LOOP-16).
    fn observe(&self, agent: &AgentView) -> Start {
        let now = self.clock.now();
        self.vitals.set_generation(agent.generation);
        let mut mind = self.mind();
        let Some(start) = &mut mind.start else {
            return mind.start.insert(Start::begin(agent.generation, now)).clone();
        };
        match start.observe(agent.generation, now) {
            Observed::Same => {}
            Observed::New => {
                let line = format!("start {} begins in this process", agent.generation);
                self.log.info(kind::START, &line);
            }
        }
        start.clone()
    }

    /// Stops thinking, and takes no wakes, while the agent should not be running.
    fn rest(&self, agent: &AgentView) -> Result<(), NotReady> {
        let resting = rest::why_not(agent, "the agent is woken on demand, inside the api");
        let told = std::mem::replace(&mut self.mind().resting, resting);
        self.active.send_if_modified(|active| {
            std::mem::replace(active, resting.is_none()) != resting.is_none()
        });
        match (told, resting) {
            (Some(_), None) => self.log.info(kind::REST, "thinks again"),
            (told, Some(reason)) if told != resting => {
                self.log.info(kind::REST, &format!("does not think: {reason}"));
            }
            (_, Some(_)) | (None, None) => {}
        }
        if resting.is_none() {
            return Ok(());
        }
        self.readable_again();
        Err(NotReady::Resting)
    }

    async fn read(&self, agent: &AgentView) -> Result<Read, Unreadable> {
        // Two at a time, as many connections as the client keeps: more would be made and
        // thrown away in each cycle of each agent.
        let (thoughts, model) = tokio::try_join!(
            async { self.api.thoughts().await.map_err(Unreadable::Api) },
            async { self.find_model(&agent.model).await.map_err(Unreadable::Api) },
        )?;
        let (tools, harness) = tokio::try_join!(
            async { self.api.tools().await.map_err(Unreadable::Catalog) },
            async { self.api.harness(&agent.harness_id).await.map_err(Unreadable::Catalog) },
        )?;
        Ok(Read { thoughts, tools, harness, model })
    }

    /// The model's row in the catalog. One that is known to be missing is not looked for
    /// again and again in each cycle.
    async fn find_model(&self, model: &str) -> Result<Option<ModelView>, ClientError> {
        if self.mind().models.is_closed() {
            return relay::look(&*self.api, model).await;
        }
        relay::find(&*self.api, model).await
    }

    /// Says what could not be read, once for each cause.
    fn unread(&self, error: &ClientError) -> NotReady {
        let line = error.to_string();
        if self.mind().unread.replace(line.clone()).as_ref() != Some(&line) {
            self.log.error(&line);
        }
        NotReady::Unread
    }

    fn readable_again(&self) {
        if self.mind().unread.take().is_some() {
            self.log.info(kind::API, "the api answers again");
        }
    }

    /// Says that the reasoning effort is not sent, once until that changes (CODE-41).
    fn tell_effort(&self, effort: &Effort) {
        let line = effort.line().map(str::to_owned);
        let told = std::mem::replace(&mut self.mind().dropped_effort, line.clone());
        if let Some(line) = line.filter(|line| told.as_ref() != Some(line)) {
            self.log.info(kind::MODEL, &line);
        }
    }

    /// Says what an agent asks for and does not get, once until it changes.
    fn warn(&self, warnings: Vec<String>) {
        let mut mind = self.mind();
        for warning in warnings.iter().filter(|warning| !mind.warnings.contains(warning)) {
            self.log.warn(warning);
        }
        mind.warnings = warnings;
    }
}

impl Config {
    fn of(agent: &AgentView) -> Self {
        Self {
            instructions: agent.instructions.clone(),
            model: agent.model.clone(),
            harness_id: agent.harness_id.clone(),
            tools: agent.tools.clone(),
            skills: agent.skills.clone(),
            max_turns: agent.max_turns,
        }
    }
}

/// What is read beside the agent.
struct Read {
    thoughts: String,
    tools: Vec<CatalogTool>,
    harness: HarnessView,
    model: Option<ModelView>,
}

enum Unreadable {
    /// Trying again helps.
    Api(ClientError),
    /// A failure at the start of a cycle (LOOP-30), unless it says nothing of the catalog.
    Catalog(ClientError),
}

fn warnings(agent: &AgentView, not_permitted: &[String]) -> Vec<String> {
    let skills = agent.skills.iter().map(|skill| skill.name.clone()).collect::<Vec<_>>();
    [
        ("tools are granted that the harness does not permit", not_permitted),
        ("skills are attached that this harness cannot read", &skills),
    ]
    .into_iter()
    .filter(|(_, names)| !names.is_empty())
    .map(|(what, names)| format!("{what}: {}", names.join(", ")))
    .collect()
}

/// Whether the API was merely away or busy: that says nothing of the catalog, and the
/// next cycle looks again. A catalog that came and cannot be read stays as it is.
fn is_passing(error: &ClientError) -> bool {
    match &error.failure {
        Failure::Status { status, .. } => matches!(status, 429 | 502..=504),
        Failure::Unreachable(_) | Failure::TimedOut | Failure::NoToken(_) => true,
        Failure::Unreadable(_) | Failure::Unsendable(_) => false,
    }
}
