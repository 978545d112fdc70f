//! Coding runs on the local runtime, and flowcode.

use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::{Context as _, Result, ensure};
use fakes::git::BareRepository;
use foundry_client::{Client, StaticToken};
use foundry_crds::{CodingRun, Harness};
use k8s_openapi::api::core::v1::Secret;
use kube::api::PostParams;
use serde_json::{Value, json};
use testenv::stack::Runtime;
use testenv::{Process, within};

use super::report::{Figure, memory_mib, percentile};
use super::world::{World, example};
use crate::repository;

/// Runs that are measured, after one that fills the compiler's cache.
const RUNS: usize = 5;
/// Starts of flowcode.
const STARTS: usize = 9;
const DEADLINE: Duration = Duration::from_mins(5);
const NAME: &str = "acme/greeting";
/// MiB of `/proc` in MB, which the bars are in.
const MB: f64 = 1.048_576;

/// What one run took, in seconds and MB.
struct Run {
    asked: f64,
    opened: f64,
    commands: f64,
    peak: f64,
}

/// Times from `kubectl apply` on, from typing `flowcode` on, and peak memory of both.
pub async fn measure() -> Result<Vec<Figure>> {
    let mut world = World::start(Runtime::Local).await?;
    lay(&mut world).await?;
    let token = world.stack.token("ann", &["member"]).await?;
    let api = Client::new(&world.stack.api_url(), Arc::new(StaticToken::new(token)))?;
    let mut runs = Vec::new();
    for number in 0..=RUNS {
        runs.push(run(&world, &api, &format!("bench-{number}")).await?);
    }
    runs.remove(0);
    let mut starts = Vec::new();
    for _ in 0..STARTS {
        starts.push(flowcode(&world).await?);
    }
    world.end().await?;

    let of = |field: fn(&Run) -> f64| runs.iter().map(field).collect::<Vec<_>>();
    let (mut asked, mut opened, mut commands) =
        (of(|run| run.asked), of(|run| run.opened), of(|run| run.commands));
    let mut peaks = of(|run| run.peak);
    let (mut typed, mut flowcode_peaks): (Vec<_>, Vec<_>) = starts.into_iter().unzip();
    let (p50, max) = (0.5, 1.0);
    Ok(vec![
        Figure::at_most(
            "kubectl apply to first model request, p50",
            "s",
            percentile(&mut asked, p50),
            1.0,
        ),
        Figure::plain(
            "kubectl apply to first model request, max",
            "s",
            percentile(&mut asked, max),
        ),
        Figure::plain("kubectl apply to pull request, p50", "s", percentile(&mut opened, p50)),
        Figure::plain("  the repository's own commands, p50", "s", percentile(&mut commands, p50)),
        Figure::at_most("harness-coding, peak resident", "MB", percentile(&mut peaks, max), 40.0),
        Figure::at_most(
            "flowcode typed to first model request, p50",
            "ms",
            percentile(&mut typed, p50),
            60.0,
        ),
        Figure::plain(
            "flowcode typed to first model request, max",
            "ms",
            percentile(&mut typed, max),
        ),
        Figure::at_most(
            "flowcode at that moment, peak resident",
            "MB",
            percentile(&mut flowcode_peaks, max),
            40.0,
        ),
    ])
}

/// Git server, stand-in, repository, Secrets and Harness.
async fn lay(world: &mut World) -> Result<()> {
    world.stack.start_git().await?;
    world.stack.start_github().await?;
    let files = repository::root().join("examples/coding/repository");
    BareRepository::make(world.stack.bare_repository(NAME), &files)?;
    let access = world.stack.git_access();
    let mut harness: Harness = example("coding/harness.yaml")?;
    let cache = repository::capture("go", &["env", "GOCACHE"])?;
    harness.spec.env = serde_json::from_value(json!([
        {"name": "FOUNDRY_GITHUB_HOST", "value": access.host},
        {"name": "FOUNDRY_GITHUB_API_URL", "value": access.api_url},
        {"name": "GOCACHE", "value": cache.trim()},
    ]))?;
    let post = PostParams::default();
    for secret in access.secrets()? {
        let secret: Secret = serde_json::from_value(secret)?;
        world.api::<Secret>().create(&post, &secret).await?;
    }
    world.api::<Harness>().create(&post, &harness).await?;
    Ok(())
}

/// One run that approves its own plan, from `kubectl apply` to its pull request.
async fn run(world: &World, api: &Client, name: &str) -> Result<Run> {
    let mut run: CodingRun = example("coding/codingrun.yaml")?;
    run.metadata.name = Some(name.to_owned());
    run.metadata.namespace = Some(world.namespace.name.clone());
    run.spec.repository.remote = world.stack.remote(NAME);
    let mut run = serde_json::to_value(&run)?;
    run["spec"]["approval"] = "self".into();
    run.as_object_mut().and_then(|run| run.remove("status"));
    let manifest = world.folder().join(format!("{name}.json"));
    std::fs::write(&manifest, run.to_string())?;

    let start = now();
    let mut kubectl = Command::new(world.control_plane.kubectl());
    kubectl.env("KUBECONFIG", world.control_plane.kubeconfig());
    kubectl.args(["apply", "--filename"]).arg(&manifest).stdout(Stdio::null());
    let status = kubectl.status().context("failed to run kubectl")?;
    ensure!(status.success(), "kubectl apply failed ({status})");

    let mut peak = 0.0_f64;
    let ended = within(&format!("{name} ends"), DEADLINE, || {
        for harness in world.stack.harnesses().unwrap_or_default() {
            if harness.agent == name {
                // One that has just ended has no figure any more.
                peak = peak.max(memory_mib(harness.pid, "VmHWM").unwrap_or_default() * MB);
            }
        }
        async {
            let view = api.get_coding_run(name).await?;
            let phase = view.phase.clone().unwrap_or_default();
            ensure!(phase == "Succeeded", "{phase} {:?}", view.message);
            Ok(view)
        }
    })
    .await?;
    let opened = ended.pull_request.context("it opened no pull request")?;
    let records = world.stack.pull_requests()?;
    let record = records.iter().find(|record| record["number"] == opened.number);
    Ok(Run {
        asked: seconds(start, first_request(world, start)?),
        opened: seconds(start, record.and_then(at).context("no such pull request")?),
        commands: commands(api, name).await?,
        peak,
    })
}

/// Seconds that the repository's own commands took.
async fn commands(api: &Client, name: &str) -> Result<f64> {
    let lines = api.read_logs(name, 0, Some(500), None).await?.items;
    let of_command = lines.iter().filter(|line| line.event.kind == "command");
    let durations = of_command.filter_map(|line| line.event.data.as_ref()?["duration_ms"].as_f64());
    Ok(durations.sum::<f64>() / 1000.0)
}

/// From the start of the process to its first model request, in ms, and its peak
/// memory by then, in MB.
async fn flowcode(world: &World) -> Result<(f64, f64)> {
    let clone = tempfile::tempdir()?;
    let bare = world.stack.bare_repository(NAME);
    repository::capture(
        "git",
        &["clone", "--quiet", &bare.display().to_string(), &clone.path().display().to_string()],
    )?;
    let start = now();
    let process = start_flowcode(clone.path(), &world.stack.model_url(), world.folder())?;
    let asked =
        within("flowcode asks its model", DEADLINE, || async { first_request(world, start) })
            .await?;
    let peak = memory_mib(process.pid(), "VmHWM")? * MB;
    drop(process);
    Ok((seconds(start, asked) * 1000.0, peak))
}

fn start_flowcode(clone: &Path, model: &str, logs: &Path) -> Result<Process> {
    let mut flowcode = Command::new(super::release_folder()?.join("flowcode"));
    flowcode.args(["--base-url", model, "Mend the greeting."]).current_dir(clone);
    Process::spawn("flowcode", &flowcode, &logs.join("flowcode.log"))
}

/// When the model was first asked after this moment.
fn first_request(world: &World, after: u64) -> Result<u64> {
    let requests = std::fs::read_to_string(world.stack.capture())?;
    let requests = requests.lines().filter_map(|line| serde_json::from_str(line).ok());
    let times = requests.filter_map(|request: Value| at(&request));
    times.filter(|at| *at > after).min().context("it has not asked its model")
}

/// When something happened, in microseconds since 1970.
fn at(record: &Value) -> Option<u64> {
    record["at"].as_u64()
}

fn now() -> u64 {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    u64::try_from(now.as_micros()).unwrap_or(u64::MAX)
}

#[expect(clippy::cast_precision_loss, reason = "minutes in microseconds fit a f64 exactly")]
fn seconds(from: u64, to: u64) -> f64 {
    to.saturating_sub(from) as f64 / 1e6
}
