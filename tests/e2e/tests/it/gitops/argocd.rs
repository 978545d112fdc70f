//! Agents as Argo CD applies them: on the server, under its field manager, with its tracking
//! annotation, pruned when they leave Git, and judged by the script for our kinds.

use std::collections::BTreeMap;

use foundry_client::{ClientError, DesiredState, EditAgent, Failure};
use foundry_crds::meta;
use k8s_openapi::api::core::v1::Pod;
use kube::api::{DeleteParams, ListParams, Patch, PatchParams, PropagationPolicy};
use kube::{Api, ResourceExt};
use pretty_assertions::assert_eq;
use serde_json::{Value, json};
use testenv::eventually;

use super::kubelet;
use super::manifests::{build, examples, id};
use super::site::{DEADLINE, Site};
use super::{fields, health};

/// As Argo CD calls itself.
const MANAGER: &str = "argocd-controller";
const APPLICATION: &str = "foundry-agents";
/// What Argo CD knows the parts of an Application by, one of the two as it is set up.
const TRACKING: [&str; 2] = ["argocd.argoproj.io/tracking-id", "app.kubernetes.io/instance"];

const AGENTS: &str = "foundry.flow.life/v1alpha1";

/// An Application: what Git says, in the namespace of the test.
struct Application {
    objects: Vec<Value>,
}

impl Application {
    async fn of_the_example(site: &Site) -> Self {
        let mut objects = build(&examples().join("gitops/agents")).await;
        for object in &mut objects {
            object["metadata"]["namespace"] = site.namespace.clone().into();
            let (kind, name) = id(object);
            let namespace = &site.namespace;
            let tracked = format!("{APPLICATION}:{}/{kind}:{namespace}/{name}", meta::GROUP);
            object["metadata"]["annotations"][TRACKING[0]] = tracked.into();
            object["metadata"]["labels"][TRACKING[1]] = APPLICATION.into();
        }
        Self { objects }
    }

    /// One sync, with `ServerSideApply=true`: Argo CD forces.
    #[expect(clippy::disallowed_methods, reason = "plays Argo CD, which is not our code")]
    async fn sync(&self, site: &Site) {
        let parameters = PatchParams::apply(MANAGER).force();
        for object in &self.objects {
            let (kind, name) = id(object);
            let api = site.api(AGENTS, &kind).await;
            api.patch(&name, &parameters, &Patch::Apply(object)).await.unwrap();
        }
    }

    /// What left Git is deleted, as Argo CD deletes: in the foreground.
    async fn prune(&mut self, site: &Site, kind: &str, name: &str) {
        self.objects.retain(|object| id(object) != (kind.to_owned(), name.to_owned()));
        let parameters = DeleteParams {
            propagation_policy: Some(PropagationPolicy::Foreground),
            ..DeleteParams::default()
        };
        site.api(AGENTS, kind).await.delete(name, &parameters).await.unwrap();
        site.until_gone(AGENTS, kind, name).await;
    }

    async fn until_healthy(&self, site: &Site) {
        for object in &self.objects {
            let (kind, name) = id(object);
            site.until(&kind, &name, "Healthy", |it| health::of(it).0 == "Healthy").await;
        }
    }

    /// Versions of all objects, once nobody writes any of them for two seconds: the operator
    /// may have more to say of an object that is healthy.
    async fn settled(&self, site: &Site) -> BTreeMap<String, String> {
        let last = std::sync::Mutex::new((BTreeMap::new(), 0));
        eventually("nobody writes", DEADLINE, || async {
            let now = self.versions(site).await;
            let mut last = last.lock().map_err(|error| error.to_string())?;
            let same = if now == last.0 { last.1 + 1 } else { 0 };
            *last = (now.clone(), same);
            if same >= 10 { Ok(now) } else { Err(format!("{now:?}")) }
        })
        .await
    }

    /// Versions of all objects: another one is a write.
    async fn versions(&self, site: &Site) -> BTreeMap<String, String> {
        let mut versions = BTreeMap::new();
        for object in &self.objects {
            let (kind, name) = id(object);
            let now = site.get(&kind, &name).await;
            let version = now["metadata"]["resourceVersion"].as_str().unwrap().to_owned();
            versions.insert(format!("{kind} {name}"), version);
        }
        versions
    }
}

async fn installation() -> (Site, Application) {
    let control_plane = testenv::control_plane().await;
    let namespace = testenv::namespace(control_plane, "argocd").await.name;
    let site = Site::start(control_plane, &namespace).await;
    let application = Application::of_the_example(&site).await;
    (site, application)
}

/// The first sync ends Healthy, and the ones after it write nothing.
#[tokio::test(flavor = "multi_thread")]
async fn argo_cd_sees_every_example_become_healthy_and_a_sync_again_changes_nothing() {
    let (site, application) = installation().await;
    application.sync(&site).await;
    // The key that is not in Git: until it is there, the Model waits and is not broken.
    let waits = |model: &Value| health::of(model).1.starts_with("SecretNotFound");
    let model = site.until("Model", "gpt-5-mini", "it waits for its key", waits).await;
    assert_eq!(health::of(&model).0, "Progressing");

    site.lay_secrets(&application.objects).await;
    application.until_healthy(&site).await;
    let before = application.settled(&site).await;
    for _ in 0..3 {
        application.sync(&site).await;
    }
    assert_eq!(application.settled(&site).await, before);
    site.end().await;
}

/// Whatever people do by runtime verbs, no writer of ours ever owns a field
/// that Git owns, and the next sync takes nothing of it back.
#[tokio::test(flavor = "multi_thread")]
async fn after_a_day_of_verbs_no_writer_of_ours_owns_a_field_that_git_owns() {
    let (site, application) = installation().await;
    site.lay_secrets(&application.objects).await;
    application.sync(&site).await;
    application.until_healthy(&site).await;

    site.person.stop_agent("scout").await.unwrap();
    let suspended = |agent: &Value| health::of(agent).0 == "Suspended";
    site.until("Agent", "scout", "Suspended", suspended).await;
    application.sync(&site).await;
    let stopped = site.until("Agent", "scout", "Suspended still", suspended).await;
    assert_eq!(stopped["spec"]["desiredState"], "completed");

    site.person.start_agent("scout").await.unwrap();
    application.until_healthy(&site).await;
    site.person.restart_agent("scout").await.unwrap();
    site.until("Agent", "scout", "at start 3", |agent| agent["status"]["startNumber"] == 3).await;
    site.person.stop_agent("fix-greeting").await.unwrap();
    let is_stopped = |run: &Value| run["status"]["phase"] == "Unfinished";
    site.until("CodingRun", "fix-greeting", "it is stopped", is_stopped).await;
    let edit = EditAgent { name: Some("Lookout".to_owned()), ..EditAgent::default() };
    let refused = site.person.edit_agent("scout", &edit).await.unwrap_err();
    assert_owned_by_git(&refused, "displayName");
    application.sync(&site).await;

    for object in &application.objects {
        let (kind, name) = id(object);
        let now = site.get(&kind, &name).await;
        assert_eq!(fields::shared_with_us(&now, MANAGER), [""; 0], "{kind} {name}");
        assert!(fields::holds(object, &now), "{kind} {name} is not as Git says: {now:#}");
    }
    site.person.archive_agent("scout").await.unwrap();
    site.until("Agent", "scout", "archived", |it| it["status"]["state"] == "Archived").await;
    let now = site.get("Agent", "scout").await;
    let verbs = &fields::owned(&now)[meta::manager::API_VERBS];
    assert!(verbs.contains(".spec.lifecycle") && verbs.contains(".spec.starts"), "{verbs:?}");
    assert_eq!(fields::shared_with_us(&now, MANAGER), [""; 0]);
    site.end().await;
}

fn assert_owned_by_git(refused: &ClientError, field: &str) {
    let Failure::Status { status, problem, reason } = &refused.failure else {
        panic!("{refused:?}")
    };
    assert_eq!((*status, reason.as_deref()), (409, Some("FieldOwnedElsewhere")));
    assert!(problem.contains(field) && problem.contains(MANAGER), "{problem}");
}

/// Where Git gives `desiredState`, a stop answers who owns it and changes nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_verb_whose_field_git_owns_answers_409_with_the_manager_of_argo_cd() {
    let (site, mut application) = installation().await;
    for object in &mut application.objects {
        if object["kind"] == "Agent" {
            object["spec"]["desiredState"] = "running".into();
        }
    }
    site.lay_secrets(&application.objects).await;
    application.sync(&site).await;
    application.until_healthy(&site).await;
    let refused = site.person.stop_agent("scout").await.unwrap_err();
    assert_owned_by_git(&refused, "desiredState");
    let view = site.person.get_agent("scout").await.unwrap();
    assert_eq!(view.desired_state, DesiredState::Running);
    site.end().await;
}

/// Argo CD prunes whatever carries its mark and is not in Git.
#[tokio::test(flavor = "multi_thread")]
async fn nothing_that_the_operator_makes_carries_the_mark_of_argo_cd_and_a_pruned_agent_is_gone() {
    let (site, mut application) = installation().await;
    site.lay_secrets(&application.objects).await;
    application.sync(&site).await;
    application.until_healthy(&site).await;

    let mut kinds = Vec::new();
    for (version, kind) in CHILDREN {
        let found = site.api(version, kind).await.list(&ListParams::default()).await.unwrap();
        for child in found.items.iter().filter(|child| is_made(child)) {
            kinds.push(kind);
            let text = json!(child).to_string();
            for mark in TRACKING {
                assert!(!text.contains(mark), "{kind} {} carries {mark}: {text}", child.name_any());
            }
        }
    }
    kinds.dedup();
    let expected = CHILDREN.map(|(_, kind)| kind);
    assert_eq!(kinds, expected, "each kind of child was looked at");

    application.prune(&site, "Agent", "scout").await;
    site.until_gone("apps/v1", "Deployment", "foundry-agent-scout").await;
    application.prune(&site, "CodingRun", "fix-greeting").await;
    site.until_gone(AGENTS, "Agent", "fix-greeting").await;
    site.until_gone("batch/v1", "Job", "foundry-agent-fix-greeting-1").await;
    application.sync(&site).await;
    application.until_healthy(&site).await;
    site.end().await;
}

/// Kinds of what the operator makes of the example's objects.
const CHILDREN: [(&str, &str); 6] = [
    (AGENTS, "Agent"),
    ("apps/v1", "Deployment"),
    ("apps/v1", "ReplicaSet"),
    ("batch/v1", "Job"),
    ("networking.k8s.io/v1", "NetworkPolicy"),
    ("v1", "Pod"),
];

/// What has an owner is made by a controller.
fn is_made(object: &kube::api::DynamicObject) -> bool {
    !object.owner_references().is_empty()
}

/// The same script over objects that went wrong.
#[tokio::test(flavor = "multi_thread")]
async fn argo_cd_tells_what_waits_from_what_is_broken() {
    let (site, mut application) = installation().await;
    for object in &mut application.objects {
        match object["kind"].as_str() {
            Some("Agent") => object["spec"]["harness"] = "not-there".into(),
            Some("CodingRun") => {
                object["spec"]["agent"] = "scout".into();
                object["spec"]["owner"] = "ben".into();
            }
            _ => {}
        }
    }
    site.lay_secrets(&application.objects).await;
    application.sync(&site).await;
    let waits = |agent: &Value| health::of(agent).1.starts_with("HarnessNotFound");
    let agent = site.until("Agent", "scout", "it waits for its Harness", waits).await;
    assert_eq!(health::of(&agent).0, "Progressing");
    let acts_for_another = |run: &Value| health::of(run).1.starts_with("ParentOwner");
    let run = site.until("CodingRun", "fix-greeting", "it is refused", acts_for_another).await;
    assert_eq!(health::of(&run).0, "Degraded");
    site.end().await;
}

/// A run whose process is lost is Degraded, and says so.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_whose_process_crashed_is_degraded_to_argo_cd() {
    let (site, application) = installation().await;
    site.lay_secrets(&application.objects).await;
    application.sync(&site).await;
    application.until_healthy(&site).await;
    let pods: Api<Pod> = Api::namespaced(site.cluster.clone(), &site.namespace);
    let mine = format!("{}=fix-greeting", meta::label::AGENT);
    let pod = pods.list(&ListParams::default().labels(&mine)).await.unwrap().items.remove(0);
    kubelet::crash(&pods, &pod).await;
    let degraded = |run: &Value| health::of(run).0 == "Degraded";
    let run = site.until("CodingRun", "fix-greeting", "Degraded", degraded).await;
    assert!(health::of(&run).1.starts_with("HarnessLost: "), "{:?}", health::of(&run));
    site.end().await;
}
