//! Carries a task out: planning, approval, building, each phase in attempts, all under
//! one clock. What follows from what is decided in [`crate::task`]; here it is done.

use std::convert::Infallible;
use std::sync::Arc;

use async_trait::async_trait;
use foundry_client::{Approval, CodingOutcome, CodingResult, LogLevel, QuestionKind};
use foundry_kernel::{
    EmptyReply, Entry, Host as _, Ladder, Limits, Outcome, Run, RunOptions, Settings, Stop, Tool,
    UserInput, drive,
};
use foundry_llm::Usage;
use foundry_platform::relay;
use foundry_platform::tell::{self, Means, Teller};
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::desk::{DeskError, Question};
use crate::host::AttemptHost;
use crate::kind;
use crate::prompt::{self, Opening, Setting};
use crate::task::attempt::{self, Left, Next, Phase, Watch};
use crate::task::carry::Known;
use crate::task::stage::{self, Came, Change, Plan, Stage};
use crate::tools::{self, Bench};

/// What is to be done, and how.
#[derive(Clone, Debug)]
pub struct Task {
    /// The task, in Markdown.
    pub text: String,
    /// Where it is done.
    pub setting: Setting,
    /// The model that does it.
    pub model: Model,
    /// Model turns of one attempt (CODE-23).
    pub turns_per_attempt: u32,
}

/// The model of a task, and how it is used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// `auto` or a model's id.
    pub name: String,
    /// Tokens that fit its window (CODE-39).
    pub window: u64,
    /// The reasoning level it is asked for (CODE-41).
    pub reasoning_effort: Option<String>,
    /// The model that takes over when it fails for good (KERN-42).
    pub fallback: Option<String>,
}

/// Tools from elsewhere, beside the engine's own. Asked for at the start of each attempt:
/// a server may have others by then.
#[async_trait]
pub trait Granted: Send + Sync {
    /// The tools there are now, in the order in which the model sees them.
    async fn tools(&self) -> Vec<Arc<Tool>>;
}

#[async_trait]
impl Granted for Vec<Arc<Tool>> {
    async fn tools(&self) -> Vec<Arc<Tool>> {
        self.clone()
    }
}

/// What the engine works with.
pub struct Engine {
    /// What is to be done.
    pub task: Task,
    /// The tools' own means.
    pub bench: Bench,
    /// How the model is called and where lines go.
    pub means: Means,
    /// Tools of the platform or of a person's own servers.
    pub granted: Arc<dyn Granted>,
    /// Cancelled when the process is to stop.
    pub stop: CancellationToken,
}

/// How a task ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Ended {
    /// With a result.
    Result(CodingResult),
    /// The process was stopped, or nobody is left to ask: nothing is said of the task.
    Stopped(String),
}

/// A task that was carried out, and what it used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Done {
    /// How it ended.
    pub ended: Ended,
    /// Tokens of all its attempts.
    pub usage: Usage,
}

/// The task goes no further, and nothing is said of it.
struct Stopped(String);

/// What attempts leave for those after them.
#[derive(Default)]
struct Memory {
    usage: Usage,
    /// The planning conversation so far, which a person's words go on (CODE-31).
    planning: Vec<Entry>,
}

impl Engine {
    /// Carries the task out, from planning to its end.
    pub async fn carry_out(&self) -> Done {
        let mut memory = Memory::default();
        let mut stage = Stage::first();
        let ended = loop {
            let came = match &stage {
                Stage::Planning { change } => self.plan(change.as_ref(), &mut memory).await,
                Stage::Awaiting { plan } => self.ask_for_approval(plan).await,
                Stage::Building { plan } => self.build(plan, &mut memory).await,
                Stage::Ended(result) => break Ended::Result(result.clone()),
            };
            match came {
                Ok(came) => stage = stage.next(came, self.bench.approval),
                Err(Stopped(why)) => break Ended::Stopped(why),
            }
        };
        Done { ended, usage: memory.usage }
    }

    async fn plan(&self, change: Option<&Change>, memory: &mut Memory) -> Result<Came, Stopped> {
        let line = match change {
            None => "planning begins",
            Some(_) => "planning goes on: the plan is to be changed",
        };
        self.line(kind::PHASE, LogLevel::Info, line);
        let came = self.phase(Phase::Plan, None, change, memory).await?;
        if let Some(result) = came {
            return Ok(Came::Ended(result));
        }
        Ok(match self.bench.ledger.take_plan() {
            Some(plan) => Came::Planned(plan),
            None => Came::Ended(defect("planning ended without a plan")),
        })
    }

    async fn build(&self, plan: &Plan, memory: &mut Memory) -> Result<Came, Stopped> {
        memory.planning = Vec::new();
        if self.bench.approval == Approval::Itself {
            self.bench.ledger.approved_itself(&plan.sha256); // CODE-32
        }
        self.line(kind::PHASE, LogLevel::Info, "building begins");
        let came = self.phase(Phase::Build, Some(plan), None, memory).await?;
        let verdict = came.or_else(|| self.bench.ledger.take_verdict());
        Ok(Came::Ended(verdict.unwrap_or_else(|| defect("building ended without a result"))))
    }

    async fn ask_for_approval(&self, plan: &Plan) -> Result<Came, Stopped> {
        self.line(kind::PHASE, LogLevel::Info, "the plan waits for approval");
        let place = plan.location.as_ref().map(|location| format!(" at {location}"));
        let question = Question {
            kind: QuestionKind::Plan,
            text: format!(
                "The plan{} waits for approval. Reply `build` to begin the work, or say what is \
                 to change.",
                place.unwrap_or_default()
            ),
            options: vec!["build".to_owned()],
            recommended: None,
            plan_sha256: Some(plan.sha256.clone()),
        };
        let _still = self.bench.stopwatch.stand_still(); // CODE-24
        let asking = self.stop.run_until_cancelled(self.bench.desk.ask(&question));
        match asking.await {
            Some(Ok(reply)) => {
                if !stage::is_build(&reply.text) {
                    // A decision that later attempts must know (CODE-25).
                    self.bench.ledger.answered("Is the plan right?", &reply.text);
                }
                Ok(Came::Answered(reply))
            }
            Some(Err(DeskError::Closed(why))) => Err(Stopped(why)),
            Some(Err(DeskError::Failed(words))) => Ok(Came::Ended(CodingResult {
                outcome: CodingOutcome::HarnessFailed,
                summary: format!("the plan could not be brought before a person: {words}"),
            })),
            None => Err(stopping()),
        }
    }

    /// Attempts at a phase until it is done, which is nothing, or the task ends by it.
    async fn phase(
        &self,
        phase: Phase,
        plan: Option<&Plan>,
        change: Option<&Change>,
        memory: &mut Memory,
    ) -> Result<Option<CodingResult>, Stopped> {
        let mut known = Known::default();
        let mut idle = 0;
        let (mut history, mut input) = match change {
            Some(change) => (std::mem::take(&mut memory.planning), prompt::said(&change.words)),
            None => (Vec::new(), self.opening(plan, None, None)),
        };
        loop {
            let attempt = match self.attempt(phase, history, input).await {
                Ok(attempt) => attempt,
                Err(result) => return Ok(Some(result)),
            };
            let Attempted { outcome, log, left } = attempt;
            memory.usage.add(outcome.usage);
            match attempt::next(&left) {
                Next::Done => {
                    if phase == Phase::Plan {
                        memory.planning = log;
                    }
                    return Ok(None);
                }
                Next::End(result) => return Ok(Some(result)),
                Next::Stopped => return Err(stopping()),
                Next::Again { why, acted } => {
                    let line = format!("the attempt is over: {why}");
                    self.line(kind::ATTEMPT, LogLevel::Warn, &line);
                    idle = if acted { 0 } else { idle + 1 };
                    self.pause(idle).await?;
                }
            }
            known.hear(&outcome.entries);
            let told = known.render(&self.bench.ledger.notes());
            (history, input) = (Vec::new(), self.opening(plan, change, told.as_deref()));
        }
    }

    /// One attempt: a run of the kernel under the task's clock. An error ends the task.
    async fn attempt(
        &self,
        phase: Phase,
        history: Vec<Entry>,
        input: String,
    ) -> Result<Attempted, CodingResult> {
        let id = Uuid::now_v7();
        self.bench.ledger.attempt_began();
        let mut run = Run::new(RunOptions {
            settings: self.settings(phase, id),
            history,
            input: UserInput::from(input),
            tools: self.tools(phase).await,
        })
        .map_err(|error| CodingResult {
            outcome: CodingOutcome::HarnessFailed,
            summary: format!("failed to put a run together: {error}"),
        })?;
        let max_turns = self.task.turns_per_attempt;
        let mut host = AttemptHost {
            teller: Teller::new(self.means.clone(), id, &self.stop),
            watch: Watch::new(max_turns),
            phase,
            delivery: self.task.setting.delivery,
            max_turns,
            ledger: self.bench.ledger.clone(),
            acted: false,
        };
        let outcome = self.under_the_clock(&mut run, &mut host).await;
        if let Stop::Failed(failure) = &outcome.stop {
            host.teller.line(
                foundry_platform::events::kind::ERROR,
                LogLevel::Error,
                &tell::failed(failure),
            );
        }
        let left = Left {
            stop: outcome.stop.clone(),
            is_done: self.bench.ledger.is_phase_done(),
            is_up: self.bench.stopwatch.is_up(),
            turns: outcome.turns,
            acted: host.acted,
        };
        // Only a plan's conversation is ever gone on with.
        let log = if phase == Phase::Plan { run.log().to_vec() } else { Vec::new() };
        Ok(Attempted { outcome, log, left })
    }

    /// Drives a run that is called off when the task's time is up (CODE-24).
    async fn under_the_clock(&self, run: &mut Run, host: &mut AttemptHost) -> Outcome {
        let control = host.control();
        let clock = async {
            self.bench.stopwatch.up().await;
            control.abort();
            std::future::pending::<Infallible>().await
        };
        tokio::select! {
            outcome = drive(run, host) => outcome,
            never = clock => match never {},
        }
    }

    /// Waits after attempts in which nothing was done, but not beyond the task's time.
    async fn pause(&self, idle: u32) -> Result<(), Stopped> {
        let pause = attempt::pause(idle).min(self.bench.stopwatch.left());
        match self.stop.run_until_cancelled(sleep(pause)).await {
            Some(()) => Ok(()),
            None => Err(stopping()),
        }
    }

    fn settings(&self, phase: Phase, id: Uuid) -> Settings {
        let system = prompt::system(phase, &self.task.setting);
        let Model { name, window, reasoning_effort, fallback } = &self.task.model;
        let mut settings = Settings::new(name, system);
        settings.context_window = *window;
        settings.max_output_tokens = relay::output_cap(*window);
        settings.reasoning_effort.clone_from(reasoning_effort);
        settings.fallback_model.clone_from(fallback);
        // An empty reply is one that calls nothing: `Watch` asks for a call, once.
        settings.empty = EmptyReply::Ends;
        settings.limits = Limits { max_turns: self.task.turns_per_attempt, ..Limits::default() };
        settings.ladder = Ladder::coding();
        settings.seed = id.as_u64_pair().1;
        settings
    }

    /// While planning nothing is changed, so tools that write are not offered.
    async fn tools(&self, phase: Phase) -> Vec<Arc<Tool>> {
        let granted = self.granted.tools().await;
        let granted = granted.iter().filter(|tool| match phase {
            Phase::Plan => tool.effect == foundry_kernel::Effect::Read,
            Phase::Build => true,
        });
        tools::of_phase(phase, &self.bench).into_iter().chain(granted.cloned()).collect()
    }

    fn opening(&self, plan: Option<&Plan>, change: Option<&Change>, known: Option<&str>) -> String {
        prompt::opening(Opening { task: &self.task.text, plan, change, known })
    }

    fn line(&self, kind: &str, level: LogLevel, line: &str) {
        self.means.lines.write(kind, level, line, None);
    }
}

/// An attempt that is over.
struct Attempted {
    outcome: Outcome,
    log: Vec<Entry>,
    left: Left,
}

fn stopping() -> Stopped {
    Stopped("the process is stopping".to_owned())
}

fn defect(what: &str) -> CodingResult {
    CodingResult {
        outcome: CodingOutcome::HarnessFailed,
        summary: format!("{what}; this is a defect of the harness"),
    }
}
