//! Flux' source and kustomize controllers as processes, and what a person does with them.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams};
use serde_json::{Value, json};
use testenv::{ControlPlane, Flux, Process, eventually, free_port};

use crate::gitops::manifests::id;
use crate::gitops::site::resource;

/// Where Flux' own objects are.
pub const NAMESPACE: &str = "flux-system";
/// How Flux calls itself when it applies.
pub const MANAGER: &str = "kustomize-controller";
/// How long Flux may take for anything.
pub const DEADLINE: Duration = Duration::from_mins(4);

const SOURCE: (&str, &str) = ("source.toolkit.fluxcd.io/v1", "GitRepository");
const STEP: (&str, &str) = ("kustomize.toolkit.fluxcd.io/v1", "Kustomization");

/// Both controllers, with every right, as `flux install` gives them.
pub struct Controllers {
    client: kube::Client,
    _source: Process,
    _kustomize: Process,
}

impl Controllers {
    /// Lays their types into the cluster and starts both.
    pub async fn start(control_plane: &ControlPlane, folder: &Path) -> Self {
        let Flux { source_controller, kustomize_controller, crds } = Flux::get();
        let client = control_plane.admin();
        for file in &crds {
            kubectl(control_plane, &["apply", "--server-side", "--filename"], file).await;
        }
        let established = ["wait", "--for=condition=Established", "--timeout=60s", "--filename"];
        for file in &crds {
            kubectl(control_plane, &established, file).await;
        }
        let storage = folder.join("artifacts");
        std::fs::create_dir_all(&storage).unwrap();
        let address = format!("127.0.0.1:{}", free_port().unwrap());
        let storage = format!("--storage-path={}", storage.display());
        let source = spawn(
            control_plane,
            folder,
            &source_controller,
            &[
                &storage,
                &format!("--storage-addr={address}"),
                &format!("--storage-adv-addr={address}"),
            ],
        )
        .await;
        let kustomize =
            spawn(control_plane, folder, &kustomize_controller, &["--requeue-dependency=1s"]).await;
        Self { client, _source: source, _kustomize: kustomize }
    }

    /// Applies objects of Flux' own kinds, as a person does.
    #[expect(clippy::disallowed_methods, reason = "plays kubectl, which is not our code")]
    pub async fn apply(&self, objects: &[Value]) {
        let parameters = PatchParams::apply("kubectl").force();
        for object in objects {
            let kind = object["kind"].as_str().unwrap();
            let api = self.api((object["apiVersion"].as_str().unwrap(), kind)).await;
            api.patch(&id(object).1, &parameters, &Patch::Apply(object)).await.unwrap();
        }
    }

    /// Waits until Flux says that a Kustomization is done: applied, and all of it Current.
    pub async fn until_ready(&self, step: &str) -> Value {
        self.until(STEP, step, "Ready", |object| {
            let conditions = object["status"]["conditions"].as_array();
            let ready = conditions.into_iter().flatten().any(|it| {
                it["type"] == "Ready"
                    && it["status"] == "True"
                    && it["observedGeneration"] == object["metadata"]["generation"]
            });
            ready && object["status"]["observedGeneration"] == object["metadata"]["generation"]
        })
        .await
    }

    /// Asks for the repository and these Kustomizations anew, as `flux reconcile` does, and
    /// waits until each was.
    pub async fn resync(&self, time: &str, steps: &[&str]) {
        self.ask(SOURCE, "foundry", time).await;
        for step in steps {
            self.ask(STEP, step, time).await;
            self.until_ready(step).await;
        }
    }

    #[expect(clippy::disallowed_methods, reason = "plays the flux command, which is not our code")]
    async fn ask(&self, kind: (&str, &str), name: &str, time: &str) {
        let annotations = json!({"reconcile.fluxcd.io/requestedAt": time});
        let patch = Patch::Merge(json!({"metadata": {"annotations": annotations}}));
        let parameters =
            PatchParams { field_manager: Some("flux".to_owned()), ..PatchParams::default() };
        self.api(kind).await.patch(name, &parameters, &patch).await.unwrap();
        self.until(kind, name, &format!("reconciled at {time}"), |object| {
            object["status"]["lastHandledReconcileAt"] == time
        })
        .await;
    }

    async fn until(
        &self,
        kind: (&str, &str),
        name: &str,
        what: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Value {
        let api = self.api(kind).await;
        eventually(&format!("{} {name} is {what}", kind.1), DEADLINE, || async {
            let object = json!(api.get(name).await.map_err(|error| error.to_string())?);
            if wanted(&object) {
                Ok(object)
            } else {
                Err(object["status"]["conditions"].to_string())
            }
        })
        .await
    }

    async fn api(&self, (version, kind): (&str, &str)) -> Api<DynamicObject> {
        let resource = resource(&self.client, version, kind).await;
        Api::namespaced_with(self.client.clone(), NAMESPACE, &resource)
    }
}

/// Starts one of them and waits until it says that it is ready.
async fn spawn(
    control_plane: &ControlPlane,
    folder: &Path,
    executable: &Path,
    more: &[&str],
) -> Process {
    let health = format!("127.0.0.1:{}", free_port().unwrap());
    let name = executable.file_name().unwrap().to_str().unwrap();
    let mut command = Command::new(executable);
    command
        .args(["--metrics-addr=127.0.0.1:0", "--enable-leader-election=false"])
        .arg(format!("--health-addr={health}"))
        .args(more)
        .env("KUBECONFIG", control_plane.kubeconfig())
        .env("RUNTIME_NAMESPACE", NAMESPACE);
    let log = folder.join(format!("{name}.log"));
    let mut process = Process::spawn(name, &command, &log).unwrap();
    let http = reqwest::Client::builder().no_proxy().build().unwrap();
    let ready = format!("http://{health}/readyz");
    let probe = || async { http.get(&ready).send().await?.error_for_status().map(drop) };
    process.wait_for("it was ready", DEADLINE, probe).await.unwrap();
    process
}

/// What kubectl prints, asked about a file.
pub async fn kubectl(control_plane: &ControlPlane, arguments: &[&str], file: &Path) -> String {
    let mut kubectl = tokio::process::Command::new(control_plane.kubectl());
    kubectl.arg("--kubeconfig").arg(control_plane.kubeconfig()).args(arguments).arg(file);
    let output = kubectl.output().await.unwrap();
    let words = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let (printed, complaint) = (words(&output.stdout), words(&output.stderr));
    assert!(output.status.success(), "kubectl {arguments:?}: {complaint}\n{printed}");
    printed
}
