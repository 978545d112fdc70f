//! Many runs at once over many namespaces: how fast each gets its Job, and in which turn.

mod admission;
mod bare;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result};
use foundry_crds::Agent;
use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::batch::v1::Job;
use kube::api::{ListParams, ObjectMeta};
use kube::{Api, Client};
use serde::de::DeserializeOwned;
use testenv::Request;

use super::ground::{Ground, Operator};
use super::ledger::{by_manager, is_by_operator};
use super::mix;
use super::process::float;
use super::scale::AT_ONCE;
use crate::bench::report::Figure;
use crate::printer::complain;
use admission::{Admission, Owners, admission, job, jobs_of_runs};
use bare::{Sample, Script};

/// Namespaces that share the runs.
const NAMESPACES: usize = 51;
/// The bare client makes at most so many runs: enough to know what the API server takes.
const BARE_RUNS: usize = 1_020;
/// When no Job has come for so long, none will.
const STUCK: Duration = Duration::from_mins(2);
/// How often the log is read on.
const READ: Duration = Duration::from_millis(500);
/// Without a write for so long, all has settled.
const QUIET: Duration = Duration::from_secs(10);
/// How long settling may take.
const PATIENCE: Duration = Duration::from_mins(40);
/// Objects a page of a list.
const PAGE: u32 = 500;

/// What came of a burst.
pub struct Burst {
    /// The figures.
    pub figures: Vec<Figure>,
    /// Writes of the operator by field manager, verb and kind.
    pub by_manager: BTreeMap<String, usize>,
}

/// Creates so many runs at once and measures.
pub async fn measure(runs: usize) -> Result<Burst> {
    let mut ground = Ground::start(NAMESPACES).await?;
    let mut operator = ground.start_operator("operator").await?;
    let mut reader = ground.control_plane.audit_reader();
    complain(&format!("bench: {runs} runs in {NAMESPACES} namespaces"));
    let mut log = Vec::new();
    let (made, ()) = tokio::try_join!(create(&ground, runs), async {
        until_admitted(&mut reader, &mut log, &mut operator, runs).await
    })?;
    let restarts = usize::from(operator.exited()?.is_some());
    let (agents, jobs) = owners(&ground).await?;
    let admission = admission(&log, jobs_of_runs(&made, &jobs, &agents));
    ground.ledger.quiet(QUIET, PATIENCE).await?;
    log.extend(reader.more()?);
    let look = operator.look()?;
    operator.stop().await?;

    let writes: Vec<Request> = log.into_iter().filter(is_by_operator).collect();
    let (namespace, name) = place(&ground.namespaces, runs / 2);
    let sample = Sample::read(&ground.client, namespace, &name).await?;
    let script = Script::of(&sample, &of_run(&writes, namespace, &name))?;
    let bare_runs = runs.min(BARE_RUNS);
    complain(&format!("bench: {bare_runs} runs by a client without an operator"));
    let bare = script.play(&ground.client, &ground.namespaces, bare_runs).await?;
    ground.end().await?;

    let mut figures = told(runs, &admission);
    figures.extend([
        Figure::at_most("burst: restarts of the operator", "", float(restarts), 0.0),
        Figure::plain("burst: peak resident", "MiB", look.peak),
        Figure::plain("burst: open descriptors", "files", look.descriptors),
        Figure::plain("burst: threads", "", look.threads),
        Figure::plain(
            "burst: writes a run until it had settled",
            "writes",
            float(writes.len()) / float(runs),
        ),
        Figure::plain("burst: writes a run until it was admitted", "writes", float(script.len())),
        Figure::plain("burst: runs a second of a bare client", "1/s", bare),
        Figure::plain("burst: beside a bare client", "ratio", admission.rate() / bare)
            .not_below(0.5),
    ]);
    Ok(Burst { figures, by_manager: by_manager(&writes) })
}

fn told(runs: usize, admission: &Admission) -> Vec<Figure> {
    let (best, worst) = admission.spread();
    vec![
        Figure::plain(format!("burst: {runs} runs, admitted a second"), "1/s", admission.rate())
            .not_below(25.0),
        Figure::plain("burst: admitted", "runs", float(admission.admitted)).not_below(float(runs)),
        Figure::at_most("burst: lost", "runs", float(admission.lost), 0.0),
        Figure::at_most("burst: doubled", "runs", float(admission.doubled), 0.0),
        Figure::plain("burst: longest wait, best namespace", "s", best),
        Figure::plain("burst: longest wait, worst namespace", "s", worst),
        // Runs come round and round over the namespaces: in turn, all wait about as long.
        Figure::at_most("burst: worst beside best namespace", "ratio", worst / best, 2.0),
    ]
}

/// Where a run is, and what it is called.
fn place(namespaces: &[String], number: usize) -> (&str, String) {
    let namespace = namespaces.get(number % namespaces.len().max(1)).map_or("", String::as_str);
    (namespace, format!("run-{number}"))
}

/// Creates the runs, in turn over the namespaces; gives their UIDs.
async fn create(ground: &Ground, runs: usize) -> Result<Vec<String>> {
    let made = stream::iter(0..runs).map(|number| async move {
        let (namespace, name) = place(&ground.namespaces, number);
        let run = ground.create(namespace, &mix::run(&name)).await?;
        run.metadata.uid.context("a run has no UID")
    });
    made.buffer_unordered(AT_ONCE).try_collect().await
}

/// Reads the log until every run has its Job, or none comes any more.
async fn until_admitted(
    reader: &mut testenv::AuditReader,
    log: &mut Vec<Request>,
    operator: &mut Operator,
    runs: usize,
) -> Result<()> {
    let (mut jobs, mut last) = (0, Instant::now());
    while jobs < runs && last.elapsed() < STUCK && operator.exited()?.is_none() {
        tokio::time::sleep(READ).await;
        let more = reader.more()?;
        let came = more.iter().filter(|it| it.resource == "jobs" && it.status == 201).count();
        if came > 0 {
            (jobs, last) = (jobs + came, Instant::now());
        }
        // The rest of a log this long is not worth its memory.
        let matters = |it: &Request| is_by_operator(it) || it.resource == "codingruns";
        log.extend(more.into_iter().filter(matters));
    }
    Ok(())
}

/// Whose each agent is, by UID, and whose each Job is.
async fn owners(ground: &Ground) -> Result<(Owners, Vec<String>)> {
    let (mut agents, mut jobs) = (Owners::new(), Vec::new());
    for namespace in &ground.namespaces {
        for agent in metadata::<Agent>(&ground.client, namespace).await? {
            agents.extend(agent.uid.clone().zip(owner(&agent)));
        }
        let of = metadata::<Job>(&ground.client, namespace).await?;
        jobs.extend(of.iter().filter_map(owner));
    }
    Ok((agents, jobs))
}

fn owner(object: &ObjectMeta) -> Option<String> {
    let owners = object.owner_references.as_ref()?;
    owners.iter().find(|owner| owner.controller == Some(true)).map(|owner| owner.uid.clone())
}

async fn metadata<K>(client: &Client, namespace: &str) -> Result<Vec<ObjectMeta>>
where
    K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
        + Clone
        + std::fmt::Debug
        + DeserializeOwned,
{
    let api: Api<K> = Api::namespaced(client.clone(), namespace);
    let (mut page, mut all) = (ListParams::default().limit(PAGE), Vec::new());
    loop {
        let list = api.list_metadata(&page).await.context("failed to list")?;
        all.extend(list.items.into_iter().map(|object| object.metadata));
        match list.metadata.continue_ {
            Some(token) if !token.is_empty() => page = page.continue_token(&token),
            Some(_) | None => return Ok(all),
        }
    }
}

/// The writes for one run, in their order.
fn of_run(writes: &[Request], namespace: &str, run: &str) -> Vec<Request> {
    let job = job(run);
    let event = format!("{run}.");
    let is_of_run = |write: &&Request| {
        write.namespace == namespace
            && (write.name == run || write.name == job || write.name.starts_with(&event))
    };
    writes.iter().filter(is_of_run).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lost_doubled_and_slow_runs_break_their_bars() {
        let waits = |best, worst| [("a".to_owned(), best), ("b".to_owned(), worst)].into();
        let good = Admission {
            admitted: 100,
            lost: 0,
            doubled: 0,
            seconds: 4.0,
            longest_waits: waits(2.0, 4.0),
        };
        let broken = |admission: Admission| -> Vec<String> {
            let figures = told(100, &admission);
            figures.into_iter().filter(|it| !it.holds).map(|it| it.name).collect()
        };
        assert!(broken(good.clone()).is_empty());
        assert_eq!(broken(Admission { lost: 1, ..good.clone() }), ["burst: lost"]);
        assert_eq!(broken(Admission { doubled: 1, ..good.clone() }), ["burst: doubled"]);
        assert_eq!(broken(Admission { admitted: 99, ..good.clone() }).len(), 2);
        assert_eq!(
            broken(Admission { longest_waits: waits(1.0, 3.0), ..good }),
            ["burst: worst beside best namespace"]
        );
    }

    #[test]
    fn runs_go_round_over_the_namespaces() {
        let namespaces = ["a", "b"].map(str::to_owned);
        let places: Vec<_> = (0..3).map(|number| place(&namespaces, number)).collect();
        let expected = [("a", "run-0"), ("b", "run-1"), ("a", "run-2")];
        assert_eq!(places, expected.map(|(namespace, run)| (namespace, run.to_owned())));
    }
}
