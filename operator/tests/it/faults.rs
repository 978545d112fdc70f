//! What befalls an operator: killed at any step, calls that fail, watches that are late,
//! an API server that goes, a clock that jumps. Nothing is lost, nothing is doubled.

mod calls;
mod deletions;
mod kill_points;
mod obstacles;
mod outages;
mod replicas;
mod time;
mod watches;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

use foundry_crds::agent::Lifetime;
use k8s_openapi::api::batch::v1::Job;
use kube::ResourceExt as _;
use kube::api::ListParams;
use testenv::{ApiProxy, Process};

use super::world::World;

/// The operator as a process of its own, killed when dropped.
pub struct Binary {
    pub process: Process,
    pub listen: String,
}

impl Binary {
    /// Starts one that reaches the API server by this kubeconfig, under the lease of this
    /// name.
    pub fn start(world: &World, kubeconfig: &Path, lease: &str) -> Self {
        let namespace = &world.namespace.name;
        let listen = format!("127.0.0.1:{}", testenv::free_port().unwrap());
        let mut command = Command::new(env!("CARGO_BIN_EXE_foundry-operator"));
        command
            .args(["--runtime", "cluster", "--listen", &listen, "--lease-name", lease])
            .args(["--watch-namespaces", namespace, "--result-grace-seconds", "2"])
            .env("KUBECONFIG", kubeconfig);
        let log = testenv::scratch("operator").unwrap().join("operator.log");
        let process = Process::spawn("foundry-operator", &command, &log).unwrap();
        Self { process, listen }
    }

    /// What `/readyz` says.
    pub async fn readyz(&self) -> anyhow::Result<String> {
        readyz(&self.listen).await
    }

    /// Waits until `/readyz` says this.
    pub async fn says(&mut self, words: &str) {
        let listen = self.listen.clone();
        let what = format!("/readyz says {words}");
        let asked = || async {
            let said = readyz(&listen).await?;
            anyhow::ensure!(said.contains(words), "{said}");
            anyhow::Ok(())
        };
        self.process.wait_for(&what, super::world::DEADLINE, asked).await.unwrap();
    }
}

async fn readyz(listen: &str) -> anyhow::Result<String> {
    let mut config = kube::Config::new(format!("http://{listen}").parse()?);
    // A 503 is an answer here.
    config.default_retry = false;
    let request = axum::http::Request::get("/readyz?verbose").body(Vec::new())?;
    Ok(kube::Client::try_from(config)?.request_text(request).await?)
}

/// How often each object was created through a proxy, but for notes and the lease.
fn creations(proxies: &[&ApiProxy]) -> BTreeMap<String, usize> {
    let mut created = BTreeMap::new();
    for call in proxies.iter().flat_map(|proxy| proxy.calls()) {
        let asked = &call.request;
        let is_creation = asked.is_write() && asked.status == 201;
        // A create names its object in its body alone: of versions of agents there are
        // several, each of a name that the API server would refuse to a second one.
        let uncounted = ["events", "leases", "controllerrevisions"];
        if is_creation && !uncounted.contains(&&*asked.resource) {
            *created.entry(format!("{} {}", asked.resource, asked.name)).or_insert(0) += 1;
        }
    }
    created
}

/// The Jobs there are, by the agent that owns them: more than one is a start doubled.
async fn jobs_by_owner(world: &World) -> BTreeMap<String, Vec<String>> {
    let jobs = world.api::<Job>().list(&ListParams::default()).await.unwrap();
    let mut by_owner = BTreeMap::<String, Vec<String>>::new();
    for job in jobs {
        let owner = job.owner_references()[0].uid.clone();
        by_owner.entry(owner).or_default().push(job.name_any());
    }
    by_owner
}

/// Makes an agent ephemeral, over in so many seconds from now.
fn ephemeral(spec: &mut foundry_crds::AgentSpec, seconds: i64) {
    spec.lifetime = Some(Lifetime::Ephemeral);
    spec.parent = Some("parent".to_owned());
    spec.ttl_at = Some(second(now() + seconds));
}

fn second(second: i64) -> k8s_openapi::apimachinery::pkg::apis::meta::v1::Time {
    let instant = k8s_openapi::jiff::Timestamp::from_second(second).unwrap();
    k8s_openapi::apimachinery::pkg::apis::meta::v1::Time(instant)
}

fn now() -> i64 {
    let since = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    i64::try_from(since.as_secs()).unwrap()
}
