//! What the operator's bench runs on: a control plane of its own with played nodes,
//! namespaces, and operators as processes.

use std::path::PathBuf;
use std::process::{Command, ExitStatus};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use foundry_crds::{Harness, HarnessSpec, meta};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{ObjectMeta, PostParams};
use kube::{Api, Client};
use serde::Serialize;
use serde::de::DeserializeOwned;
use testenv::{ControlPlane, Durability, Nodes, Process, free_port, within};

use super::exposition::Page;
use super::ledger::Ledger;
use super::mix;
use super::process::{self, Look};
use crate::bench::release_folder;

/// Nodes that are played: a scheduler looks at all of them for each pod.
const NODES: usize = 3;
/// How long an operator may take to be ready.
const READY: Duration = Duration::from_mins(5);
/// How long one may take to answer.
const ANSWER: Duration = Duration::from_secs(10);
/// How long one may take to end.
const GRACE: Duration = Duration::from_secs(30);

/// A control plane with nodes and namespaces.
pub struct Ground {
    /// The control plane.
    pub control_plane: ControlPlane,
    /// Where pods come up.
    pub nodes: Nodes,
    /// Namespaces that the operator watches.
    pub namespaces: Vec<String>,
    /// A client with every right.
    pub client: Client,
    /// What the operator wrote.
    pub ledger: Ledger,
    kubeconfig: PathBuf,
    folder: tempfile::TempDir,
}

impl Ground {
    /// Starts everything but operators, and lays what agents and runs need into so many
    /// namespaces.
    pub async fn start(namespaces: usize) -> Result<Self> {
        let folder = tempfile::tempdir().context("failed to make a folder")?;
        let place = folder.path().join("control plane");
        let control_plane = ControlPlane::start(&place, Durability::Throwaway).await?;
        control_plane.install().await?;
        let nodes = control_plane.start_nodes(NODES).await?;
        let mut names = Vec::new();
        for _ in 0..namespaces {
            names.push(testenv::namespace(&control_plane, "bench").await.name);
        }
        let ground = Self {
            ledger: Ledger::new(control_plane.audit_reader()),
            kubeconfig: control_plane
                .kubeconfig_for_service_account("default", "foundry-operator")
                .await,
            client: control_plane.admin(),
            control_plane,
            nodes,
            namespaces: names,
            folder,
        };
        for namespace in &ground.namespaces {
            ground.lay(namespace).await?;
        }
        Ok(ground)
    }

    async fn lay(&self, namespace: &str) -> Result<()> {
        self.create(namespace, &Harness::new(mix::HARNESS, HarnessSpec::default())).await?;
        self.create(namespace, &mix::coding_harness()).await?;
        for (name, key) in [(meta::SSH_SECRET, "known_hosts"), (mix::MODEL_SECRET, "apiKey")] {
            let data = [(key.to_owned(), ByteString(b"not a secret".to_vec()))].into();
            let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
            let secret = Secret { metadata, data: Some(data), ..Secret::default() };
            self.create(namespace, &secret).await?;
        }
        Ok(())
    }

    /// Creates an object as a person would.
    pub async fn create<K>(&self, namespace: &str, object: &K) -> Result<K>
    where
        K: kube::Resource<DynamicType = (), Scope = k8s_openapi::NamespaceResourceScope>
            + Clone
            + std::fmt::Debug
            + Serialize
            + DeserializeOwned,
    {
        let api: Api<K> = Api::namespaced(self.client.clone(), namespace);
        let name = object.meta().name.clone().unwrap_or_default();
        let created = api.create(&PostParams::default(), object).await;
        created.with_context(|| format!("failed to create {namespace}/{name}"))
    }

    /// Starts an operator; it may have to wait for its turn to lead.
    pub fn spawn_operator(&self, name: &str) -> Result<Operator> {
        let port = free_port()?;
        let mut command = Command::new(release_folder()?.join("foundry-operator"));
        command
            .env("FOUNDRY_PDEATHSIG", "1")
            .env("KUBECONFIG", &self.kubeconfig)
            .env("FOUNDRY_RUNTIME", "cluster")
            .env("FOUNDRY_WATCH_NAMESPACES", self.namespaces.join(","))
            .env("FOUNDRY_OPERATOR_LISTEN", format!("127.0.0.1:{port}"));
        let log = self.folder.path().join(format!("{name}.log"));
        let process = Process::spawn(name, &command, &log)?;
        // One client for all questions: to make one costs more than to ask.
        let http = reqwest::Client::builder().no_proxy().timeout(ANSWER).build();
        let http = http.context("failed to build an HTTP client")?;
        Ok(Operator { process, http, url: format!("http://127.0.0.1:{port}") })
    }

    /// Starts an operator and waits until it leads, its caches whole.
    pub async fn start_operator(&self, name: &str) -> Result<Operator> {
        let mut operator = self.spawn_operator(name)?;
        operator.wait_until(Stage::Ready).await?;
        Ok(operator)
    }

    /// Ends everything.
    pub async fn end(self) -> Result<()> {
        self.nodes.stop().await?;
        self.control_plane.stop().await
    }
}

/// How far an operator has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// It answers, and another one leads.
    Standby,
    /// It holds the lease.
    Leads,
    /// It leads, and its first lists are complete.
    Ready,
}

/// An operator that runs.
pub struct Operator {
    process: Process,
    http: reqwest::Client,
    url: String,
}

impl Operator {
    /// Waits until it has come so far; gives the instant at which that was seen.
    pub async fn wait_until(&mut self, stage: Stage) -> Result<Instant> {
        let (http, url) = (self.http.clone(), self.url.clone());
        let what = format!("it was seen to be {stage:?}");
        let is_there = || async {
            let leads = page(&http, &url).await?.sum(LEADER, &[]) > 0.0;
            let ready = http.get(format!("{url}/readyz")).send().await?;
            let is_ready = ready.status().is_success();
            let is_there = match stage {
                Stage::Standby => !leads && is_ready,
                Stage::Leads => leads,
                Stage::Ready => leads && is_ready,
            };
            ensure!(is_there, "leads: {leads}, ready: {is_ready}");
            anyhow::Ok(Instant::now())
        };
        self.process.wait_for(&what, READY, is_there).await
    }

    /// What it counts.
    pub async fn page(&self) -> Result<Page> {
        page(&self.http, &self.url).await
    }

    /// Waits until it has looked at so many objects of each kind since it began.
    pub async fn has_seen(&self, wanted: &[(&'static str, usize)]) -> Result<Instant> {
        within("it has looked at every object", READY * 2, || async {
            let page = self.page().await?;
            for (kind, wanted) in wanted {
                let seen = page.sum(RECONCILES, &[("kind", kind)]);
                ensure!(seen >= process::float(*wanted), "{seen} of {wanted} of {kind}");
            }
            anyhow::Ok(Instant::now())
        })
        .await
    }

    /// What it costs.
    pub fn look(&self) -> Result<Look> {
        process::look(self.process.pid())
    }

    /// How it ended, if it has.
    pub fn exited(&mut self) -> Result<Option<ExitStatus>> {
        self.process.exited()
    }

    /// Stops it as Kubernetes would, and waits for its end.
    pub async fn stop(self) -> Result<()> {
        let status = self.process.stop(GRACE).await?;
        ensure!(status.success(), "the operator ended badly when told to stop: {status}");
        Ok(())
    }

    /// Ends it at once.
    pub fn kill(mut self) -> Result<()> {
        self.process.kill().map(drop)
    }
}

const LEADER: &str = "foundry_operator_leader";
const RECONCILES: &str = "foundry_operator_reconciles_total";

async fn page(http: &reqwest::Client, url: &str) -> Result<Page> {
    let url = format!("{url}/metrics");
    let text = http.get(&url).send().await.with_context(|| format!("failed to get {url}"))?;
    Ok(Page::parse(&text.text().await?))
}
