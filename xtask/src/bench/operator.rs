//! Many agents on the cluster runtime, with the real kube-controller-manager.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use foundry_crds::Agent;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::json;
use testenv::stack::Runtime;
use testenv::{Request, within};

use super::report::{Figure, memory_mib};
use super::world::World;

/// How long all agents may take to settle.
const SETTLED: Duration = Duration::from_mins(10);
/// How long nothing may be written after that.
const REST: Duration = Duration::from_mins(1);
/// Without a write for so long, all has settled.
const QUIET: Duration = Duration::from_secs(10);
/// How often that is looked at before the bench gives up.
const QUIET_TRIES: usize = 60;
/// How many agents are edited, one after another.
const EDITS: usize = 40;
/// Time between two edits: a burst would measure how long requests queue.
const BETWEEN_EDITS: Duration = Duration::from_secs(1);
/// Requests on their way at once.
const AT_ONCE: usize = 16;

/// Memory, reconcile times and writes at rest with this many agents.
pub async fn measure(agents: usize) -> Result<Vec<Figure>> {
    let world = World::start(Runtime::Cluster).await?;
    let names: Vec<String> = (0..agents).map(|number| format!("bench-{number}")).collect();
    let start = Instant::now();
    stream::iter(&names)
        .map(|name| world.create_agent(name))
        .buffer_unordered(AT_ONCE)
        .try_for_each(|_| async { Ok(()) })
        .await?;
    within("every agent is settled", SETTLED, || settled(&world, agents)).await?;
    let settling = start.elapsed().as_secs_f64();
    quiet(&world).await?;
    let first = reconcile_times(&world).await?;

    // What an operator does all day: now and then a change among the many.
    for name in names.iter().step_by(agents.div_ceil(EDITS).max(1)) {
        edit(&world, name).await?;
        tokio::time::sleep(BETWEEN_EDITS).await;
    }
    within("every edit is settled", SETTLED, || settled(&world, agents)).await?;
    quiet(&world).await?;
    let edits = reconcile_times(&world).await?.since(&first);

    let before = operator_writes(&world).len();
    tokio::time::sleep(REST).await;
    #[expect(clippy::cast_precision_loss, reason = "a count of writes in one minute")]
    let at_rest = (operator_writes(&world).len() - before) as f64;
    let operator = world.stack.operator.as_ref().context("the operator does not run")?.pid();
    let peak = memory_mib(operator, "VmHWM")?;
    let figures = vec![
        Figure::at_most(format!("operator, peak resident, {agents} agents"), "MiB", peak, 64.0),
        Figure::plain(format!("{agents} agents created and settled"), "s", settling),
        Figure::at_most("reconcile p50, bucket's upper bound", "ms", edits.quantile(0.5), 4.0),
        Figure::at_most("reconcile p99, bucket's upper bound", "ms", edits.quantile(0.99), 50.0),
        Figure::at_most("writes in one minute at rest, Lease apart", "writes", at_rest, 0.0),
    ];
    world.end().await?;
    Ok(figures)
}

/// Whether the operator has seen the newest spec of every agent and made its workload.
async fn settled(world: &World, wanted: usize) -> Result<()> {
    let agents = world.api::<Agent>().list(&ListParams::default()).await?;
    let settled = agents.iter().filter(|agent| {
        let status = agent.status.as_ref();
        status.and_then(|status| status.observed_generation) == agent.metadata.generation
            && status.is_some_and(|status| status.workload.is_some())
    });
    let settled = settled.count();
    ensure!(settled == wanted, "{settled} of {wanted}");
    Ok(())
}

/// Waits until the cluster has caught up too: the controller manager makes pods at a
/// pace of its own, and each one that appears changes what its agent's status says.
async fn quiet(world: &World) -> Result<()> {
    let mut before = operator_writes(world).len();
    for _ in 0..QUIET_TRIES {
        tokio::time::sleep(QUIET).await;
        let now = operator_writes(world).len();
        if now == before {
            return Ok(());
        }
        before = now;
    }
    bail!("the operator goes on writing; the last count is {before}")
}

#[expect(clippy::disallowed_methods, reason = "plays kubectl, which is not our code")]
async fn edit(world: &World, agent: &str) -> Result<()> {
    let patch = json!({"spec": {"instructions": "Watch the harbour."}});
    let agents = world.api::<Agent>();
    agents.patch(agent, &PatchParams::default(), &Patch::Merge(&patch)).await?;
    Ok(())
}

/// The operator's writes that the API server carried out, its lease apart.
fn operator_writes(world: &World) -> Vec<Request> {
    let writes = world.control_plane.writes().into_iter();
    writes
        .filter(|write| write.user.ends_with(":foundry-operator") && write.resource != "leases")
        .collect()
}

/// The operator's histogram of agent reconciles: upper bound in milliseconds and
/// count at or below it.
#[derive(Debug)]
struct Times(Vec<(f64, f64)>);

impl Times {
    fn since(&self, earlier: &Self) -> Self {
        let pairs = self.0.iter().zip(&earlier.0);
        Self(pairs.map(|((bound, now), (_, before))| (*bound, now - before)).collect())
    }

    /// Upper bound of the bucket that holds this quantile.
    fn quantile(&self, share: f64) -> f64 {
        let total = self.0.last().map_or(0.0, |(_, count)| *count);
        let bucket = self.0.iter().find(|(_, count)| *count >= total * share);
        bucket.map_or(f64::NAN, |(bound, _)| *bound)
    }
}

async fn reconcile_times(world: &World) -> Result<Times> {
    let url = format!("{}/metrics", world.stack.operator_url());
    let text = reqwest::get(&url).await.with_context(|| format!("failed to get {url}"))?;
    let times = parse(&text.text().await?);
    ensure!(!times.0.is_empty(), "the operator counts no reconciles of agents");
    Ok(times)
}

fn parse(metrics: &str) -> Times {
    let lines = metrics.lines().filter(|line| {
        line.starts_with("foundry_operator_reconcile_seconds_bucket")
            && line.contains("kind=\"agent\"")
    });
    let bucket = |line: &str| {
        let (labels, count) = line.rsplit_once(' ')?;
        let bound = labels.split_once("le=\"")?.1.split_once('"')?.0;
        let seconds = if bound == "+Inf" { f64::INFINITY } else { bound.parse().ok()? };
        Some((seconds * 1000.0, count.parse().ok()?))
    };
    Times(lines.filter_map(bucket).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_read_from_the_buckets_of_agents() {
        let text = "foundry_operator_reconcile_seconds_bucket{le=\"0.001\",kind=\"agent\"} 5\n\
                    foundry_operator_reconcile_seconds_bucket{le=\"0.004\",kind=\"agent\"} 9\n\
                    foundry_operator_reconcile_seconds_bucket{le=\"+Inf\",kind=\"agent\"} 10\n\
                    foundry_operator_reconcile_seconds_bucket{le=\"0.001\",kind=\"model\"} 99\n";
        let times = parse(text);
        assert_eq!(times.0, [(1.0, 5.0), (4.0, 9.0), (f64::INFINITY, 10.0)]);
        assert_eq!(times.quantile(0.9).to_bits(), 4.0_f64.to_bits());
    }
}
