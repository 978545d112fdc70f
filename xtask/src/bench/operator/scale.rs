//! The operator with so many objects: memory, times, writes.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use foundry_crds::{Agent, AgentState, CodingRun, meta};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use kube::Api;
use kube::api::{ListParams, Patch, PatchParams};
use serde_json::{Value, json};

use super::exposition::Page;
use super::figures::{Measure, Scale, What};
use super::ground::{Ground, Operator};
use super::ledger::by_manager;
use super::mix::{self, Kind, Object};
use super::process::{float, millicores};
use crate::printer::complain;

/// Requests of the bench on their way at once.
pub const AT_ONCE: usize = 32;
/// Without a write for so long, all has settled.
const QUIET: Duration = Duration::from_secs(10);
/// How long settling may take.
const PATIENCE: Duration = Duration::from_mins(40);
/// How long objects are edited.
const EDITING_MINUTES: usize = 2;
/// Fewer edits than this a minute would make no quantile.
const LEAST_EDITS: usize = 20;
/// Objects a page of a list.
const PAGE: u32 = 500;
const SECONDS: &str = "foundry_operator_reconcile_seconds";
const QUEUE: &str = "foundry_operator_queue_seconds";

/// Fills a new cluster with so many objects and measures.
pub async fn measure(objects: usize, quiet_minutes: u64) -> Result<Scale> {
    let mut ground = Ground::start(1).await?;
    let namespace = ground.namespaces.first().cloned().context("no namespace")?;
    let mut measures = Vec::new();
    let mut note = |what, value| measures.push(Measure { what, value });
    let operator = ground.start_operator("operator").await?;

    complain(&format!("bench: {objects} objects are made"));
    let start = Instant::now();
    fill(&ground, &namespace, objects).await?;
    let settled = ground.ledger.quiet(QUIET, PATIENCE).await?;
    note(What::SettlingAfterCreation, (settled - start).as_secs_f64());
    finish_runs(&ground, &namespace, objects).await?;
    ground.ledger.quiet(QUIET, PATIENCE).await?;
    verify(&ground, &namespace, objects).await?;
    let writes = ground.ledger.read()?.to_vec();
    note(What::WritesAnObject, float(writes.len()) / float(objects));
    let peak_before = operator.look()?.peak;
    operator.stop().await?;

    complain("bench: the operator is started again");
    let before = ground.ledger.count()?;
    let start = Instant::now();
    let operator = ground.start_operator("operator again").await?;
    let seen = operator.has_seen(&kinds(objects)).await?;
    note(What::SettlingAfterRestart, (seen - start).as_secs_f64());
    ground.ledger.quiet(QUIET, PATIENCE).await?;
    note(What::WritesAfterRestart, float(ground.ledger.count()? - before));
    let rested = operator.page().await?;
    let idle = rested.histogram(SECONDS, &[("pass", "idle")]);
    note(What::RestartP50, idle.quantile(0.5) * 1000.0);

    let edits = (objects / 100).max(LEAST_EDITS);
    complain(&format!("bench: {edits} objects are edited a minute"));
    edit(&ground, &namespace, objects, edits).await?;
    ground.ledger.quiet(QUIET, PATIENCE).await?;
    let edited = operator.page().await?;
    for (what, share, pass) in [
        (What::P50, 0.5, None),
        (What::P99, 0.99, None),
        (What::WritingP50, 0.5, Some("writing")),
        (What::WritingP99, 0.99, Some("writing")),
        (What::IdleP50, 0.5, Some("idle")),
        (What::IdleP99, 0.99, Some("idle")),
    ] {
        note(what, quantile_since(&rested, &edited, SECONDS, pass, share));
    }
    if edited.histogram(QUEUE, &[]).count() > 0.0 {
        note(What::QueueP50, quantile_since(&rested, &edited, QUEUE, None, 0.5));
        note(What::QueueP99, quantile_since(&rested, &edited, QUEUE, None, 0.99));
    }

    complain(&format!("bench: {quiet_minutes} quiet minutes"));
    let rest = rest(&mut ground, &operator, quiet_minutes).await?;
    note(What::WritesAtRest, rest.writes);
    note(What::MillicoresAtRest, rest.millicores);
    let last = operator.look()?;
    note(What::Peak, last.peak.max(peak_before));
    note(What::PeakAfterRestart, last.peak);
    note(What::Descriptors, last.descriptors);
    operator.stop().await?;
    ground.end().await?;
    Ok(Scale { objects, measures, by_manager: by_manager(&writes) })
}

/// What the operator must have looked at to have looked at all.
fn kinds(objects: usize) -> [(&'static str, usize); 4] {
    let runs = mix::count(Kind::FinishedRun, objects);
    let agents = [Kind::RunningAgent, Kind::StoppedAgent, Kind::OnDemandAgent];
    let agents: usize = agents.into_iter().map(|kind| mix::count(kind, objects)).sum();
    [
        ("agent", agents + runs),
        ("codingrun", runs),
        ("harness", mix::count(Kind::Harness, objects)),
        ("model", mix::count(Kind::Model, objects)),
    ]
}

/// Milliseconds below which this share of what came between two looks lies.
fn quantile_since(first: &Page, last: &Page, name: &str, pass: Option<&str>, share: f64) -> f64 {
    let labels: Vec<_> = pass.map(|pass| ("pass", pass)).into_iter().collect();
    let came = last.histogram(name, &labels).since(&first.histogram(name, &labels));
    came.quantile(share) * 1000.0
}

struct Rest {
    writes: f64,
    millicores: f64,
}

async fn rest(ground: &mut Ground, operator: &Operator, minutes: u64) -> Result<Rest> {
    let (before, first) = (ground.ledger.count()?, operator.look()?);
    let start = Instant::now();
    tokio::time::sleep(Duration::from_mins(minutes)).await;
    let last = operator.look()?;
    let writes = ground.ledger.read()?;
    for write in writes.iter().skip(before) {
        complain(&format!("bench: written at rest: {}", super::ledger::told(write)));
    }
    Ok(Rest {
        writes: float(writes.len() - before),
        millicores: millicores(&first, &last, start.elapsed().as_secs_f64()),
    })
}

async fn fill(ground: &Ground, namespace: &str, objects: usize) -> Result<()> {
    let made = stream::iter(mix::objects(objects)).map(|object| async move {
        match object {
            Object::Agent(it) => ground.create(namespace, &*it).await.map(drop),
            Object::Run(it) => ground.create(namespace, &*it).await.map(drop),
            Object::Harness(it) => ground.create(namespace, &*it).await.map(drop),
            Object::Model(it) => ground.create(namespace, &*it).await.map(drop),
        }
    });
    made.buffer_unordered(AT_ONCE).try_for_each(|()| async { Ok(()) }).await
}

/// Says for the harness of each run that it is done, as the API does, and then that its
/// agent is over (LIFE-11).
async fn finish_runs(ground: &Ground, namespace: &str, objects: usize) -> Result<()> {
    let runs: Api<CodingRun> = Api::namespaced(ground.client.clone(), namespace);
    let agents: Api<Agent> = Api::namespaced(ground.client.clone(), namespace);
    let (runs, agents) = (&runs, &agents);
    let reported = json!({ "startNumber": 1, "branch": "flow/fix", "checkSummary": "2/2",
        "result": { "outcome": "completed", "summary": "The greeting is whole." } });
    let report = json!({ "apiVersion": "foundry.flow.life/v1alpha1", "kind": "CodingRun",
        "status": { "reported": reported } });
    let report = &report;
    let told = stream::iter(mix::finished_runs(objects)).map(|name| async move {
        play(runs.clone(), &name, Part::Status, report).await?;
        let over = json!({ "spec": { "lifecycle": "expired", "desiredState": "completed" } });
        play(agents.clone(), &name, Part::Spec, &over).await
    });
    told.buffer_unordered(AT_ONCE).try_for_each(|()| async { Ok(()) }).await
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Spec,
    Status,
}

#[expect(clippy::disallowed_methods, reason = "plays the API and a person, which are not our code")]
async fn play<K>(api: Api<K>, name: &str, part: Part, body: &Value) -> Result<()>
where
    K: Clone + std::fmt::Debug + serde::de::DeserializeOwned,
{
    let verbs = PatchParams {
        field_manager: Some(meta::manager::API_VERBS.to_owned()),
        ..PatchParams::default()
    };
    let done = match part {
        Part::Spec => api.patch(name, &verbs, &Patch::Merge(body)).await,
        Part::Status => {
            let reported = PatchParams::apply(meta::manager::API_REPORTED).force();
            api.patch_status(name, &reported, &Patch::Apply(body)).await
        }
    };
    done.map(drop).with_context(|| format!("failed to patch {name}"))
}

/// What a person edits among the many, evenly over the time: a burst would measure how long
/// requests queue.
async fn edit(ground: &Ground, namespace: &str, objects: usize, a_minute: usize) -> Result<()> {
    let agents: Api<Agent> = Api::namespaced(ground.client.clone(), namespace);
    let names = mix::running_agents(objects);
    let edits = a_minute * EDITING_MINUTES;
    let mut pace = tokio::time::interval(Duration::from_mins(1).div_f64(float(a_minute)));
    for number in 0..edits {
        pace.tick().await;
        // Spread over all, so that no two edits in a row meet one object.
        let index = number * names.len().div_ceil(edits).max(1) % names.len().max(1);
        let Some(name) = names.get(index) else { continue };
        let spec = json!({ "spec": { "instructions": format!("Watch harbour {number}.") } });
        play(agents.clone(), name, Part::Spec, &spec).await?;
    }
    Ok(())
}

/// Everything is as the mix says: what was not made would cost nothing.
async fn verify(ground: &Ground, namespace: &str, objects: usize) -> Result<()> {
    let mut running = 0;
    let (mut page, mut behind) = (ListParams::default().limit(PAGE), Vec::new());
    let agents: Api<Agent> = Api::namespaced(ground.client.clone(), namespace);
    loop {
        let list = agents.list(&page).await.context("failed to list agents")?;
        for agent in list.items {
            let status = agent.status.unwrap_or_default();
            running += usize::from(status.state == Some(AgentState::Running));
            if status.observed_generation != agent.metadata.generation {
                behind.extend(agent.metadata.name);
            }
        }
        match list.metadata.continue_ {
            Some(token) if !token.is_empty() => page = page.continue_token(&token),
            Some(_) | None => break,
        }
    }
    let wanted = mix::count(Kind::RunningAgent, objects);
    ensure!(
        running == wanted && behind.is_empty(),
        "{running} of {wanted} agents run; {} are behind, such as {:?}",
        behind.len(),
        behind.first()
    );
    let runs: Api<CodingRun> = Api::namespaced(ground.client.clone(), namespace);
    let runs = runs.list(&ListParams::default()).await.context("failed to list runs")?;
    let phase = |run: &CodingRun| run.status.as_ref().and_then(|status| status.phase);
    let done = runs.iter().filter(|run| phase(run).is_some_and(|it| it.as_str() == "Succeeded"));
    let (done, wanted) = (done.count(), mix::count(Kind::FinishedRun, objects));
    let other = runs.iter().find(|run| phase(run).is_none_or(|it| it.as_str() != "Succeeded"));
    let other = other.map(|run| serde_json::to_string(&run.status)).transpose()?;
    ensure!(done == wanted, "{done} of {wanted} runs have succeeded; another: {other:?}");
    Ok(())
}
