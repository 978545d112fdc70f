//! An API in memory, for tests of hosts: it does what it is told and remembers what
//! it was asked.

use std::collections::BTreeMap;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use async_trait::async_trait;
use foundry_client::{
    Activation, AgentPage, AgentState, AgentView, Answer, AskQuestion, AuthorKind, CatalogTool,
    ClientError, CodingReport, DesiredState, Effect, Failure, HarnessView, Heartbeat, Lifetime,
    LogEvent, MemberView, Memory, ModelView, Provider, RunRecord, SavePlan, SavedPlan, SpawnSwarm,
    Status, SwarmView, Tier, ToolFamily, Wake,
};
use jiff::Timestamp;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};
use tokio::sync::Notify;
use tokio::time::{Instant, sleep};
use uuid::Uuid;

use crate::api::Api;

/// The API in memory.
pub struct FakeApi {
    state: Mutex<State>,
    woken: Notify,
    answered: Notify,
}

/// What it holds and what it was asked; tests read and change it freely.
#[derive(Debug)]
pub struct State {
    /// The agent's record.
    pub agent: AgentView,
    /// The harness of every id.
    pub harness: HarnessView,
    /// The catalog.
    pub tools: Vec<CatalogTool>,
    /// The models.
    pub models: Vec<ModelView>,
    /// Memories written.
    pub memories: Vec<Memory>,
    /// Wakes that no run record has named yet.
    pub wakes: Vec<Wake>,
    /// Run records, each stored once.
    pub runs: Vec<RunRecord>,
    /// Log events, each stored once.
    pub events: Vec<LogEvent>,
    /// Heartbeats.
    pub beats: Vec<Heartbeat>,
    /// Plans saved, in order.
    pub plans: Vec<SavePlan>,
    /// Questions asked, each once.
    pub questions: Vec<AskQuestion>,
    /// Answers given.
    pub answers: Vec<Answer>,
    /// Whether a poll for an answer that is not there yet comes back at once.
    pub polls_end_at_once: bool,
    /// Reports of a coding task, in order.
    pub reports: Vec<CodingReport>,
    /// Swarms started, in order.
    pub swarms: Vec<SwarmView>,
    /// Every call and when it came.
    pub calls: Vec<(&'static str, Instant)>,
    /// Failures by call, until they are taken out.
    pub failing: BTreeMap<&'static str, Failure>,
    /// How long calls take that take any time: `read thoughts` and `record run` can.
    pub slow: BTreeMap<&'static str, Duration>,
}

impl Default for FakeApi {
    fn default() -> Self {
        let state = State {
            agent: agent("ann"),
            harness: HarnessView {
                id: "agent-v1".to_owned(),
                tools: vec!["list_agents".to_owned(), "get_agent".to_owned()],
                always_granted: vec!["remember".to_owned(), "recall".to_owned()],
                features: Vec::new(),
                allows_skills: true,
            },
            tools: ["remember", "recall", "list_agents", "get_agent"].map(tool).to_vec(),
            models: vec![model("gpt-5-mini", Provider::OpenAi)],
            memories: Vec::new(),
            wakes: Vec::new(),
            runs: Vec::new(),
            events: Vec::new(),
            beats: Vec::new(),
            plans: Vec::new(),
            questions: Vec::new(),
            answers: Vec::new(),
            polls_end_at_once: false,
            reports: Vec::new(),
            swarms: Vec::new(),
            calls: Vec::new(),
            failing: BTreeMap::new(),
            slow: BTreeMap::new(),
        };
        Self { state: Mutex::new(state), woken: Notify::new(), answered: Notify::new() }
    }
}

impl FakeApi {
    /// What it holds now.
    pub fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Makes a call answer with this status until [`Self::heal`].
    pub fn fail(&self, call: &'static str, status: u16, problem: &str) {
        let failure = Failure::Status { status, problem: problem.to_owned(), reason: None };
        self.state().failing.insert(call, failure);
    }

    /// Lets a call succeed again.
    pub fn heal(&self, call: &'static str) {
        self.state().failing.remove(call);
    }

    /// Puts a wake into the inbox.
    pub fn wake(&self, text: &str) -> Uuid {
        let mut state = self.state();
        let id = Uuid::from_u128(1000 + state.wakes.len() as u128 + state.runs.len() as u128);
        state.wakes.push(Wake {
            id,
            source: "person".to_owned(),
            text: Some(text.to_owned()),
            message_id: None,
            thread_id: None,
            addressed_to: None,
            created_at: Timestamp::UNIX_EPOCH,
        });
        drop(state);
        self.woken.notify_one();
        id
    }

    /// Answers the newest question, as a person would who read its plan.
    pub fn answer(&self, text: &str) {
        let mut state = self.state();
        if let Some(question) = state.questions.last().cloned() {
            let AskQuestion { id, plan_sha256, .. } = question;
            state.answers.push(Answer {
                question_id: id,
                text: text.to_owned(),
                plan_sha256,
                answered_by: "someone@example.com".to_owned(),
                answered_at: Timestamp::UNIX_EPOCH,
            });
        }
        drop(state);
        self.answered.notify_one();
    }

    /// When a call came, in order.
    pub fn times(&self, call: &str) -> Vec<Instant> {
        let state = self.state();
        state.calls.iter().filter(|(name, _)| *name == call).map(|(_, at)| *at).collect()
    }

    /// Messages of the log, in order.
    pub fn messages(&self) -> Vec<String> {
        self.state().events.iter().map(|event| event.message.clone()).collect()
    }

    async fn takes_its_time(&self, call: &str) {
        let time = self.state().slow.get(call).copied();
        if let Some(time) = time {
            sleep(time).await;
        }
    }

    fn asked(&self, call: &'static str) -> Result<MutexGuard<'_, State>, ClientError> {
        let mut state = self.state();
        state.calls.push((call, Instant::now()));
        match state.failing.get(call) {
            Some(failure) => {
                Err(ClientError { service: "api", attempted: call, failure: failure.clone() })
            }
            None => Ok(state),
        }
    }
}

#[async_trait]
impl Api for FakeApi {
    async fn agent(&self) -> Result<AgentView, ClientError> {
        Ok(self.asked("get agent")?.agent.clone())
    }

    async fn thoughts(&self) -> Result<String, ClientError> {
        self.takes_its_time("read thoughts").await;
        Ok(crate::thoughts::render(&[], &self.asked("read thoughts")?.memories))
    }

    async fn tools(&self) -> Result<Vec<CatalogTool>, ClientError> {
        Ok(self.asked("list tools")?.tools.clone())
    }

    async fn harness(&self, _id: &str) -> Result<HarnessView, ClientError> {
        Ok(self.asked("get harness")?.harness.clone())
    }

    async fn models(&self) -> Result<Vec<ModelView>, ClientError> {
        Ok(self.asked("list models")?.models.clone())
    }

    async fn inbox(&self) -> Result<Vec<Wake>, ClientError> {
        drop(self.asked("poll inbox")?);
        loop {
            let woken = self.woken.notified();
            let wakes = self.state().wakes.clone();
            if !wakes.is_empty() {
                return Ok(wakes);
            }
            woken.await;
        }
    }

    async fn record_run(&self, run: &RunRecord) -> Result<(), ClientError> {
        self.takes_its_time("record run").await;
        let mut state = self.asked("record run")?;
        if state.runs.iter().all(|known| known.id != run.id) {
            state.runs.push(run.clone());
        }
        state.wakes.retain(|wake| Some(wake.id) != run.wake_id);
        Ok(())
    }

    async fn post_logs(&self, events: &[LogEvent]) -> Result<(), ClientError> {
        let alone = events.len() == 1 && self.state().failing.contains_key("post one event");
        let mut state = self.asked(if alone { "post one event" } else { "post logs" })?;
        for event in events {
            if state.events.iter().all(|known| known.id != event.id) {
                state.events.push(event.clone());
            }
        }
        Ok(())
    }

    async fn heartbeat(&self, beat: &Heartbeat) -> Result<(), ClientError> {
        self.asked("send heartbeat")?.beats.push(*beat);
        Ok(())
    }

    async fn remember(&self, text: &str) -> Result<Memory, ClientError> {
        let mut state = self.asked("remember")?;
        let memory = Memory {
            id: Uuid::from_u128(state.memories.len() as u128),
            text: text.to_owned(),
            tier: Tier::Archive,
            author_kind: AuthorKind::Agent,
            author: state.agent.id.clone(),
            created_at: Timestamp::UNIX_EPOCH,
            reviewed_at: None,
            superseded: false,
        };
        state.memories.push(memory.clone());
        Ok(memory)
    }

    async fn recall(&self, query: &str, _limit: Option<u32>) -> Result<Vec<Memory>, ClientError> {
        let state = self.asked("recall")?;
        Ok(state.memories.iter().filter(|memory| memory.text.contains(query)).cloned().collect())
    }

    async fn list_agents(
        &self,
        _query: Option<&str>,
        _limit: Option<u32>,
        _cursor: Option<&str>,
    ) -> Result<AgentPage, ClientError> {
        let state = self.asked("list agents")?;
        Ok(AgentPage { items: vec![state.agent.clone()], next_cursor: None })
    }

    async fn get_agent(&self, _id: &str) -> Result<AgentView, ClientError> {
        Ok(self.asked("get another agent")?.agent.clone())
    }

    async fn queue_errors(
        &self,
        queue: Option<&str>,
        limit: Option<u32>,
    ) -> Result<Value, ClientError> {
        drop(self.asked("list queue errors")?);
        Ok(json!({ "items": [{ "job": "j-1", "queue": queue, "limit": limit }] }))
    }

    async fn save_plan(&self, plan: &SavePlan) -> Result<SavedPlan, ClientError> {
        let mut state = self.asked("save plan")?;
        state.plans.push(plan.clone());
        let document_id = format!("doc-{}", state.plans.len());
        let location = format!("documents:{document_id}");
        let sha256 = digest(&plan.markdown);
        Ok(SavedPlan { document_id, sha256, location })
    }

    async fn ask_question(&self, question: &AskQuestion) -> Result<(), ClientError> {
        let mut state = self.asked("ask question")?;
        if state.questions.iter().all(|known| known.id != question.id) {
            state.questions.push(question.clone());
        }
        Ok(())
    }

    /// Waits as long as it takes, or until a failure is set.
    async fn poll_answer(&self, question: Uuid) -> Result<Option<Answer>, ClientError> {
        drop(self.asked("poll answer")?);
        loop {
            let answered = self.answered.notified();
            let answer =
                self.state().answers.iter().find(|one| one.question_id == question).cloned();
            if answer.is_some() || self.state().polls_end_at_once {
                return Ok(answer);
            }
            answered.await;
        }
    }

    async fn report_coding(&self, report: &CodingReport) -> Result<(), ClientError> {
        self.asked("report coding")?.reports.push(report.clone());
        Ok(())
    }

    async fn spawn_swarm(&self, swarm: &SpawnSwarm) -> Result<SwarmView, ClientError> {
        let mut state = self.asked("spawn swarm")?;
        let id = format!("{}-{}", state.agent.id, state.swarms.len() + 1);
        let made = started(id, &state.agent, swarm);
        state.swarms.push(made.clone());
        Ok(made)
    }

    async fn dismiss_swarm(&self, id: &str) -> Result<SwarmView, ClientError> {
        let mut state = self.asked("dismiss swarm")?;
        if let Some(swarm) = state.swarms.iter_mut().find(|swarm| swarm.id == id) {
            swarm.dismissed = true;
            return Ok(swarm.clone());
        }
        let problem = format!("there is no swarm {id:?}");
        let failure = Failure::Status { status: 404, problem, reason: None };
        Err(ClientError { service: "api", attempted: "dismiss swarm", failure })
    }

    async fn expire(&self) -> Result<(), ClientError> {
        self.asked("expire agent")?.agent.status = Status::Expired;
        Ok(())
    }
}

/// A swarm as the API shows it before the operator has seen it.
fn started(id: String, parent: &AgentView, swarm: &SpawnSwarm) -> SwarmView {
    let members = swarm.members.iter().cloned().map(|member| MemberView {
        agent_id: format!("{id}-{}", member.name),
        name: member.name,
        harness_id: member.harness_id.unwrap_or_else(|| "agent-v1".to_owned()),
        instructions: member.instructions,
        model: member.model.unwrap_or_else(|| "auto".to_owned()),
        tools: member.tools,
        skills: member.skills,
        tool_servers: member.tool_servers,
        phase: None,
    });
    SwarmView {
        members: members.collect(),
        namespace: parent.namespace.clone(),
        owner: parent.owner.clone(),
        parent_agent_id: parent.id.clone(),
        goal: swarm.goal.clone(),
        ttl_seconds: swarm.ttl_seconds.unwrap_or(14_400),
        dismissed: false,
        phase: None,
        reason: None,
        message: None,
        created_at: Timestamp::UNIX_EPOCH,
        started_at: None,
        completed_at: None,
        id,
    }
}

/// SHA-256 in hex.
fn digest(text: &str) -> String {
    let nibbles = Sha256::digest(text).into_iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    nibbles.filter_map(|nibble| char::from_digit(nibble.into(), 16)).collect()
}

/// A running agent in its first start.
pub fn agent(id: &str) -> AgentView {
    AgentView {
        id: id.to_owned(),
        namespace: "foundry-agents".to_owned(),
        name: "Ann".to_owned(),
        slug: "ann-of-billing".to_owned(),
        owner: "someone@example.com".to_owned(),
        harness_id: "agent-v1".to_owned(),
        lifetime: Lifetime::Persistent,
        activation: Activation::AlwaysOn,
        status: Status::Active,
        desired_state: DesiredState::Running,
        generation: 1,
        process_generation: 1,
        state: AgentState::Running,
        reason: None,
        message: None,
        instructions: "Watch the invoices.".to_owned(),
        model: "auto".to_owned(),
        memory_model: "auto".to_owned(),
        max_turns: 10,
        tools: Vec::new(),
        skills: Vec::new(),
        tool_servers: Vec::new(),
        repository: None,
        parent_agent_id: None,
        swarm_id: None,
        ttl_at: None,
        mailbox: None,
        plan_document_id: None,
        last_heartbeat: None,
        context_percent: None,
        created_at: Timestamp::UNIX_EPOCH,
        resource_version: "1".to_owned(),
    }
}

/// A ready model that `auto` means.
pub fn model(wire_id: &str, provider: Provider) -> ModelView {
    ModelView {
        name: wire_id.to_owned(),
        wire_id: wire_id.to_owned(),
        provider,
        is_auto: true,
        max_context_tokens: Some(100_000),
        reasoning_efforts: Vec::new(),
        ready: true,
        reason: None,
    }
}

/// A tool of the catalog; `remember` alone writes.
pub fn tool(name: &str) -> CatalogTool {
    CatalogTool {
        name: name.to_owned(),
        description: format!("Does what {name} says."),
        input_schema: json!({ "type": "object" }),
        family: ToolFamily::Agent,
        effect: if name == "remember" { Effect::Write } else { Effect::Read },
    }
}
