//! One task of a pod, from clone to result.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use foundry_client::{
    AgentView, Approval, CodingOutcome, CodingResult, LogLevel, RepositoryScope, RunRecord,
};
use foundry_git::{
    Access, Class, CloneRequest, Confinement, Environment, FlowBranch, Git, GitConfiguration,
    GitError, Hosting, HostingSettings, Identity, OutputLimits, PullRequestsSettings, RefName,
    Remote, Repository, Runner, RunnerSettings, SshKeys, chain, pull_requests_of,
};
use foundry_kernel::Tool;
use foundry_llm::Usage;
use foundry_platform::events::{self, EventLog};
use foundry_platform::reasoning::Effort;
use foundry_platform::relay::{self, Route};
use foundry_platform::retry::Backoff;
use foundry_platform::tell::Means;
use foundry_platform::tools;
use foundry_workspace::Workspace;
use foundry_workspace::commands::Policy;
use jiff::Timestamp;
use serde_json::json;
use tokio::time::sleep;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::desk::PlatformDesk;
use super::granted::{Granted, granted};
use super::life::Life;
use super::report::Reporter;
use crate::engine::{Done, Ended, Engine, Model, Task};
use crate::kind;
use crate::prompt::{Delivery, Setting};
use crate::site::{Site, SiteParts};
use crate::task::attempt::{self, TURNS};
use crate::task::clock::{Stopwatch, WALL_CLOCK};
use crate::task::ledger::{Ledger, Progress};
use crate::tools::Bench;

/// First and longest wait between two tries to clone.
const WAITS: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(30));
/// First and longest wait between two looks at the models, and how many may fail: then the
/// task goes on without knowing its model.
const MODEL_WAITS: (Duration, Duration) = (Duration::from_millis(100), Duration::from_secs(1));
const MODEL_FAILURES: u32 = 4;
/// Folder of the clone, below the home folder.
const CLONE: &str = "repository";
/// Folder of long outputs, below that of temporary files.
const OUTPUTS: &str = "outputs";
/// How often an agent's mailbox is looked for that the operator may not have written yet.
const MAILBOX_LOOKS: u32 = 20;
const BETWEEN_LOOKS: Duration = Duration::from_millis(250);

/// What is to be done.
pub(crate) struct Order {
    /// The task.
    pub text: String,
    /// What the branch is named after.
    pub slug: String,
    /// Standing instructions beside the task.
    pub instructions: Option<String>,
}

/// What came of it.
pub(crate) struct Worked {
    pub done: Done,
    pub progress: Progress,
    pub started_at: Timestamp,
}

impl Worked {
    /// The result, which is told; nothing when the task goes no further.
    pub(crate) fn tell(&self, log: &EventLog) -> Option<CodingResult> {
        match &self.done.ended {
            Ended::Result(result) => {
                let outcome = result.outcome.as_str();
                let line = format!("{outcome}: {}", result.summary);
                let data = json!({ "outcome": outcome });
                log.write(kind::RESULT, LogLevel::Info, &line, Some(data));
                Some(result.clone())
            }
            Ended::Stopped(why) => {
                log.info(kind::RESULT, &format!("the task goes no further: {why}"));
                None
            }
        }
    }

    /// What is kept of it (LOOP-28).
    pub(crate) fn record(
        &self,
        wake_id: Option<Uuid>,
        result: &CodingResult,
        finished_at: Timestamp,
    ) -> RunRecord {
        RunRecord {
            id: Uuid::now_v7(),
            wake_id,
            reason: "task".to_owned(),
            started_at: self.started_at,
            finished_at,
            turns: self.progress.turns,
            input_tokens: self.done.usage.input_tokens,
            output_tokens: self.done.usage.output_tokens,
            outcome: result.outcome.as_str().to_owned(),
        }
    }
}

/// The task ends before its first model call.
enum Unfit {
    Result(CodingResult),
    Stopped,
}

impl Life {
    /// Carries out one task, and reports how it stands while it does.
    pub(crate) async fn work(
        &self,
        agent: &AgentView,
        order: Order,
        reporter: &mut Reporter,
    ) -> Worked {
        let started_at = self.clock.now();
        let ledger = Arc::new(Ledger::default());
        let over = CancellationToken::new();
        let stop = self.stop.child_token();
        let mut watch = ledger.watch();
        let working = async {
            let done = self.carry_out(agent, order, &ledger, &stop).await;
            over.cancel();
            done
        };
        let following = async {
            reporter.follow(&mut watch, &over).await;
            if reporter.is_over() {
                // What is done from here on would count for nothing, and be in the way.
                stop.cancel();
            }
        };
        let (done, ()) = tokio::join!(working, following);
        Worked { done, progress: ledger.progress(), started_at }
    }

    async fn carry_out(
        &self,
        agent: &AgentView,
        order: Order,
        ledger: &Arc<Ledger>,
        stop: &CancellationToken,
    ) -> Done {
        match self.prepare(agent, order, ledger, stop).await {
            Ok(engine) => engine.carry_out().await,
            Err(unfit) => {
                let ended = match unfit {
                    Unfit::Result(result) => Ended::Result(result),
                    Unfit::Stopped => Ended::Stopped("the process is stopping".to_owned()),
                };
                Done { ended, usage: Usage::default() }
            }
        }
    }

    /// Clones the repository and reads all a task needs; the clone comes before the first
    /// model call (CODE-03).
    async fn prepare(
        &self,
        agent: &AgentView,
        order: Order,
        ledger: &Arc<Ledger>,
        stop: &CancellationToken,
    ) -> Result<Engine, Unfit> {
        let Order { text, slug: name, instructions } = order;
        if text.trim().is_empty() {
            return Err(unfit("the agent has no instructions, so there is no task"));
        }
        let scope = agent.repository.as_ref().ok_or_else(|| {
            unfit("the agent has no repository: set spec.repository, or use another harness")
        })?;
        let limit = scope.wall_clock_seconds.map_or(WALL_CLOCK, Duration::from_secs);
        let stopwatch = Stopwatch::start(limit);
        let cloning = self.cloned(agent, scope, &name, &stopwatch);
        let reading = async {
            let read = self.stop.run_until_cancelled(self.read(agent));
            tokio::select! {
                read = read => read.ok_or(Unfit::Stopped),
                () = stopwatch.up() => Err(Unfit::Result(attempt::out_of_time())),
            }
        };
        let (cloned, (route, tools)) = tokio::try_join!(cloning, reading)?;
        let Cloned { repository, remote, identity } = cloned;
        let base = repository.base().commit.to_string();
        let branch = repository.branch().map(ToString::to_string).unwrap_or_default();
        ledger.began(&branch, &base);

        let delivery = self.delivery(&remote);
        let pull_requests = pull_requests_of(&remote, &self.pull_requests_settings());
        if let (Delivery::PullRequest, Err(error)) = (delivery, &pull_requests) {
            // Said now, and not only when the work is done.
            self.log.warn(&format!("no pull request can be opened: {}", chain(error)));
        }
        let target = self.target(&repository).await?;
        let site = SiteParts {
            workspace: Workspace::open(repository.root(), &scope.paths)
                .map_err(|error| unfit(&format!("failed to open the clone: {error}")))?,
            policy: Policy::new(&scope.extra_commands),
            delivery,
            identity: Some(identity),
            target: Some(target),
            pull_requests,
            lines: Arc::new(self.log.clone()),
            repository,
        };
        let desk = PlatformDesk {
            api: self.api.clone(),
            log: self.log.clone(),
            generation: self.start_number,
        };
        Ok(Engine {
            task: Task {
                text,
                setting: Setting {
                    instructions,
                    branch,
                    paths: scope.paths.clone(),
                    extra_commands: scope.extra_commands.clone(),
                    delivery,
                },
                model: self.model_of(agent, &route),
                turns_per_attempt: scope.turns_per_attempt.unwrap_or(TURNS),
            },
            bench: Bench {
                desk: Arc::new(desk),
                site: Arc::new(Site::new(site)),
                ledger: ledger.clone(),
                stopwatch,
                // CODE-33: the API has worked out what holds for this agent.
                approval: scope.approval.unwrap_or(Approval::Person),
            },
            means: Means {
                broker: self.broker.clone(),
                route,
                fallback: None,
                clock: self.clock.clone(),
                lines: Arc::new(self.log.clone()),
                vitals: self.vitals.clone(),
            },
            granted: Arc::new(tools),
            stop: stop.clone(),
        })
    }

    /// How the model is reached, and which tools of the platform there are.
    async fn read(&self, agent: &AgentView) -> (Route, Vec<Arc<Tool>>) {
        tokio::join!(self.route(&agent.model), self.granted(agent))
    }

    /// As the catalog says, read once at the task's start (CODE-39); without it as well as
    /// can be (CODE-42).
    async fn route(&self, model: &str) -> Route {
        let mut backoff = Backoff::new(MODEL_WAITS.0, MODEL_WAITS.1);
        loop {
            match relay::find(&*self.api, model).await {
                Ok(row) => return relay::route(row.as_ref()),
                Err(_) if backoff.failures() < MODEL_FAILURES => sleep(backoff.failed()).await,
                Err(error) => {
                    let line = format!("nothing is known of model {model} in this task: {error}");
                    self.log.warn(&line);
                    return Route::unread();
                }
            }
        }
    }

    fn model_of(&self, agent: &AgentView, route: &Route) -> Model {
        let effort = Effort::decide(self.model.effort(), &agent.model, route);
        if let Some(line) = effort.line() {
            self.log.info(events::kind::MODEL, line); // CODE-41
        }
        Model {
            name: agent.model.clone(),
            window: route.window(self.model.context_tokens),
            reasoning_effort: effort.sent().map(str::to_owned),
            fallback: None,
        }
    }

    /// An unreadable catalog is one warning, and a task without these tools (CODE-35).
    async fn granted(&self, agent: &AgentView) -> Vec<Arc<Tool>> {
        let read = tokio::try_join!(self.api.tools(), self.api.harness(&agent.harness_id));
        let (catalog, harness) = match read {
            Ok(read) => read,
            Err(error) => {
                self.log.warn(&format!("no tools of the platform in this task: {error}"));
                return Vec::new();
            }
        };
        let executors = tools::executors(&self.api);
        let Granted { tools, left_out } = granted(&catalog, agent, &harness, &executors);
        if !left_out.is_empty() {
            self.log.warn(&left_out.join("; "));
        }
        tools
    }

    /// The clone, on its branch. What may pass is tried again while there is time.
    async fn cloned(
        &self,
        agent: &AgentView,
        scope: &RepositoryScope,
        name: &str,
        stopwatch: &Stopwatch,
    ) -> Result<Cloned, Unfit> {
        let identity = self.identity(agent).await?;
        let remote = Remote::parse(&scope.remote).map_err(|error| refused(&error.to_string()))?;
        let hosting = HostingSettings { github_host: self.ground.github_host.clone() };
        let keys = SshKeys::open(&self.ground.ssh_dir, hosting).map_err(|e| refused(&chain(&e)))?;
        let git = Git::new(self.runner(&identity)?, Access::Keys(keys));
        let named = |name: &Option<String>| {
            let name = name.as_deref().map(RefName::parse).transpose();
            name.map_err(|error| refused(&error.to_string()))
        };
        let mut request = CloneRequest {
            remote: remote.clone(),
            folder: self.ground.home.join(CLONE),
            base_ref: named(&scope.base_ref)?,
            default_ref: named(&scope.default_ref)?,
            branch: FlowBranch::new(name).map_err(|error| refused(&error.to_string()))?,
            identity: identity.clone(),
            limit: CloneRequest::USUAL_LIMIT,
        };
        let mut backoff = Backoff::new(WAITS.0, WAITS.1);
        loop {
            request.limit = CloneRequest::USUAL_LIMIT.min(stopwatch.left());
            let cloning = self.stop.run_until_cancelled(git.clone_repository(&request));
            match cloning.await.ok_or(Unfit::Stopped)? {
                Ok(repository) => {
                    self.tell_clone(&remote, &repository);
                    return Ok(Cloned { repository, remote, identity });
                }
                Err(error) if error.class() != Class::Transient => {
                    return Err(refused(&chain(&error)));
                }
                Err(error) if stopwatch.is_up() => return Err(too_late(&error)),
                Err(error) => {
                    self.log.warn(&format!("{}; trying again", chain(&error)));
                    let wait = backoff.failed().min(stopwatch.left());
                    let waiting = self.stop.run_until_cancelled(sleep(wait));
                    waiting.await.ok_or(Unfit::Stopped)?;
                }
            }
        }
    }

    fn tell_clone(&self, remote: &Remote, repository: &Repository) {
        let base = repository.base();
        let branch = repository.branch().map(ToString::to_string).unwrap_or_default();
        let line = format!("cloned {remote} at {}, branch {branch} begins there", base.name);
        let data = json!({ "remote": remote.to_string(), "base": base.name,
            "commit": base.commit.to_string(), "branch": branch });
        self.log.write(kind::CLONE, LogLevel::Info, &line, Some(data));
        for warning in repository.warnings() {
            self.log.warn(&warning.to_string());
        }
        let confinement = repository.git().runner().confinement();
        if let Confinement::Unavailable { reason } = confinement {
            self.log.warn(&format!("commands can read the folder of keys: {reason}"));
        }
    }

    /// Who commits: the agent, by its mailbox (CODE-04).
    async fn identity(&self, agent: &AgentView) -> Result<Identity, Unfit> {
        let mut mailbox = agent.mailbox.clone();
        for _ in 0..MAILBOX_LOOKS {
            if mailbox.is_some() {
                break;
            }
            let looking = self.stop.run_until_cancelled(async {
                sleep(BETWEEN_LOOKS).await;
                self.agent().await
            });
            mailbox = looking.await.ok_or(Unfit::Stopped)?.mailbox;
        }
        let mailbox = mailbox.ok_or_else(|| {
            unfit("the agent has no mailbox to commit as: another agent may have its slug")
        })?;
        Identity::of_mailbox(&mailbox).map_err(|error| unfit(&chain(&error)))
    }

    fn runner(&self, identity: &Identity) -> Result<Runner, Unfit> {
        let allowed = Environment::allowed(self.ground.environment.iter().cloned());
        let named = identity.environment().into_iter();
        let environment =
            named.fold(allowed, |environment, (name, value)| environment.with(name, value));
        let mut denied: Vec<PathBuf> = vec![self.ground.ssh_dir.clone()];
        denied.extend(self.ground.denied.iter().cloned());
        Runner::new(RunnerSettings {
            environment,
            outputs: self.ground.temporary.join(OUTPUTS),
            limits: OutputLimits::default(),
            denied,
            git_configuration: GitConfiguration::Nobodys,
        })
        .map_err(|error| unfit(&chain(&error)))
    }

    /// Without pull requests that we know at the host, a push is all there is.
    fn delivery(&self, remote: &Remote) -> Delivery {
        let hosting = HostingSettings { github_host: self.ground.github_host.clone() };
        match Hosting::of(remote, &hosting) {
            Hosting::GitHub => Delivery::PullRequest,
            Hosting::AzureDevOps | Hosting::Other => Delivery::Push,
        }
    }

    async fn target(&self, repository: &Repository) -> Result<RefName, Unfit> {
        let target = self.stop.run_until_cancelled(repository.default_branch());
        target.await.ok_or(Unfit::Stopped)?.map_err(|error| refused(&chain(&error)))
    }

    fn pull_requests_settings(&self) -> PullRequestsSettings {
        PullRequestsSettings {
            hosting: HostingSettings { github_host: self.ground.github_host.clone() },
            github_api: self.ground.github_api_url.clone(),
            github_token: self.ground.tokens.github.clone(),
        }
    }
}

/// A clone on its branch.
struct Cloned {
    repository: Repository,
    remote: Remote,
    identity: Identity,
}

/// The harness cannot work with what it was given.
fn unfit(words: &str) -> Unfit {
    let outcome = CodingOutcome::HarnessFailed;
    Unfit::Result(CodingResult { outcome, summary: words.to_owned() })
}

/// The repository cannot be cloned until somebody changes something.
fn refused(words: &str) -> Unfit {
    let outcome = CodingOutcome::CloneFailed;
    Unfit::Result(CodingResult { outcome, summary: words.to_owned() })
}

/// The repository could not be cloned in the task's time.
fn too_late(error: &GitError) -> Unfit {
    let CodingResult { outcome, summary } = attempt::out_of_time();
    let summary = format!("{summary}; the repository was not cloned: {}", chain(error));
    Unfit::Result(CodingResult { outcome, summary })
}
