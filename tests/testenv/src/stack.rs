//! Foundry itself as processes: model, issuer, API and operator, each with the
//! environment an installation would give it, and the harnesses they lead to; and
//! where coding runs need it, a Git server over SSH with a stand-in for GitHub.

mod harnesses;
mod hosting;
mod ports;

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use serde_json::{Value, json};

use crate::Process;

pub use harnesses::Harness;
pub use hosting::GitAccess;
use ports::Ports;

/// How long a part may take until it is ready.
const READY: Duration = Duration::from_mins(1);
/// How long a part may take to end when asked.
const GRACE: Duration = Duration::from_secs(15);

/// What an installation consists of.
#[derive(Clone, Debug)]
pub struct StackOptions {
    /// Folder of its data, logs and port files.
    pub folder: PathBuf,
    /// Folder with the executables.
    pub executables: PathBuf,
    /// Namespaces that it watches; the first is the persons' workspace.
    pub namespaces: Vec<String>,
    /// Kubeconfig that the operator uses.
    pub operator_kubeconfig: PathBuf,
    /// Kubeconfig that the API uses.
    pub api_kubeconfig: PathBuf,
    /// What the scripted model answers: the rules of each file, in this order.
    pub scripts: Vec<PathBuf>,
    /// Database of the API; a SQLite file in the folder when absent.
    pub database: Option<String>,
    /// Rhythm of the harnesses in seconds; their own when absent.
    pub evaluate_seconds: Option<u32>,
    /// Where harnesses run.
    pub runtime: Runtime,
}

/// Where harnesses run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Runtime {
    /// As processes on this machine.
    Local,
    /// As workloads of the cluster.
    Cluster,
}

/// An installation on this machine. Its parts are started one by one and can be
/// killed and started again, on the same ports and data.
#[derive(Debug)]
pub struct Stack {
    options: StackOptions,
    ports: Ports,
    /// Held as long as harnesses may live: whoever gets a lock on it knows that
    /// this stack is gone.
    lifeline: Option<File>,
    /// The scripted model server.
    pub model: Option<Process>,
    /// The development issuer.
    pub issuer: Option<Process>,
    /// `foundry-api`.
    pub api: Option<Process>,
    /// `foundry-operator`.
    pub operator: Option<Process>,
    /// The Git server over SSH.
    pub git: Option<Process>,
    /// The stand-in for GitHub's API of pull requests.
    pub github: Option<Process>,
}

impl Stack {
    /// An installation of which nothing runs yet. Takes over the folder: harnesses
    /// that an earlier owner left behind are ended first.
    pub async fn new(options: StackOptions) -> Result<Self> {
        for folder in ["logs", "data", "local", "issuer"] {
            let folder = options.folder.join(folder);
            fs::create_dir_all(&folder)
                .with_context(|| format!("failed to create {}", folder.display()))?;
        }
        let lifeline = take_lifeline(&options.folder).await?;
        let ports = Ports::of(&options.folder).await?;
        let mut stack = Self {
            options,
            ports,
            lifeline: Some(lifeline),
            model: None,
            issuer: None,
            api: None,
            operator: None,
            git: None,
            github: None,
        };
        stack.end_harnesses().await?;
        stack.lifeline = Some(take_lifeline(&stack.options.folder).await?);
        Ok(stack)
    }

    /// Starts everything but Git server and stand-in, the operator last.
    pub async fn start_all(&mut self) -> Result<()> {
        self.start_model().await?;
        self.start_issuer().await?;
        self.start_api().await?;
        self.start_operator().await
    }

    /// Starts the scripted model server.
    pub async fn start_model(&mut self) -> Result<()> {
        let mut command = self.command("scripted-model");
        command.args(["--listen", &format!("127.0.0.1:{}", self.ports.model)]);
        for script in &self.options.scripts {
            command.arg("--script").arg(script);
        }
        command
            .arg("--port-file")
            .arg(self.options.folder.join("model.port"))
            .arg("--capture")
            .arg(self.capture());
        self.model = Some(self.spawn("scripted-model", &command, "model.port").await?);
        Ok(())
    }

    /// Starts the development issuer.
    pub async fn start_issuer(&mut self) -> Result<()> {
        let mut command = self.command("dev-issuer");
        command
            .args(["--listen", &format!("127.0.0.1:{}", self.ports.issuer)])
            .arg("--key-dir")
            .arg(self.options.folder.join("issuer"))
            .arg("--port-file")
            .arg(self.options.folder.join("issuer.port"));
        self.issuer = Some(self.spawn("dev-issuer", &command, "issuer.port").await?);
        Ok(())
    }

    /// Starts the API and waits until it is ready.
    pub async fn start_api(&mut self) -> Result<()> {
        let mut command = self.command("foundry-api");
        command
            .env("KUBECONFIG", &self.options.api_kubeconfig)
            .env("FOUNDRY_API_LISTEN", format!("127.0.0.1:{}", self.ports.api))
            .env("FOUNDRY_DATA_DIR", self.options.folder.join("data"))
            .env("FOUNDRY_WATCH_NAMESPACES", self.options.namespaces.join(","))
            .env("FOUNDRY_OIDC_ISSUER", self.issuer_url())
            .env("FOUNDRY_OIDC_AUDIENCE", "foundry");
        if let Some(database) = &self.options.database {
            command.env("FOUNDRY_DATABASE_URL", database);
        }
        let process = self.start("foundry-api", &command)?;
        let ready = format!("{}/readyz", self.api_url());
        self.api = Some(until_ready(process, &ready).await?);
        Ok(())
    }

    /// Starts the operator and waits until it is ready.
    pub async fn start_operator(&mut self) -> Result<()> {
        let mut command = self.command("foundry-operator");
        command
            .env("KUBECONFIG", &self.options.operator_kubeconfig)
            .env("FOUNDRY_RUNTIME", self.runtime())
            .env("FOUNDRY_WATCH_NAMESPACES", self.options.namespaces.join(","))
            .env("FOUNDRY_LEASE_NAME", self.lease())
            .env("FOUNDRY_API_URL", self.api_url())
            .env("FOUNDRY_OPERATOR_LISTEN", format!("127.0.0.1:{}", self.ports.operator))
            .env("FOUNDRY_LOCAL_DIR", self.local_folder())
            .env("FOUNDRY_LOCAL_BIN_DIR", &self.options.executables)
            .env("FOUNDRY_LIFELINE", self.options.folder.join(LIFELINE));
        if let Some(seconds) = self.options.evaluate_seconds {
            command.env("FOUNDRY_EVALUATE_SECONDS", seconds.to_string());
        }
        let process = self.start("foundry-operator", &command)?;
        let ready = format!("{}/readyz", self.operator_url());
        self.operator = Some(until_ready(process, &ready).await?);
        Ok(())
    }

    /// Ends everything, harnesses included, and says so only when it is true.
    pub async fn stop(mut self) -> Result<()> {
        let Self { operator, api, issuer, model, github, git, .. } = &mut self;
        let parts = [operator, api, issuer, model, github, git].map(Option::take);
        for part in parts.into_iter().flatten() {
            part.stop(GRACE).await?;
        }
        self.end_harnesses().await
    }

    /// The harnesses that run now.
    pub fn harnesses(&self) -> Result<Vec<Harness>> {
        harnesses::alive(&self.local_folder())
    }

    /// A bearer token of a person of these workspaces, by the development issuer.
    pub async fn token(&self, subject: &str, roles: &[&str]) -> Result<String> {
        let request = json!({
            "sub": subject,
            "workspaces": self.options.namespaces,
            "roles": roles,
            "ttl_seconds": 3600,
        });
        let url = format!("{}/token", self.issuer_url());
        let answer: Value = http()?
            .post(&url)
            .json(&request)
            .send()
            .await
            .with_context(|| format!("failed to ask {url} for a token"))?
            .error_for_status()?
            .json()
            .await?;
        let token = answer["access_token"].as_str().context("the issuer gave no access_token")?;
        Ok(token.to_owned())
    }

    /// Base URL of the API.
    pub fn api_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports.api)
    }

    /// Base URL of the operator's health and metrics.
    pub fn operator_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports.operator)
    }

    /// Base URL of the scripted model, as a Model's `baseUrl`.
    pub fn model_url(&self) -> String {
        format!("http://127.0.0.1:{}/v1", self.ports.model)
    }

    /// The issuer's URL.
    pub fn issuer_url(&self) -> String {
        format!("http://127.0.0.1:{}", self.ports.issuer)
    }

    /// Every request the scripted model got, as JSON lines.
    pub fn capture(&self) -> PathBuf {
        self.options.folder.join("model requests.jsonl")
    }

    /// Where the parts log.
    pub fn logs(&self) -> PathBuf {
        self.options.folder.join("logs")
    }

    /// State of the local runtime.
    pub fn local_folder(&self) -> PathBuf {
        self.options.folder.join("local")
    }

    /// Several stacks share a cluster in tests, and each has its own operator.
    fn lease(&self) -> String {
        format!("foundry-operator-{}", self.options.namespaces.join("-"))
    }

    fn runtime(&self) -> &'static str {
        match self.options.runtime {
            Runtime::Local => "local",
            Runtime::Cluster => "cluster",
        }
    }

    fn command(&self, executable: &str) -> Command {
        let mut command = Command::new(self.options.executables.join(executable));
        command.env("FOUNDRY_PDEATHSIG", "1");
        command
    }

    fn start(&self, name: &str, command: &Command) -> Result<Process> {
        Process::spawn(name, command, &self.logs().join(format!("{name}.log")))
    }

    async fn spawn(&self, name: &str, command: &Command, port_file: &str) -> Result<Process> {
        let port_file = self.options.folder.join(port_file);
        if port_file.exists() {
            fs::remove_file(&port_file)
                .with_context(|| format!("failed to remove {}", port_file.display()))?;
        }
        let mut process = self.start(name, command)?;
        let written = || async {
            ensure!(port_file.is_file(), "{} is not there", port_file.display());
            Ok(())
        };
        process.wait_for("it listened", READY, written).await?;
        Ok(process)
    }

    /// Lets go of the lifeline, which ends harnesses, and kills what stays.
    async fn end_harnesses(&mut self) -> Result<()> {
        self.lifeline = None;
        harnesses::end(&self.local_folder()).await
    }
}

const LIFELINE: &str = "lifeline.lock";

/// Harnesses that an earlier owner left take it for a moment when they end; and so does
/// a process that somebody starts just now, until it is another program.
async fn take_lifeline(folder: &Path) -> Result<File> {
    let path = folder.join(LIFELINE);
    let file =
        File::create(&path).with_context(|| format!("failed to create {}", path.display()))?;
    let start = Instant::now();
    loop {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(fs::TryLockError::WouldBlock) if start.elapsed() < GRACE => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            Err(fs::TryLockError::WouldBlock) => {
                anyhow::bail!("{} is in use by another run; end that one first", folder.display())
            }
            Err(fs::TryLockError::Error(error)) => {
                return Err(error).with_context(|| format!("failed to lock {}", path.display()));
            }
        }
    }
}

async fn until_ready(mut process: Process, url: &str) -> Result<Process> {
    let http = http()?;
    let probe = || async {
        let answer = http.get(url).send().await.map_err(anyhow::Error::from)?;
        let status = answer.status();
        ensure!(status.is_success(), "HTTP {status}: {}", answer.text().await.unwrap_or_default());
        Ok(())
    };
    process.wait_for("it was ready", READY, probe).await?;
    Ok(process)
}

fn http() -> Result<reqwest::Client> {
    crate::install_tls_provider();
    reqwest::Client::builder()
        .no_proxy()
        .timeout(Duration::from_secs(10))
        .build()
        .context("failed to build an HTTP client")
}
