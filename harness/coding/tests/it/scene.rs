//! The engine on a real local repository, with a scripted model over HTTP and a desk that
//! a test holds in its hand.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use async_trait::async_trait;
use fakes::model::{Captured, ModelServer, Wire};
use foundry_client::{Approval, CodingOutcome, CodingResult, LogLevel};
use foundry_coding::desk::{Desk, DeskError, Question};
use foundry_coding::digest::sha256;
use foundry_coding::engine::{Done, Ended, Engine, Model, Task};
use foundry_coding::local::arguments;
use foundry_coding::local::model::{Direct, Keys, Models};
use foundry_coding::prompt::{Delivery, Setting};
use foundry_coding::site::{Site, SiteParts};
use foundry_coding::task::attempt::Phase;
use foundry_coding::task::clock::Stopwatch;
use foundry_coding::task::ledger::{Ledger, Progress};
use foundry_coding::task::stage::{Plan, Reply};
use foundry_coding::tools::{self, Bench};
use foundry_git::{
    Access, Environment, FlowBranch, Git, GitConfiguration, OutputLimits, PullRequestError, Runner,
    RunnerSettings,
};
use foundry_kernel::Tool;
use foundry_llm::Provider;
use foundry_platform::clock::Clock;
use foundry_platform::heartbeat::Vitals;
use foundry_platform::relay::Route;
use foundry_platform::tell::{Fallback, Lines, Means};
use foundry_workspace::Workspace;
use foundry_workspace::commands::Policy;
use jiff::Timestamp;
use serde_json::Value;
use tempfile::TempDir;
use tokio::time::{Instant, timeout};
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use crate::project;

/// Longest time one scenario may take.
pub const DEADLINE: Duration = Duration::from_mins(1);

/// Lines that were told.
#[derive(Clone, Default)]
pub struct Told(Arc<Mutex<Vec<Line>>>);

/// Kind, words, details.
type Line = (String, String, Option<Value>);

impl Lines for Told {
    fn write(&self, kind: &str, _level: LogLevel, line: &str, data: Option<Value>) {
        self.0.lock().unwrap().push((kind.to_owned(), line.to_owned(), data));
    }
}

impl Told {
    pub fn of(&self, kind: &str) -> Vec<String> {
        let told = self.0.lock().unwrap();
        told.iter().filter(|(known, _, _)| known == kind).map(|(_, line, _)| line.clone()).collect()
    }

    pub fn data(&self, kind: &str) -> Vec<Value> {
        let told = self.0.lock().unwrap();
        told.iter().filter(|(known, _, _)| known == kind).filter_map(|one| one.2.clone()).collect()
    }
}

/// A desk whose answers are written beforehand.
#[derive(Clone, Default)]
pub struct ScriptedDesk {
    pub answers: Arc<Mutex<VecDeque<&'static str>>>,
    pub asked: Arc<Mutex<Vec<Question>>>,
    pub answered_itself: Arc<Mutex<Vec<String>>>,
    /// The task's clock, and whether it stood still during each question.
    pub stopwatch: Arc<Mutex<Option<Stopwatch>>>,
    pub stood_still: Arc<Mutex<Vec<bool>>>,
}

impl ScriptedDesk {
    /// Takes a moment, and looks at the clock before and after.
    async fn think(&self) {
        let Some(stopwatch) = self.stopwatch.lock().unwrap().clone() else { return };
        let (before, began) = (stopwatch.left(), Instant::now());
        while began.elapsed() < Duration::from_millis(2) {
            tokio::task::yield_now().await;
        }
        self.stood_still.lock().unwrap().push(stopwatch.left() == before);
    }
}

#[async_trait]
impl Desk for ScriptedDesk {
    async fn save_plan(&self, markdown: &str) -> Result<Plan, DeskError> {
        let location = Some("documents:doc-1".to_owned());
        Ok(Plan { markdown: markdown.to_owned(), sha256: sha256(markdown), location })
    }

    async fn ask(&self, question: &Question) -> Result<Reply, DeskError> {
        self.asked.lock().unwrap().push(question.clone());
        self.think().await;
        let answer = self.answers.lock().unwrap().pop_front();
        let nobody = || DeskError::Closed("nobody answers".to_owned());
        let text = answer.ok_or_else(nobody)?.to_owned();
        Ok(Reply { text, plan_sha256: question.plan_sha256.clone() })
    }

    fn answered_itself(&self, _: &Question, answer: &str) {
        self.answered_itself.lock().unwrap().push(answer.to_owned());
    }
}

pub struct Scene {
    pub wire: Wire,
    pub model: ModelServer,
    pub folder: TempDir,
    pub desk: ScriptedDesk,
    pub told: Told,
    pub ledger: Arc<Ledger>,
    pub approval: Approval,
    pub turns: u32,
    pub time: Duration,
    pub paths: Vec<String>,
    pub extra_commands: Vec<String>,
    pub window: u64,
    pub effort: Option<&'static str>,
    pub fallback: Option<&'static str>,
    pub stop: CancellationToken,
}

impl Scene {
    pub async fn new(wire: Wire) -> Self {
        drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
        let folder = tempfile::tempdir().unwrap();
        project::lay(folder.path());
        project::commit(folder.path());
        Self {
            wire,
            model: ModelServer::start().await,
            folder,
            desk: ScriptedDesk::default(),
            told: Told::default(),
            ledger: Arc::default(),
            approval: Approval::Person,
            turns: 60,
            time: Duration::from_mins(5),
            paths: Vec::new(),
            extra_commands: Vec::new(),
            window: 128_000,
            effort: None,
            fallback: None,
            stop: CancellationToken::new(),
        }
    }

    /// A scene whose person says this, in order.
    pub async fn answered(wire: Wire, answers: &[&'static str]) -> Self {
        let scene = Self::new(wire).await;
        scene.desk.answers.lock().unwrap().extend(answers);
        scene
    }

    /// Every tool of a run that delivers its work, of both phases.
    pub async fn tools(&self) -> Vec<Arc<Tool>> {
        let bench = self.engine_with(Delivery::PullRequest).await.bench;
        let both = [Phase::Plan, Phase::Build].map(|phase| tools::of_phase(phase, &bench));
        both.into_iter().flatten().collect()
    }

    async fn engine(&self) -> Engine {
        self.engine_with(Delivery::Commit).await
    }

    async fn engine_with(&self, delivery: Delivery) -> Engine {
        let runner = Runner::new(RunnerSettings {
            environment: Environment::allowed(std::env::vars_os()),
            outputs: self.folder.path().join(".git/outputs"),
            limits: OutputLimits::default(),
            denied: Vec::new(),
            git_configuration: GitConfiguration::Nobodys,
        });
        let git = Git::new(runner.unwrap(), Access::Persons);
        let (mut repository, _) = git.open(self.folder.path()).await.unwrap();
        let branch = FlowBranch::new("fix-greeting").unwrap();
        repository.create_branch(branch.clone()).await.unwrap();
        self.ledger.began(branch.as_str(), repository.base().commit.as_str());
        let provider = match self.wire {
            Wire::Anthropic => Provider::Anthropic,
            Wire::OpenAi => Provider::OpenAi,
        };
        let model = |name: &str| arguments::Model { provider, name: name.to_owned() };
        let base_url: Option<url::Url> = Some(self.model.url().parse().unwrap());
        let models = Models {
            model: model("the-model"),
            base_url: base_url.clone(),
            fallback: self.fallback.map(model),
            fallback_base_url: base_url,
            keys: Keys::default(),
        };
        let stopwatch = Stopwatch::start(self.time);
        *self.desk.stopwatch.lock().unwrap() = Some(stopwatch.clone());
        let clock = Clock::new(|| Timestamp::UNIX_EPOCH);
        let lines = Arc::new(self.told.clone());
        Engine {
            task: Task {
                text: "Fix the greeting.".to_owned(),
                setting: Setting {
                    instructions: None,
                    branch: branch.to_string(),
                    paths: self.paths.clone(),
                    extra_commands: self.extra_commands.clone(),
                    delivery,
                },
                model: Model {
                    name: "the-model".to_owned(),
                    window: self.window,
                    reasoning_effort: self.effort.map(str::to_owned),
                    fallback: self.fallback.map(str::to_owned),
                },
                turns_per_attempt: self.turns,
            },
            bench: Bench {
                desk: Arc::new(self.desk.clone()),
                site: Arc::new(Site::new(SiteParts {
                    workspace: Workspace::open(repository.root(), &self.paths).unwrap(),
                    policy: Policy::new(&self.extra_commands),
                    delivery,
                    identity: None,
                    target: None,
                    pull_requests: Err(PullRequestError::NotSupported { host: "none".to_owned() }),
                    lines: lines.clone(),
                    repository,
                })),
                ledger: self.ledger.clone(),
                stopwatch,
                approval: self.approval,
            },
            means: Means {
                broker: Arc::new(Direct::new(models, &clock).unwrap()),
                route: Route { provider, ..Route::unread() },
                fallback: self.fallback.map(|model| Fallback { model: model.to_owned(), provider }),
                clock,
                lines,
                vitals: Arc::new(Vitals::new(Uuid::nil())),
            },
            granted: Arc::new(Vec::new()),
            stop: self.stop.clone(),
        }
    }

    /// Carries the task out.
    pub async fn play(&self) -> Done {
        let engine = self.engine().await;
        let playing = timeout(DEADLINE, engine.carry_out()).await;
        playing.unwrap_or_else(|_| {
            let said: Vec<String> =
                self.model.requests().iter().map(Captured::last_user_text).collect();
            panic!("not done within {DEADLINE:?}; the model was told {said:#?}")
        })
    }

    /// Carries the task out; every step of the script must have been played.
    pub async fn ends(&self) -> CodingResult {
        let done = self.play().await;
        self.model.finish().unwrap();
        match done.ended {
            Ended::Result(result) => result,
            Ended::Stopped(why) => panic!("stopped: {why}"),
        }
    }

    pub async fn ends_as(&self, outcome: CodingOutcome) -> CodingResult {
        let result = self.ends().await;
        assert_eq!(result.outcome, outcome, "{}", result.summary);
        result
    }

    pub fn progress(&self) -> Progress {
        self.ledger.progress()
    }

    /// The result that request `number`, from 1, ends with.
    #[track_caller]
    pub fn result(&self, number: usize) -> String {
        let request = &self.model.requests()[number - 1];
        let results = request.tool_results();
        results.last().expect("a request that ends with a result").content.clone()
    }

    /// What the host said last in request `number`, from 1.
    #[track_caller]
    pub fn said(&self, number: usize) -> String {
        self.model.requests()[number - 1].last_user_text()
    }
}
