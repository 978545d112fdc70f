//! Helm, and a control plane that nobody has installed anything on.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::time::Duration;

use k8s_openapi::api::core::v1::Namespace;
use kube::api::{DynamicObject, ListParams, Patch, PatchParams};
use kube::core::discovery::verbs;
use kube::discovery::{ApiGroup, Discovery};
use kube::{Api, Client};
use serde_json::{Value, json};
use testenv::{Audit, ControlPlane, Durability};
use tokio::process::Command;
use tokio::sync::{Mutex, MutexGuard};

/// How long Helm may take for anything on a busy machine.
const PATIENCE: Duration = Duration::from_mins(3);

/// What comes and goes by itself, or tells of others.
const RESTLESS: [&str; 5] =
    ["Event", "EndpointSlice", "Endpoints", "ControllerRevision", "IPAddress"];

/// Where the chart is.
pub fn chart() -> PathBuf {
    testenv::workspace_root().join("charts/foundry")
}

/// Helm with settings of its own, and perhaps a cluster.
pub struct Helm {
    folder: PathBuf,
    kubeconfig: Option<PathBuf>,
}

impl Helm {
    /// Helm that reaches no cluster.
    pub fn alone() -> Self {
        Self { folder: testenv::scratch("helm").unwrap(), kubeconfig: None }
    }

    /// What Helm prints, or what it complains of.
    pub async fn run(&self, arguments: &[&str]) -> Result<String, String> {
        let mut helm = Command::new(testenv::helm());
        helm.args(arguments).kill_on_drop(true).env_remove("KUBECONFIG");
        for part in ["CACHE", "CONFIG", "DATA"] {
            helm.env(format!("HELM_{part}_HOME"), self.folder.join(part));
        }
        // Without one, Helm asks whatever cluster the machine's user has.
        let nobody = self.folder.join("no kubeconfig");
        helm.env("KUBECONFIG", self.kubeconfig.as_ref().unwrap_or(&nobody));
        let output = tokio::time::timeout(PATIENCE, helm.output()).await;
        let output = output.map_err(|_| format!("helm {arguments:?} does not end"))?.unwrap();
        let words = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).unwrap();
        if output.status.success() { Ok(words(&output.stdout)) } else { Err(words(&output.stderr)) }
    }
}

/// A control plane of a test's own. One at a time: each takes half a gigabyte.
pub struct Place {
    pub control_plane: ControlPlane,
    pub folder: PathBuf,
    pub helm: Helm,
    pub client: Client,
    _turn: MutexGuard<'static, ()>,
}

impl Place {
    pub async fn start(audit: Audit) -> Self {
        static TURN: Mutex<()> = Mutex::const_new(());
        let turn = TURN.lock().await;
        let folder = testenv::scratch("chart").unwrap();
        let control_plane = ControlPlane::start_audited(
            &folder.join("control plane"),
            Durability::Throwaway,
            audit,
        )
        .await
        .unwrap();
        let helm =
            Helm { folder: folder.join("helm"), kubeconfig: Some(control_plane.kubeconfig()) };
        let client = control_plane.admin();
        Self { control_plane, folder, helm, client, _turn: turn }
    }

    /// `helm install foundry` into namespace `default`, which holds pods to the strictest
    /// standard there is.
    pub async fn install(&self, chart: &Path, more: &[&str]) {
        self.restrict("default").await;
        let chart = chart.to_str().unwrap();
        let install = ["install", "foundry", chart, "--namespace", "default"];
        self.helm.run(&[&install, more].concat()).await.unwrap();
    }

    /// `helm upgrade foundry` with the values it has, and those given.
    pub async fn upgrade(&self, chart: &Path, more: &[&str]) {
        let chart = chart.to_str().unwrap();
        let upgrade =
            ["upgrade", "foundry", chart, "--namespace", "default", "--reset-then-reuse-values"];
        self.helm.run(&[&upgrade, more].concat()).await.unwrap();
    }

    pub async fn uninstall(&self) {
        let uninstall = ["uninstall", "foundry", "--namespace", "default"];
        self.helm.run(&uninstall).await.unwrap();
    }

    /// Every object of every kind that the cluster lists, by kind, namespace and name.
    pub async fn inventory(&self) -> Result<BTreeSet<String>, String> {
        let names = self.try_objects().await?.iter().map(name_of).collect::<BTreeSet<_>>();
        // Those of the cluster's own controllers.
        Ok(names.into_iter().filter(|name| !name.starts_with("Lease kube-system/")).collect())
    }

    /// Every object of every kind that the cluster lists.
    pub async fn objects(&self) -> Vec<Value> {
        self.try_objects().await.unwrap()
    }

    /// The same while types come and go, when not all that is discovered is still there.
    async fn try_objects(&self) -> Result<Vec<Value>, String> {
        let discovery = Discovery::new(self.client.clone()).run().await;
        let discovery = discovery.map_err(|error| error.to_string())?;
        let mut found = Vec::new();
        for (resource, capabilities) in discovery.groups().flat_map(ApiGroup::recommended_resources)
        {
            if !capabilities.supports_operation(verbs::LIST)
                || RESTLESS.contains(&resource.kind.as_str())
            {
                continue;
            }
            let api: Api<DynamicObject> = Api::all_with(self.client.clone(), &resource);
            let list = api.list(&ListParams::default()).await;
            let list = list.map_err(|error| format!("{}: {error}", resource.kind))?;
            found.extend(list.items.into_iter().map(|object| {
                let mut object = json!(object);
                object["kind"] = resource.kind.clone().into();
                object
            }));
        }
        Ok(found)
    }

    #[expect(clippy::disallowed_methods, reason = "plays kubectl, which is not our code")]
    async fn restrict(&self, namespace: &str) {
        let namespaces: Api<Namespace> = Api::all(self.client.clone());
        let labels = json!({"pod-security.kubernetes.io/enforce": "restricted"});
        let patch = Patch::Merge(json!({"metadata": {"labels": labels}}));
        namespaces.patch(namespace, &PatchParams::default(), &patch).await.unwrap();
    }
}

/// Kind, namespace and name.
pub fn name_of(object: &Value) -> String {
    let word = |pointer| object.pointer(pointer).and_then(Value::as_str).unwrap_or_default();
    format!("{} {}/{}", word("/kind"), word("/metadata/namespace"), word("/metadata/name"))
}
