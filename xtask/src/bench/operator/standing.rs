//! Two operators and two hundred agents at rest: what resting costs, and how one hands over.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use foundry_crds::{Agent, AgentSpec};

use super::ground::{Ground, Operator, Stage};
use super::mix;
use super::process::{Look, growth, millicores};
use crate::bench::report::Figure;
use crate::printer::complain;

/// Agents that are at rest.
const AGENTS: usize = 200;
/// Looks at the leader at rest, a second apart: longer than a watch lives.
const LOOKS: usize = 120;
/// How often the leader is told to stop.
const STOPS: usize = 5;
/// Without a write for so long, all has settled.
const QUIET: Duration = Duration::from_secs(10);
const PATIENCE: Duration = Duration::from_mins(10);

/// Measures rest, then hand-over.
pub async fn measure() -> Result<Vec<Figure>> {
    let mut ground = Ground::start(1).await?;
    let namespace = ground.namespaces.first().cloned().context("no namespace")?;
    let leader = ground.start_operator("leader").await?;
    for number in 0..AGENTS {
        let spec = AgentSpec {
            owner: "ann".to_owned(),
            harness: mix::HARNESS.to_owned(),
            ..AgentSpec::default()
        };
        ground.create(&namespace, &Agent::new(&format!("idle-{number}"), spec)).await?;
    }
    ground.ledger.quiet(QUIET, PATIENCE).await?;
    complain(&format!("bench: {AGENTS} agents at rest"));
    let mut figures = rest(&leader).await?;
    complain("bench: the leader is stopped again and again, and then killed");
    figures.extend(hand_over(&ground, leader).await?);
    ground.end().await?;
    Ok(figures)
}

async fn rest(leader: &Operator) -> Result<Vec<Figure>> {
    let start = Instant::now();
    let first = leader.look()?;
    let (mut looks, mut pace) = (Vec::new(), tokio::time::interval(Duration::from_secs(1)));
    for _ in 0..LOOKS {
        pace.tick().await;
        looks.push(leader.look()?);
    }
    let used = millicores(&first, &leader.look()?, start.elapsed().as_secs_f64());
    let grown = |what: fn(&Look) -> f64| growth(&looks.iter().map(what).collect::<Vec<_>>());
    let of = |name: &str| format!("{AGENTS} agents at rest: {name}");
    let resident = looks.last().map_or(f64::NAN, |look| look.resident);
    let descriptors = looks.last().map_or(f64::NAN, |look| look.descriptors);
    Ok(vec![
        Figure::at_most(of("CPU of the leader"), "mcores", used, 5.0),
        Figure::plain(of("resident"), "MiB", resident),
        Figure::plain(of("open descriptors"), "files", descriptors),
        // A page here and there is no growth.
        Figure::at_most(of("memory grew by"), "MiB", grown(|look| look.resident), 1.0),
        Figure::at_most(of("threads grew by"), "", grown(|look| look.threads), 0.0),
        Figure::at_most(of("descriptors grew by"), "files", grown(|look| look.descriptors), 0.0),
    ])
}

async fn hand_over(ground: &Ground, mut leader: Operator) -> Result<Vec<Figure>> {
    let (mut leading, mut ready) = (Vec::new(), Vec::new());
    for number in 0..STOPS {
        let mut next = standby(ground, &format!("standby {number}")).await?;
        let start = Instant::now();
        let (stopped, leads) = tokio::join!(leader.stop(), next.wait_until(Stage::Leads));
        stopped?;
        leading.push((leads? - start).as_secs_f64());
        ready.push((next.wait_until(Stage::Ready).await? - start).as_secs_f64());
        leader = next;
    }
    let mut last = standby(ground, "last standby").await?;
    let start = Instant::now();
    leader.kill()?;
    let crashed = (last.wait_until(Stage::Leads).await? - start).as_secs_f64();
    last.stop().await?;
    let longest = |times: &[f64]| times.iter().copied().fold(f64::NAN, f64::max);
    let stopped = longest(&leading);
    Ok(vec![
        Figure {
            samples: leading,
            ..Figure::at_most(format!("hand-over, longest of {STOPS} stops"), "s", stopped, 2.0)
        },
        Figure::plain("hand-over until the caches are whole, longest", "s", longest(&ready)),
        Figure::plain("hand-over after kill -9: the lease's time", "s", crashed),
    ])
}

async fn standby(ground: &Ground, name: &str) -> Result<Operator> {
    let mut next = ground.spawn_operator(name)?;
    next.wait_until(Stage::Standby).await?;
    Ok(next)
}
