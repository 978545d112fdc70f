//! One run of flowcode from its exec to its end.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, ensure};
use serde::Serialize;
use testenv::Process;
use tokio::time::{sleep, timeout};

use super::ping;
use super::play::{self, Play};
use super::requests::{self, Request};
use crate::bench::report::memory_mib;
use crate::repository;

/// A run that is not done by then hangs.
const DEADLINE: Duration = Duration::from_mins(3);
/// How often the memory of a run is looked at; the most it had, the system keeps.
const LOOK: Duration = Duration::from_millis(10);
/// MiB of `/proc` in MB, which the bars are in.
const MB: f64 = 1.048_576;

/// What one run came to.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Sample {
    /// From exec to the arrival of the first request, in ms.
    pub first_ms: f64,
    /// Bytes of the first request's body.
    pub first_bytes: u64,
    /// Tools that the first request offers.
    pub first_tools: usize,
    /// Bytes and tools of the first request of building, which offers the most.
    pub building: (u64, usize),
    /// From the end of a reply that calls to the arrival of the next request, in ms, call
    /// by call.
    pub gaps_ms: Vec<f64>,
    /// The most memory it had, in MB.
    pub peak_mb: f64,
    /// A word over loopback and back just before, in ms.
    pub pong_ms: f64,
}

/// Where runs take place: a repository that is cloned for each, and the model.
pub struct Ground {
    folder: tempfile::TempDir,
    model: PathBuf,
}

impl Ground {
    /// Lays repository and great file.
    pub fn lay(model: PathBuf) -> Result<Self> {
        let folder = tempfile::tempdir().context("failed to make a folder")?;
        let ground = Self { folder, model };
        play::lay(&ground.project(), &ground.great())?;
        let home = ground.home();
        std::fs::create_dir_all(&home).context("failed to make a home")?;
        std::fs::write(home.join(".gitconfig"), "[user]\nname = Ann\nemail = ann@example.org\n")?;
        Ok(ground)
    }

    /// A note of the repository, as a file.
    pub fn note(&self, number: usize) -> PathBuf {
        self.project().join(play::note(number))
    }

    /// The file that is printed at once.
    pub fn great(&self) -> PathBuf {
        self.folder.path().join("great.txt")
    }

    fn project(&self) -> PathBuf {
        self.folder.path().join("project")
    }

    fn home(&self) -> PathBuf {
        self.folder.path().join("home")
    }
}

/// Plays it once, on a clone and a model of its own.
pub async fn take(ground: &Ground, play: Play, flowcode: &Path) -> Result<Sample> {
    let place = tempfile::tempdir_in(ground.folder.path()).context("failed to make a folder")?;
    let clone = place.path().join("clone");
    let (from, to) = (ground.project().display().to_string(), clone.display().to_string());
    repository::run("git", &["clone", "--quiet", &from, &to])?;
    let (model, url) = start_model(ground, play, place.path()).await?;
    let pong_ms = ping::pong()?;

    let log = place.path().join("flowcode.log");
    let output = std::fs::File::create(&log).context("failed to make a log")?;
    let mut command = command(ground, play, flowcode, &url);
    command.current_dir(&clone).stdout(output.try_clone()?).stderr(output);
    let started = now_micros();
    let ended = timeout(DEADLINE, watch(command)).await;
    let said = || {
        let log = std::fs::read_to_string(&log).unwrap_or_default();
        format!("{}: {}", play.name(), log.trim())
    };
    let peak_mb = ended.with_context(|| format!("flowcode hangs; {}", said()))??;
    let peak_mb = peak_mb.with_context(|| format!("flowcode failed; {}", said()))?;
    // It complains of steps that were not played and of unlawful requests.
    let status = model.stop(DEADLINE).await?;
    ensure!(status.success(), "the script was not played as it stands; {}", said());

    let requests = requests::read(&place.path().join("requests.jsonl"))?;
    ensure!(requests.len() == play.requests(), "{} requests; {}", requests.len(), said());
    sum_up(play, &requests, &Taken { started, peak_mb, pong_ms })
}

/// What was measured from outside.
struct Taken {
    started: u64,
    peak_mb: f64,
    pong_ms: f64,
}

fn sum_up(play: Play, requests: &[Request], taken: &Taken) -> Result<Sample> {
    let first = requests.first().context("no request came")?;
    let building = requests.get(play::PLANNING).context("building was not begun")?;
    let Taken { started, peak_mb, pong_ms } = *taken;
    Ok(Sample {
        first_ms: requests::ms(started, first.at),
        first_bytes: first.bytes,
        first_tools: first.tools,
        building: (building.bytes, building.tools),
        gaps_ms: requests::gaps(requests, play::BEFORE, play.case.turns()),
        peak_mb,
        pong_ms,
    })
}

async fn start_model(ground: &Ground, play: Play, place: &Path) -> Result<(Process, String)> {
    let script = place.join("script.json");
    std::fs::write(&script, play.script(&ground.great()).to_string())?;
    let port_file = place.join("port");
    let mut command = Command::new(&ground.model);
    command.arg("--script").arg(&script).arg("--port-file").arg(&port_file);
    command.arg("--capture").arg(place.join("requests.jsonl"));
    command.args(["--capture-bodies", "first"]);
    let mut model = Process::spawn("scripted-model", &command, &place.join("model.log"))?;
    let port = || async {
        let text = std::fs::read_to_string(&port_file).map_err(|error| error.to_string())?;
        text.trim().parse::<u16>().map_err(|error| error.to_string())
    };
    let port = model.wait_for("it listens", DEADLINE, port).await?;
    Ok((model, format!("http://127.0.0.1:{port}/v1")))
}

fn command(ground: &Ground, play: Play, flowcode: &Path, url: &str) -> Command {
    let mut command = Command::new(flowcode);
    command
        .env_clear()
        .envs(std::env::vars_os().filter(|(name, _)| name == "PATH"))
        .env("HOME", ground.home())
        .env("TMPDIR", ground.folder.path())
        // So that nothing is compacted: that has a bench of its own.
        .env("FLOW_CONTEXT_TOKENS", "1000000")
        .args(["--base-url", url, "--model", &format!("{}/bench", play.wire.provider())])
        .args(["--approve", "self", "--turns", "300", "Read all notes."])
        .stdin(Stdio::null());
    command
}

/// Runs it to its end; the most memory it had, in MB, when that was a good one.
async fn watch(command: Command) -> Result<Option<f64>> {
    let mut command = tokio::process::Command::from(command);
    let mut child = command.kill_on_drop(true).spawn().context("failed to start flowcode")?;
    let pid = child.id().context("flowcode has no process id")?;
    let mut peak = 0.0_f64;
    loop {
        tokio::select! {
            status = child.wait() => return Ok(status?.success().then_some(peak)),
            () = sleep(LOOK) => {
                // One that has just ended has no figure any more.
                peak = peak.max(memory_mib(pid, "VmHWM").unwrap_or_default() * MB);
            }
        }
    }
}

fn now_micros() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_micros()).unwrap_or(u64::MAX)
}
