//! One run of `flowcode`, from the command line to its exit status.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use foundry_client::{Approval, CodingOutcome, CodingResult, LogLevel};
use foundry_git::{
    Access, Command, Environment, FlowBranch, Git, GitConfiguration, GitError, HostingSettings,
    OutputLimits, PullRequestError, PullRequests, PullRequestsSettings, RefName, Repository,
    Runner, RunnerSettings, chain, pull_requests_of, slug,
};
use foundry_mcp::Servers;
use foundry_platform::clock::Clock;
use foundry_platform::events::kind as platform_kind;
use foundry_platform::heartbeat::Vitals;
use foundry_platform::relay::{Broker, Route};
use foundry_platform::tell::{Fallback, Lines as _, Means};
use foundry_workspace::Workspace;
use foundry_workspace::commands::Policy;
use tokio_util::sync::CancellationToken;
use uuid::Uuid;

use super::arguments::Arguments;
use super::mcp::{self, McpTools};
use super::model::{Direct, Keys, Models};
use super::terminal::{Terminal, TerminalDesk};
use crate::engine::{Ended, Engine, Granted, Model, Task};
use crate::kind;
use crate::prompt::{Delivery, Setting};
use crate::site::{Site, SiteParts};
use crate::task::clock::Stopwatch;
use crate::task::ledger::{Ledger, Progress};
use crate::tools::Bench;

/// How many names are tried for the branch.
const BRANCHES: u32 = 99;

/// As whom a person commits, where they say so by their environment.
const IDENTITY: &[&str] =
    &["GIT_AUTHOR_NAME", "GIT_AUTHOR_EMAIL", "GIT_COMMITTER_NAME", "GIT_COMMITTER_EMAIL"];

/// How a run ended; its number is the exit status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Completed.
    Completed = 0,
    /// The model gave up, or could not be used.
    Failed = 1,
    /// Nothing was begun: usage, no repository, changes in the way.
    NotBegun = 2,
    /// Time, budget or answers ran out, or the run was stopped.
    Unfinished = 3,
}

/// Why nothing was begun.
#[derive(Debug, thiserror::Error)]
pub enum NotBegun {
    /// The repository cannot be used.
    #[error(transparent)]
    Git(#[from] GitError),
    /// There are changes in the way.
    #[error(
        "there are changes that are not committed: commit or stash them, or give --allow-dirty \
         to make them part of the work ({0})"
    )]
    Dirty(String),
    /// A pull request was asked for and cannot be opened.
    #[error(transparent)]
    PullRequest(#[from] PullRequestError),
    /// Anything else that was given and cannot be used.
    #[error("{0}")]
    Unusable(String),
}

/// What a run needs of the world.
pub struct World {
    /// The environment of this process.
    pub environment: Vec<(OsString, OsString)>,
    /// Folder for long outputs.
    pub temporary: PathBuf,
    /// The time.
    pub clock: Clock,
    /// Where a person reads.
    pub terminal: Terminal,
    /// Where a person answers.
    pub desk: TerminalDesk,
}

/// Carries a task out in a local repository.
pub async fn run(
    arguments: Arguments,
    world: World,
    stop: CancellationToken,
) -> Result<Exit, NotBegun> {
    let World { environment, temporary, clock, terminal, desk } = world;
    let unusable = |error: &dyn std::error::Error| NotBegun::Unusable(error.to_string());
    let servers = match &arguments.mcp_config {
        Some(file) => mcp::read(file, &environment).map_err(|error| unusable(&error))?,
        None => Servers::default(),
    };
    let git = git(environment, temporary)?;
    let models = models_of(&arguments);
    // Setting up TLS takes as long as git does: both at once.
    let building = {
        let clock = clock.clone();
        tokio::task::spawn_blocking(move || Direct::new(models, &clock))
    };
    let looking = async {
        let (opened, known) = tokio::join!(open(&git, &arguments), is_known(&git, &arguments));
        let repository = opened?;
        known?;
        let delivery = Deliverable::of(&repository, &arguments).await?;
        Ok::<_, NotBegun>((repository, delivery))
    };
    // A remote that does not answer must not hold up somebody who wants to stop.
    let Some(looked) = stop.run_until_cancelled(looking).await else {
        return Err(NotBegun::Unusable("stopped before anything was begun".to_owned()));
    };
    let (mut repository, delivery) = looked?;
    let built = building.await.map_err(|error| unusable(&error))?;
    let broker: Arc<dyn Broker> = Arc::new(built.map_err(|error| unusable(&error))?);
    let opening = McpTools::open(servers, Arc::new(terminal.clone()), stop.clone());
    let Some(mcp) = stop.run_until_cancelled(opening).await else {
        return Err(NotBegun::Unusable("stopped before anything was begun".to_owned()));
    };
    let mcp = Arc::new(mcp);
    // The first thing that changes anything, once nothing is in the way.
    let branch = branch(&mut repository, &arguments).await?;
    let begun = format!("{branch} begins at {}", repository.base().name);
    terminal.write(kind::CLONE, LogLevel::Info, &begun, None);
    let base = repository.base().commit.to_string();
    let ledger = Arc::new(Ledger::default());
    ledger.began(branch.as_str(), &base);
    let engine = Engine {
        task: Task {
            text: arguments.task.clone(),
            setting: Setting {
                instructions: None,
                branch: branch.to_string(),
                paths: arguments.paths.clone(),
                extra_commands: arguments.extra_commands.clone(),
                delivery: delivery.delivery,
            },
            model: model_of(&arguments),
            turns_per_attempt: arguments.turns,
        },
        bench: Bench {
            desk: Arc::new(desk),
            site: Arc::new(Site::new(SiteParts {
                workspace: Workspace::open(repository.root(), &arguments.paths)
                    .map_err(|error| NotBegun::Unusable(error.to_string()))?,
                policy: Policy::new(&arguments.extra_commands),
                delivery: delivery.delivery,
                identity: None,
                target: delivery.target,
                pull_requests: delivery.pull_requests,
                lines: Arc::new(terminal.clone()),
                repository,
            })),
            ledger: ledger.clone(),
            stopwatch: Stopwatch::start(Duration::from_secs(arguments.minutes * 60)),
            approval: Approval::from(arguments.approve),
        },
        means: Means {
            broker,
            // No catalog tells of this model.
            route: Route { provider: arguments.model.provider, ..Route::unread() },
            fallback: arguments.fallback_model.as_ref().map(|fallback| Fallback {
                model: fallback.name.clone(),
                provider: fallback.provider,
            }),
            clock,
            lines: Arc::new(terminal.clone()),
            vitals: Arc::new(Vitals::new(Uuid::nil())),
        },
        granted: mcp.clone() as Arc<dyn Granted>,
        stop,
    };
    let done = engine.carry_out().await;
    // A git that was cut off would leave its locks in the way of the person's own.
    if let Err(error) = engine.bench.site.repository().remove_locks_of_killed().await {
        terminal.write(platform_kind::WARNING, LogLevel::Warn, &chain(&error), None);
    }
    drop(engine);
    if let Some(mcp) = Arc::into_inner(mcp) {
        mcp.close().await;
    }
    terminal.show(&summary(&done.ended, &ledger.progress()));
    Ok(exit(&done.ended))
}

/// The model and how it is used: as given, for no catalog says otherwise (CODE-42).
fn model_of(arguments: &Arguments) -> Model {
    let settings = &arguments.use_of_model;
    Model {
        name: arguments.model.name.clone(),
        window: Route::unread().window(settings.context_tokens),
        reasoning_effort: settings.effort().map(str::to_owned),
        fallback: arguments.fallback_model.as_ref().map(|model| model.name.clone()),
    }
}

/// Git as the person uses it, for commands that see none of their keys.
fn git(environment: Vec<(OsString, OsString)>, outputs: PathBuf) -> Result<Git, NotBegun> {
    let own = environment.iter().filter(|(name, _)| IDENTITY.iter().any(|one| name == one));
    let own: Vec<_> = own.cloned().collect();
    let allowed = Environment::allowed(environment);
    let runner = Runner::new(RunnerSettings {
        environment: own.into_iter().fold(allowed, |all, (name, value)| all.with(name, value)),
        outputs,
        limits: OutputLimits::default(),
        denied: Vec::new(),
        git_configuration: GitConfiguration::Persons,
    });
    let runner = runner.map_err(|error| NotBegun::Unusable(chain(&error)))?;
    Ok(Git::new(runner, Access::Persons))
}

fn models_of(arguments: &Arguments) -> Models {
    Models {
        model: arguments.model.clone(),
        base_url: arguments.base_url.clone(),
        fallback: arguments.fallback_model.clone(),
        fallback_base_url: arguments.fallback_base_url.clone(),
        keys: Keys {
            openai: arguments.openai_key.clone(),
            anthropic: arguments.anthropic_key.clone(),
        },
    }
}

/// Opens the repository, unless changes are in the way.
async fn open(git: &Git, arguments: &Arguments) -> Result<Repository, NotBegun> {
    let (repository, status) = git.open(&arguments.folder).await?;
    if !status.is_clean() && !arguments.allow_dirty {
        let first = status.changed.first().map(|path| path.display().to_string());
        return Err(NotBegun::Dirty(first.unwrap_or_default()));
    }
    Ok(repository)
}

/// Checks out a branch for the task that is not there yet; one that is to be pushed must
/// not be at a remote either.
async fn branch(
    repository: &mut Repository,
    arguments: &Arguments,
) -> Result<FlowBranch, NotBegun> {
    let name = slug(&arguments.task);
    for number in 1..=BRANCHES {
        let name = if number == 1 { name.clone() } else { format!("{name}-{number}") };
        let branch =
            FlowBranch::new(&name).map_err(|error| NotBegun::Unusable(error.to_string()))?;
        if arguments.pull_request && repository.is_taken(&branch).await? {
            continue;
        }
        match repository.create_branch(branch.clone()).await {
            Ok(()) => return Ok(branch),
            Err(GitError::BranchExists { .. }) => {}
            Err(error) => return Err(error.into()),
        }
    }
    let words = format!("there are {BRANCHES} branches flow/{name} already: delete some of them");
    Err(NotBegun::Unusable(words))
}

/// Whether git knows who commits: found out now, and not when the work is done.
async fn is_known(git: &Git, arguments: &Arguments) -> Result<(), NotBegun> {
    let ask = Command::new("git", &arguments.folder).args(["var", "GIT_COMMITTER_IDENT"]);
    let asked = git.runner().run(&ask).await;
    let exit = asked.map_err(|error| NotBegun::Unusable(chain(&error)))?.exit;
    if exit.passed() { Ok(()) } else { Err(NotBegun::Unusable(NOBODY.to_owned())) }
}

const NOBODY: &str = "git does not know who you are: set user.name and user.email with git config";

/// What becomes of the commits of this run.
struct Deliverable {
    delivery: Delivery,
    target: Option<RefName>,
    pull_requests: Result<Box<dyn PullRequests>, PullRequestError>,
}

impl Deliverable {
    async fn of(repository: &Repository, arguments: &Arguments) -> Result<Self, NotBegun> {
        if !arguments.pull_request {
            let host = "this run".to_owned();
            let pull_requests = Err(PullRequestError::NotSupported { host });
            return Ok(Self { delivery: Delivery::Commit, target: None, pull_requests });
        }
        let remote = repository.remote().await?;
        let settings = PullRequestsSettings {
            hosting: HostingSettings { github_host: arguments.github_host.clone() },
            github_api: arguments.github_api_url.clone(),
            github_token: arguments.github_token.clone(),
        };
        // Found out now and not after half an hour of work.
        let pull_requests = pull_requests_of(&remote, &settings)?;
        let target = repository.default_branch().await?;
        Ok(Self {
            delivery: Delivery::PullRequest,
            target: Some(target),
            pull_requests: Ok(pull_requests),
        })
    }
}

fn exit(ended: &Ended) -> Exit {
    match ended {
        Ended::Stopped(_) => Exit::Unfinished,
        Ended::Result(result) => match result.outcome {
            CodingOutcome::Completed => Exit::Completed,
            CodingOutcome::OutOfTime | CodingOutcome::Budget => Exit::Unfinished,
            CodingOutcome::Failed
            | CodingOutcome::CloneFailed
            | CodingOutcome::ModelFailed
            | CodingOutcome::HarnessFailed => Exit::Failed,
        },
    }
}

/// What a person reads at the end.
fn summary(ended: &Ended, progress: &Progress) -> String {
    let mut lines = vec![match ended {
        Ended::Result(CodingResult { outcome: CodingOutcome::Completed, summary }) => {
            format!("\n{summary}\n")
        }
        Ended::Result(CodingResult { outcome, summary }) => {
            format!("\n{}: {summary}\n", outcome.as_str().replace('_', " "))
        }
        Ended::Stopped(why) => format!("\nstopped: {why}\n"),
    }];
    for check in &progress.checks {
        let mark = if check.passed { "passed" } else { "failed" };
        lines.push(format!("check {mark}: {}", check.name));
    }
    if let Some(branch) = &progress.branch {
        lines.push(if progress.head_commit == progress.base_commit {
            format!("branch: {branch}, without commits")
        } else {
            format!("branch: {branch}")
        });
    }
    if let Some(pull_request) = &progress.pull_request {
        lines.push(format!("pull request: {}", pull_request.url));
    }
    lines.join("\n") + "\n"
}

#[cfg(test)]
mod tests {
    use foundry_client::CheckView;
    use pretty_assertions::assert_eq;
    use rstest::rstest;

    use super::*;

    fn ended(outcome: CodingOutcome) -> Ended {
        Ended::Result(CodingResult { outcome, summary: "It greets politely.".to_owned() })
    }

    /// CODE-45
    #[rstest]
    #[case(ended(CodingOutcome::Completed), 0)]
    #[case(ended(CodingOutcome::Failed), 1)]
    #[case(ended(CodingOutcome::ModelFailed), 1)]
    #[case(ended(CodingOutcome::OutOfTime), 3)]
    #[case(ended(CodingOutcome::Budget), 3)]
    #[case(Ended::Stopped("nobody answers".to_owned()), 3)]
    fn the_exit_status_says_how_it_ended(#[case] ended: Ended, #[case] status: u8) {
        assert_eq!(exit(&ended) as u8, status);
    }

    #[test]
    fn the_end_is_told_with_checks_and_branch() {
        let progress = Progress {
            branch: Some("flow/greet".to_owned()),
            base_commit: Some("a".to_owned()),
            head_commit: Some("b".to_owned()),
            checks: vec![CheckView { name: "go test ./...".to_owned(), passed: true }],
            ..Progress::default()
        };
        assert_eq!(
            summary(&ended(CodingOutcome::Completed), &progress),
            "\nIt greets politely.\n\ncheck passed: go test ./...\nbranch: flow/greet\n"
        );
        let nothing = Progress { head_commit: Some("a".to_owned()), ..progress };
        let told = summary(&ended(CodingOutcome::OutOfTime), &nothing);
        assert!(told.starts_with("\nout of time: It greets politely.\n"), "{told}");
        assert!(told.contains("branch: flow/greet, without commits\n"), "{told}");
    }
}
