//! Foundry under Flux' own controllers: `cargo xtask test --gitops`.
//!
//! A control plane of the test's own, source-controller and kustomize-controller of
//! `cargo xtask flux`, and a Git server over HTTP with the examples. The layout is the one of
//! `examples/gitops/flux`, but for three things: the repository's address, the types and rights
//! of the chart as they are in `crds/yaml` (helm-controller is not here), and a top folder that
//! names every example.

#[path = "flux/controllers.rs"]
mod controllers;
#[path = "flux/git_server.rs"]
mod git_server;
#[path = "flux/repository.rs"]
mod repository;

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use foundry_crds::meta::{self, label};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{ListParams, ObjectMeta, PostParams};
use kube::{Api, ResourceExt};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use testenv::{Audit, ControlPlane, Durability, Request, eventually};
use tokio::sync::{Mutex, MutexGuard};

use super::fields;
use super::manifests::{build, examples, id, is_ours};
use super::site::{DEADLINE, Site};
use controllers::{Controllers, MANAGER, kubectl};
use git_server::GitServer;
use repository::{NAMESPACE, Repository};

/// Everything that a cluster under Flux has.
struct Place {
    control_plane: ControlPlane,
    flux: Controllers,
    repository: Repository,
    site: Site,
    /// What Git says, as kustomize builds it.
    objects: Vec<Value>,
    folder: PathBuf,
    _git: GitServer,
    _turn: MutexGuard<'static, ()>,
}

impl Place {
    /// Nothing is installed but what Flux reads in Git.
    async fn start() -> Self {
        // One at a time: each takes a gigabyte.
        static TURN: Mutex<()> = Mutex::const_new(());
        let turn = TURN.lock().await;
        let folder = testenv::scratch("flux").unwrap();
        let control_plane = ControlPlane::start_audited(
            &folder.join("control plane"),
            Durability::Throwaway,
            Audit::Writes,
        )
        .await
        .unwrap();
        let repository = Repository::create(&folder).await;
        let git = GitServer::start(&repository.served).await;
        let namespaces: Api<Namespace> = Api::all(control_plane.admin());
        let metadata =
            ObjectMeta { name: Some(controllers::NAMESPACE.to_owned()), ..ObjectMeta::default() };
        let namespace = Namespace { metadata, ..Namespace::default() };
        namespaces.create(&PostParams::default(), &namespace).await.unwrap();
        let flux = Controllers::start(&control_plane, &folder).await;
        flux.apply(&layout(&git.remote("foundry")).await).await;
        flux.until_ready("foundry").await;

        let site = Site::start(&control_plane, NAMESPACE).await;
        let objects = build(repository.checkout()).await;
        site.lay_secrets(&objects).await;
        flux.until_ready("agents").await;
        Self { control_plane, flux, repository, site, objects, folder, _git: git, _turn: turn }
    }

    async fn end(self) {
        self.site.end().await;
        self.control_plane.stop().await.unwrap();
    }

    /// Every write to anything of agents, and to anything of ours, so far.
    fn writes(&self) -> Vec<Request> {
        let mut writes = self.control_plane.writes();
        writes.retain(|write| {
            let is_ours = write.group == meta::GROUP;
            (is_ours || write.namespace == NAMESPACE) && write.resource != "events"
        });
        writes
    }

    /// Waits until nobody writes any more, and gives how many writes there were.
    async fn settled(&self) -> usize {
        let last = std::sync::Mutex::new((0, 0));
        eventually("nobody writes", DEADLINE, || async {
            let now = self.writes().len();
            let mut last = last.lock().map_err(|error| error.to_string())?;
            *last = (now, if now == last.0 { last.1 + 1 } else { 0 });
            if last.1 >= 20 { Ok(now) } else { Err(format!("{now} writes")) }
        })
        .await
    }

    /// What Flux would change now; nothing when it is as Git says.
    async fn difference(&self) -> String {
        let marked: Vec<Value> = self.objects.iter().map(marked).collect();
        let list = json!({"apiVersion": "v1", "kind": "List", "items": marked});
        let file = self.folder.join("all.json");
        std::fs::write(&file, list.to_string()).unwrap();
        let manager = format!("--field-manager={MANAGER}");
        // Where there is a difference kubectl fails, and prints it.
        kubectl(&self.control_plane, &["diff", "--server-side", &manager, "--filename"], &file)
            .await
    }

    /// Name of the one pod of an agent.
    async fn pod_of(&self, agent: &str) -> String {
        let mine = ListParams::default().labels(&format!("{}={agent}", label::AGENT));
        let pods = self.site.api("v1", "Pod").await.list(&mine).await.unwrap().items;
        let [pod] = &pods[..] else { panic!("{pods:#?}") };
        pod.name_any()
    }

    async fn objects_now(&self) -> Vec<Value> {
        let mut now = Vec::new();
        for object in self.objects.iter().filter(|object| is_ours(object)) {
            let (kind, name) = id(object);
            now.push(self.site.get(&kind, &name).await);
        }
        now
    }
}

/// `examples/gitops/flux` with the test's repository. Flux takes its rhythm from the test.
async fn layout(remote: &str) -> Vec<Value> {
    let mut objects = build(&examples().join("gitops/flux")).await;
    for object in &mut objects {
        let spec = &mut object["spec"];
        spec["interval"] = "1h".into();
        match id(object).1.as_str() {
            _ if object["kind"] == "GitRepository" => object["spec"]["url"] = remote.into(),
            "foundry" => object["spec"]["path"] = "./crds/yaml".into(),
            _ => {
                object["spec"]["path"] = "./".into();
                object["spec"]["retryInterval"] = "5s".into();
            }
        }
    }
    objects
}

/// An object with the labels by which Flux knows what it applied.
fn marked(object: &Value) -> Value {
    let mut object = object.clone();
    for (key, value) in [("name", "agents"), ("namespace", controllers::NAMESPACE)] {
        object["metadata"]["labels"][format!("kustomize.toolkit.fluxcd.io/{key}")] = value.into();
    }
    object
}

/// What Flux holds itself to have applied, as `namespace_name_group_Kind`.
fn inventory(step: &Value) -> BTreeSet<String> {
    let entries = step["status"]["inventory"]["entries"].as_array();
    entries.into_iter().flatten().map(|it| it["id"].as_str().unwrap().to_owned()).collect()
}

fn condition<'a>(object: &'a Value, kind: &str) -> &'a Value {
    let conditions = object["status"]["conditions"].as_array();
    conditions.into_iter().flatten().find(|it| it["type"] == kind).unwrap_or(&Value::Null)
}

/// Every example becomes Ready to Flux; then ten resyncs write
/// nothing, and what the cluster holds differs from Git in nothing.
#[tokio::test(flavor = "multi_thread")]
async fn every_example_becomes_ready_and_ten_resyncs_write_nothing() {
    let place = Place::start().await;
    let agents = place.flux.until_ready("agents").await;
    let held = inventory(&agents);
    for object in &place.objects {
        let (kind, name) = id(object);
        let group = object["apiVersion"].as_str().unwrap().split_once('/').map_or("", |it| it.0);
        assert!(held.contains(&format!("{NAMESPACE}_{name}_{group}_{kind}")), "{name}: {held:?}");
    }
    for object in place.objects_now().await {
        assert_eq!(condition(&object, "Ready")["status"], "True", "{object:#}");
        assert_eq!(object["status"]["observedGeneration"], object["metadata"]["generation"]);
    }

    let before = place.settled().await;
    for time in 1..=10 {
        place.flux.resync(&format!("resync {time}"), &["foundry", "agents"]).await;
    }
    assert_eq!(place.writes()[before..], [], "nothing is written at rest");
    assert_eq!(place.difference().await, "");
    place.end().await;
}

/// What people do by runtime verbs stays over a resync, in fields that Git
/// does not give; and no writer of ours owns a field that Git gives.
#[tokio::test(flavor = "multi_thread")]
async fn verbs_survive_a_resync_and_own_no_field_of_git() {
    let place = Place::start().await;
    let site = &place.site;
    let owner = |object: &Value, field: &str| -> Vec<String> {
        let owned = fields::owned(object);
        owned.into_iter().filter(|(_, of)| of.contains(field)).map(|(name, _)| name).collect()
    };
    site.person.restart_agent("scout").await.unwrap();
    site.until("Agent", "scout", "at start 2", |it| it["status"]["startNumber"] == 2).await;
    site.person.stop_agent("scout").await.unwrap();
    site.until("Agent", "scout", "it is stopped", |it| it["status"]["state"] == "Stopped").await;
    site.person.stop_agent("fix-greeting").await.unwrap();
    site.until("CodingRun", "fix-greeting", "it is stopped", |run| {
        condition(run, "Complete")["reason"] == "Stopped"
    })
    .await;

    let before = place.settled().await;
    place.flux.resync("after the verbs", &["agents"]).await;
    assert_eq!(place.writes()[before..], []);
    let scout = site.get("Agent", "scout").await;
    assert_eq!(scout["spec"]["desiredState"], "completed");
    assert_eq!(owner(&scout, ".spec.desiredState"), ["foundry-api/verbs"]);
    // A stopped agent is as the spec wants it, and Flux waits for nothing.
    assert_eq!(condition(&scout, "Ready")["status"], "True");

    site.person.start_agent("scout").await.unwrap();
    site.until("Agent", "scout", "it runs", |it| it["status"]["state"] == "Running").await;
    place.flux.resync("after the start", &["agents"]).await;
    for object in place.objects_now().await {
        assert_eq!(fields::shared_with_us(&object, MANAGER), [""; 0], "{:?}", id(&object));
    }
    assert_eq!(place.difference().await, "");
    place.end().await;
}

/// LIFE-16: an edit in Git is a new start of the same process; what leaves Git is gone
/// with all that was made of it.
#[tokio::test(flavor = "multi_thread")]
async fn an_edit_in_git_is_a_start_and_what_leaves_git_is_gone() {
    let place = Place::start().await;
    let (site, repository) = (&place.site, &place.repository);
    let pod = place.pod_of("scout").await;
    let told = "Watch over this namespace.";
    repository.edit("examples/quickstart/agent.yaml", told, "Watch the harbour.");
    place.flux.resync("an edit", &["agents"]).await;
    site.until("Agent", "scout", "at start 2", |it| it["status"]["startNumber"] == 2).await;
    assert_eq!(place.pod_of("scout").await, pod, "the same process");

    let file = Path::new("examples/quickstart/kustomization.yaml");
    repository.edit(file.to_str().unwrap(), "  - agent.yaml\n", "");
    repository.edit("examples/coding/kustomization.yaml", "  - codingrun.yaml\n", "");
    place.flux.resync("less of it", &["agents"]).await;
    for (version, kind, name) in [
        ("foundry.flow.life/v1alpha1", "Agent", "scout"),
        ("apps/v1", "Deployment", "foundry-agent-scout"),
        ("foundry.flow.life/v1alpha1", "CodingRun", "fix-greeting"),
        ("foundry.flow.life/v1alpha1", "Agent", "fix-greeting"),
        ("batch/v1", "Job", "foundry-agent-fix-greeting-1"),
    ] {
        site.until_gone(version, kind, name).await;
    }
    site.get("Harness", "agent-v1").await;
    place.end().await;
}
