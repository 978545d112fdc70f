//! A pod: the process with a git server over SSH, a stand-in for GitHub, a scripted model
//! behind the relay, and an API in memory.

use std::collections::BTreeMap;
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::PathBuf;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use fakes::git::{BareRepository, GitServer};
use fakes::github::GitHub;
use fakes::model::{ModelServer, Wire};
use foundry_client::{
    AgentView, Approval, CodingOutcome, CodingReport, CodingResult, LogEvent, Provider,
    RepositoryScope, StaticToken,
};
use foundry_coding::platform::process::{self, Exit, Ground, Parts};
use foundry_coding::platform::tokens::Tokens;
use foundry_llm::Limits;
use foundry_platform::clock::Clock;
use foundry_platform::fake::{self, FakeApi};
use foundry_platform::process::Process;
use foundry_platform::relay::Relay;
use foundry_platform::settings::ModelSettings;
use jiff::Timestamp;
use secrecy::SecretString;
use tempfile::TempDir;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

use crate::project;
use crate::scene::DEADLINE;

pub const MAILBOX: &str = "fix-greeting@dev-ai.flow.life";
pub const TOKEN: &str = "ghp_the-token";

pub struct Pod {
    pub api: Arc<FakeApi>,
    pub model: ModelServer,
    /// How the model is to be used.
    pub settings: ModelSettings,
    pub git: GitServer,
    pub github: GitHub,
    pub folder: TempDir,
    pub token: Option<&'static str>,
    pub stop: CancellationToken,
}

struct Output(Arc<Mutex<Vec<u8>>>);

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Pod {
    /// A pod of an ephemeral agent with one task.
    pub async fn new(wire: Wire) -> Self {
        drop(rustls::crypto::aws_lc_rs::default_provider().install_default());
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for name in ["files", "repositories", "ssh", "home", "tmp"] {
            std::fs::DirBuilder::new().mode(0o700).create(path(name)).unwrap();
        }
        project::lay(&path("files"));
        BareRepository::make(path("repositories/acme/greeting.git"), &path("files")).unwrap();
        let git = GitServer::start(&path("repositories")).await.unwrap();
        let github = GitHub::start(&path("repositories"), TOKEN).await.unwrap();
        let secret = |name: &str, text: &str| {
            let mut options = std::fs::OpenOptions::new();
            let mut file = options
                .create_new(true)
                .write(true)
                .mode(0o400)
                .open(path("ssh").join(name))
                .unwrap();
            file.write_all(text.as_bytes()).unwrap();
        };
        secret("github", git.client_key());
        secret("known_hosts", git.host_key_line());

        let api = Arc::new(FakeApi::default());
        let provider = match wire {
            Wire::Anthropic => Provider::Anthropic,
            Wire::OpenAi => Provider::OpenAi,
        };
        {
            let mut state = api.state();
            state.models = vec![fake::model("the-model", provider)];
            state.tools.push(fake::tool("list_queue_errors"));
            state.harness.id = "coding-v1".to_owned();
            state.harness.always_granted.clear();
            state.agent = AgentView {
                slug: "fix-greeting".to_owned(),
                harness_id: "coding-v1".to_owned(),
                lifetime: foundry_client::Lifetime::Ephemeral,
                instructions: "Fix the greeting.".to_owned(),
                model: "the-model".to_owned(),
                mailbox: Some(MAILBOX.to_owned()),
                repository: Some(RepositoryScope {
                    remote: git.remote("acme/greeting"),
                    approval: Some(Approval::Itself),
                    turns_per_attempt: Some(60),
                    wall_clock_seconds: Some(300),
                    ..RepositoryScope::default()
                }),
                ..fake::agent("fix-greeting")
            };
        }
        Self {
            api,
            model: ModelServer::start().await,
            settings: ModelSettings::default(),
            git,
            github,
            folder,
            token: Some(TOKEN),
            stop: CancellationToken::new(),
        }
    }

    pub fn scope(&self, change: impl FnOnce(&mut RepositoryScope)) {
        let mut state = self.api.state();
        change(state.agent.repository.as_mut().unwrap());
    }

    pub fn clone(&self) -> PathBuf {
        self.folder.path().join("home/repository")
    }

    pub fn remote(&self) -> BareRepository {
        BareRepository::open(self.folder.path().join("repositories/acme/greeting.git")).unwrap()
    }

    fn parts(&self) -> Parts {
        let path = |name: &str| self.folder.path().join(name);
        let base = self.model.url().parse().unwrap();
        let tokens = Arc::new(StaticToken::new("the-pods-token"));
        let limits = Limits::default();
        let relay = Relay::new(&base, tokens, limits, Arc::new(|| Timestamp::UNIX_EPOCH)).unwrap();
        Parts {
            process: Process {
                api: self.api.clone(),
                clock: Clock::new(|| Timestamp::UNIX_EPOCH),
                output: Box::new(Output(Arc::default())),
                agent_id: "fix-greeting".to_owned(),
                agent_namespace: "foundry-agents".to_owned(),
                start_number: Some(3),
                heartbeat_every: Duration::from_secs(30),
            },
            broker: Arc::new(relay),
            model: self.settings.clone(),
            start_number: 3,
            ground: Ground {
                ssh_dir: path("ssh"),
                denied: Vec::new(),
                home: path("home"),
                temporary: path("tmp"),
                environment: std::env::vars_os().collect(),
                github_host: self.git.host(),
                github_api_url: self.github.api_url().parse().unwrap(),
                tokens: Tokens { github: self.token.map(SecretString::from), azure_devops: None },
            },
        }
    }

    /// Lives until it ends by itself.
    pub async fn lives(&self) -> Exit {
        self.lives_while(std::future::pending()).await
    }

    /// Lives while `meanwhile` does what it does, then stops; or until it ends by itself.
    pub async fn lives_while(&self, meanwhile: impl Future<Output = ()>) -> Exit {
        let stopping = async {
            meanwhile.await;
            self.stop.cancel();
            std::future::pending::<std::convert::Infallible>().await
        };
        let living = async {
            tokio::select! {
                exit = process::run(self.parts(), self.stop.clone()) => exit,
                never = stopping => match never {},
            }
        };
        timeout(DEADLINE, living).await.unwrap_or_else(|_| {
            panic!("alive after {DEADLINE:?}; it told {:#?}", self.api.messages())
        })
    }

    /// Waits until the log has a line of this kind.
    pub async fn tells(&self, kind: &str) {
        self.waits_for(|api| api.state().events.iter().any(|event| event.kind == kind)).await;
    }

    pub async fn waits_for(&self, holds: impl Fn(&FakeApi) -> bool) {
        while !holds(&self.api) {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    pub fn events(&self, kind: &str) -> Vec<LogEvent> {
        self.api.state().events.iter().filter(|event| event.kind == kind).cloned().collect()
    }

    pub fn lines(&self, kind: &str) -> Vec<String> {
        self.events(kind).into_iter().map(|event| event.message).collect()
    }

    /// The last report, which must carry the result.
    #[track_caller]
    pub fn result(&self) -> (CodingReport, CodingResult) {
        let state = self.api.state();
        let last = state.reports.last().expect("a report").clone();
        let result = last.result.clone().expect("a result in the last report");
        let results = state.reports.iter().filter(|report| report.result.is_some()).count();
        assert_eq!(results, 1, "{:#?}", state.reports);
        (last, result)
    }

    #[track_caller]
    pub fn ended_as(&self, outcome: CodingOutcome) -> CodingResult {
        let (_, result) = self.result();
        assert_eq!(result.outcome, outcome, "{}", result.summary);
        result
    }

    /// How often each call came, by its name.
    pub fn calls(&self) -> BTreeMap<&'static str, usize> {
        let mut calls = BTreeMap::new();
        for (call, _) in &self.api.state().calls {
            *calls.entry(*call).or_default() += 1;
        }
        calls
    }

    /// The order in which these calls came first.
    pub fn order(&self, names: &[&str]) -> Vec<&'static str> {
        let mut seen = Vec::new();
        for (call, _) in &self.api.state().calls {
            if names.contains(call) && !seen.contains(call) {
                seen.push(*call);
            }
        }
        seen
    }
}
