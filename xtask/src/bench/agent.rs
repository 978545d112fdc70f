//! One agent after another on the local runtime.

use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use testenv::stack::Runtime;
use testenv::within;

use super::report::{Figure, memory_mib, percentile};
use super::world::World;

const AGENTS: usize = 9;
const DEADLINE: Duration = Duration::from_mins(2);

/// Time from create to first model request, and memory of an idle harness.
pub async fn measure() -> Result<Vec<Figure>> {
    let world = World::start(Runtime::Local).await?;
    let mut seconds = Vec::new();
    for number in 0..AGENTS {
        let name = format!("bench-{number}");
        let start = Instant::now();
        world.create_agent(&name).await?;
        within(&format!("{name} asks its model"), DEADLINE, || async { asks(&world, &name, 1) })
            .await?;
        seconds.push(start.elapsed().as_secs_f64());
    }
    // Idle: it has thought more than once and waits for its next turn.
    let name = format!("bench-{}", AGENTS - 1);
    within(&format!("{name} evaluates again"), DEADLINE, || async { asks(&world, &name, 6) })
        .await?;
    let mut resident = Vec::new();
    for harness in world.stack.harnesses()? {
        resident.push(memory_mib(harness.pid, "VmRSS")?);
    }
    world.end().await?;
    Ok(vec![
        Figure::at_most(
            "agent created to first model request, p50",
            "s",
            percentile(&mut seconds, 0.5),
            1.0,
        ),
        Figure::plain(
            "agent created to first model request, max",
            "s",
            percentile(&mut seconds, 1.0),
        ),
        Figure::at_most("idle harness, resident, p50", "MiB", percentile(&mut resident, 0.5), 7.0),
        Figure::plain("idle harness, resident, max", "MiB", percentile(&mut resident, 1.0)),
    ])
}

/// Whether the agent has sent this many model requests; each names its agent.
fn asks(world: &World, agent: &str, wanted: usize) -> Result<()> {
    let requests = std::fs::read_to_string(world.stack.capture()).unwrap_or_default();
    let asked = requests.lines().filter(|line| line.contains(agent)).count();
    ensure!(asked >= wanted, "{asked} model requests");
    Ok(())
}
