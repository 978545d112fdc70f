//! A client without an operator that makes the same writes: what the API server could take.
//!
//! It plays what the operator wrote for one run of the burst, for other runs, with the same
//! managers and nearly the same bodies.

use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use foundry_crds::{Agent, CodingRun, meta};
use futures::{StreamExt as _, TryStreamExt as _, stream};
use k8s_openapi::api::batch::v1::Job;
use kube::{Api, Client};
use serde_json::{Value, json};
use testenv::Request;

use super::admission::job;
use crate::bench::operator::mix;
use crate::bench::operator::process::float;
use crate::bench::operator::scale::AT_ONCE;

/// Stands in a body for what differs from run to run.
const NAME: &str = "@name@";
const RUN_UID: &str = "@run-uid@";
const AGENT_UID: &str = "@agent-uid@";
const NAMESPACE: &str = "@namespace@";

/// One write of the script.
#[derive(Clone, Debug, PartialEq)]
struct Step {
    method: &'static str,
    path: String,
    body: String,
}

/// What is written for a run, in this order.
#[derive(Clone, Debug, PartialEq)]
pub struct Script(Vec<Step>);

/// The objects of a run that was admitted.
pub struct Sample {
    /// The run's name.
    pub name: String,
    /// The run.
    pub run: Value,
    /// Its agent.
    pub agent: Value,
    /// Its Job.
    pub job: Value,
}

impl Sample {
    /// Reads what became of a run.
    pub async fn read(client: &Client, namespace: &str, name: &str) -> Result<Self> {
        let runs: Api<CodingRun> = Api::namespaced(client.clone(), namespace);
        let agents: Api<Agent> = Api::namespaced(client.clone(), namespace);
        let jobs: Api<Job> = Api::namespaced(client.clone(), namespace);
        Ok(Self {
            name: name.to_owned(),
            run: serde_json::to_value(runs.get(name).await?)?,
            agent: serde_json::to_value(agents.get(name).await?)?,
            job: serde_json::to_value(jobs.get(&job(name)).await?)?,
        })
    }
}

impl Script {
    /// The operator's writes for this run until it had its Job, as a script for others.
    /// Events are left out: their bodies are in no log.
    pub fn of(sample: &Sample, writes: &[Request]) -> Result<Self> {
        let made = writes.iter().position(|it| it.resource == "jobs" && it.status == 201);
        let made = made.context("the sample has no Job")?;
        let steps = writes.iter().take(made + 1).filter(|write| write.resource != "events");
        Ok(Self(steps.map(|write| step(sample, write)).collect::<Result<_>>()?))
    }

    /// How many writes it has.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Creates so many runs and plays the script for each; gives runs a second.
    pub async fn play(&self, client: &Client, namespaces: &[String], runs: usize) -> Result<f64> {
        ensure!(!namespaces.is_empty(), "no namespace");
        let start = Instant::now();
        let played = stream::iter(0..runs).map(|number| {
            let namespace = &namespaces[number % namespaces.len()];
            self.play_one(client, namespace, format!("bare-{number}"))
        });
        played.buffer_unordered(AT_ONCE).try_for_each(|()| async { Ok(()) }).await?;
        Ok(float(runs) / start.elapsed().as_secs_f64())
    }

    async fn play_one(&self, client: &Client, namespace: &str, name: String) -> Result<()> {
        let runs: Api<CodingRun> = Api::namespaced(client.clone(), namespace);
        let run = runs.create(&kube::api::PostParams::default(), &mix::run(&name)).await?;
        let run_uid = run.metadata.uid.unwrap_or_default();
        let mut agent_uid = String::new();
        for step in &self.0 {
            let words = [
                (NAMESPACE, namespace),
                (NAME, &name),
                (RUN_UID, &run_uid),
                (AGENT_UID, &agent_uid),
            ];
            let answer = request(client, step, &words).await?;
            if step.method == "POST" {
                let made: Value = serde_json::from_str(&answer)?;
                agent_uid = text(&made, "/metadata/uid");
            }
        }
        Ok(())
    }
}

async fn request(client: &Client, step: &Step, words: &[(&str, &str)]) -> Result<String> {
    let fill = |text: &str| {
        words.iter().fold(text.to_owned(), |text, (word, value)| text.replace(word, value))
    };
    let content =
        if step.method == "POST" { "application/json" } else { "application/apply-patch+yaml" };
    let request = http::Request::builder()
        .method(step.method)
        .uri(fill(&step.path))
        .header("Content-Type", content)
        .body(fill(&step.body).into_bytes())?;
    client
        .request_text(request)
        .await
        .with_context(|| format!("failed to {} {}", step.method, step.path))
}

fn step(sample: &Sample, write: &Request) -> Result<Step> {
    const OURS: &str = "/apis/foundry.flow.life/v1alpha1/namespaces/@namespace@";
    let manager =
        |manager: &str| format!("fieldManager={}&force=true", manager.replace('/', "%2F"));
    let status = manager(meta::manager::OPERATOR_STATUS);
    let (method, path, body) = match (write.verb.as_str(), write.resource.as_str()) {
        ("create", "agents") => ("POST", format!("{OURS}/agents"), agent(&sample.agent)),
        ("patch", "agents/status") => (
            "PATCH",
            format!("{OURS}/agents/{NAME}/status?{status}"),
            of_status("Agent", &sample.agent),
        ),
        ("patch", "codingruns/status") => (
            "PATCH",
            format!("{OURS}/codingruns/{NAME}/status?{status}"),
            of_status("CodingRun", &sample.run),
        ),
        ("patch", "jobs") => {
            let children = manager(meta::manager::OPERATOR_CHILDREN);
            let path =
                format!("/apis/batch/v1/namespaces/{NAMESPACE}/jobs/{}?{children}", job(NAME));
            ("PATCH", path, of_job(sample))
        }
        (verb, resource) => anyhow::bail!(
            "the bare client knows no {verb} of {resource}; teach it in burst/bare.rs"
        ),
    };
    Ok(Step { method, path, body: body.to_string() })
}

fn owner(kind: &str, api: &str, uid: &str) -> Value {
    json!([{ "apiVersion": api, "kind": kind, "name": NAME, "uid": uid, "controller": true,
        "blockOwnerDeletion": false }])
}

fn agent(agent: &Value) -> Value {
    json!({ "apiVersion": "foundry.flow.life/v1alpha1", "kind": "Agent",
        "metadata": { "name": NAME, "labels": agent["metadata"]["labels"],
            "ownerReferences": owner("CodingRun", "foundry.flow.life/v1alpha1", RUN_UID) },
        "spec": agent["spec"] })
}

fn of_status(kind: &str, object: &Value) -> Value {
    json!({ "apiVersion": "foundry.flow.life/v1alpha1", "kind": kind,
        "metadata": { "name": NAME }, "status": object["status"] })
}

/// What the controller of Jobs has added to the spec is its own.
fn of_job(sample: &Sample) -> Value {
    let Sample { name, job: live, .. } = sample;
    let mut spec = live["spec"].clone();
    if let Some(spec) = spec.as_object_mut() {
        spec.remove("selector");
    }
    for labels in ["/template/metadata/labels", "/template/metadata/annotations"] {
        if let Some(labels) = spec.pointer_mut(labels).and_then(Value::as_object_mut) {
            labels.retain(|key, _| !key.contains("controller-uid") && !key.contains("job-name"));
        }
    }
    let whole = json!({ "apiVersion": "batch/v1", "kind": "Job",
        "metadata": { "name": job(NAME), "labels": live["metadata"]["labels"],
            "annotations": live["metadata"]["annotations"],
            "ownerReferences": owner("Agent", "foundry.flow.life/v1alpha1", AGENT_UID) },
        "spec": spec });
    renamed(&whole, name)
}

/// The same with another's name wherever the name stands as a whole value.
fn renamed(value: &Value, name: &str) -> Value {
    match value {
        Value::String(text) if text == name => Value::String(NAME.to_owned()),
        Value::Array(all) => all.iter().map(|it| renamed(it, name)).collect(),
        Value::Object(all) => {
            all.iter().map(|(key, it)| (key.clone(), renamed(it, name))).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => value.clone(),
    }
}

fn text(value: &Value, pointer: &str) -> String {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_default().to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bench::operator::ledger::tests::write;

    fn sample() -> Sample {
        let labels = json!({ "agent": "one", "batch.kubernetes.io/controller-uid": "u" });
        Sample {
            name: "one".to_owned(),
            run: json!({ "status": { "phase": "Pending" } }),
            agent: json!({ "metadata": { "labels": {} }, "spec": { "owner": "ann" },
                "status": { "startNumber": 1 } }),
            job: json!({ "metadata": { "labels": { "agent": "one" } }, "spec": {
                "selector": {}, "backoffLimit": 0, "template": { "metadata": { "labels": labels } },
            } }),
        }
    }

    fn writes() -> Vec<Request> {
        let created = Request { verb: "create".to_owned(), ..write("agents", "a", "one", 0) };
        let job = Request { status: 201, ..write("jobs", "a", &job("one"), 3) };
        let event = Request { verb: "create".to_owned(), ..write("events", "a", "one.1", 2) };
        let status = |at| write("agents/status", "a", "one", at);
        vec![created, status(1), event, job, status(4)]
    }

    #[test]
    fn the_script_is_what_was_written_until_the_job_was_there() {
        let script = Script::of(&sample(), &writes()).unwrap();
        let steps: Vec<_> = script.0.iter().map(|it| (it.method, it.path.as_str())).collect();
        assert_eq!(steps.len(), 3, "{steps:?}");
        assert!(
            steps[0].1.ends_with("/agents") && steps[1].1.contains("@name@/status?fieldManager")
        );
        assert!(
            steps[2].1.contains("jobs/foundry-agent-@name@-1?fieldManager=foundry-operator%2F")
        );
    }

    #[test]
    fn a_job_is_made_anew_without_what_its_controller_added() {
        let script = Script::of(&sample(), &writes()).unwrap();
        let body: Value = serde_json::from_str(&script.0[2].body).unwrap();
        let labels = json!({ "agent": NAME });
        assert_eq!(body["spec"]["template"]["metadata"]["labels"], labels);
        assert!(body["spec"].get("selector").is_none());
        assert_eq!(body["metadata"]["ownerReferences"][0]["uid"], AGENT_UID);
    }

    #[test]
    fn a_write_that_the_bare_client_does_not_know_is_an_error() {
        let strange = write("secrets", "a", "one", 0);
        let mut all = vec![strange];
        all.extend(writes());
        let said = Script::of(&sample(), &all).unwrap_err().to_string();
        assert!(said.contains("patch of secrets"), "{said}");
    }
}
