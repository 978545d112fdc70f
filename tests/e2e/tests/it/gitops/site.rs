//! An installation as a cluster has it: operator and API act by their own rights, workloads
//! are Deployments and Jobs, and a kubelet is played.

use std::sync::Arc;
use std::time::Duration;

use foundry_client::{Client, StaticToken};
use foundry_crds::meta;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{DynamicObject, PostParams};
use kube::core::discovery::ApiResource;
use kube::core::{GroupVersionKind, TypeMeta};
use serde_json::{Value, json};
use testenv::stack::{Runtime, Stack, StackOptions};
use testenv::{ControlPlane, eventually};

use super::kubelet::Kubelet;

/// How long the system may take for anything a test waits for.
pub const DEADLINE: Duration = Duration::from_mins(3);

/// The person whose agents these are.
const PERSON: &str = "ann";

/// An installation and the namespace of its agents.
pub struct Site {
    pub stack: Stack,
    pub cluster: kube::Client,
    pub namespace: String,
    pub person: Client,
    _kubelet: Kubelet,
}

impl Site {
    /// Operator and API run; the service accounts that they act as are there already.
    pub async fn start(control_plane: &ControlPlane, namespace: &str) -> Self {
        let kubeconfig = |account| control_plane.kubeconfig_for_service_account("default", account);
        let mut stack = Stack::new(StackOptions {
            folder: testenv::scratch(namespace).unwrap(),
            executables: testenv::bin_folder().unwrap(),
            namespaces: vec![namespace.to_owned()],
            operator_kubeconfig: kubeconfig("foundry-operator").await,
            api_kubeconfig: kubeconfig("foundry-api").await,
            scripts: Vec::new(),
            database: None,
            evaluate_seconds: None,
            runtime: Runtime::Cluster,
        })
        .await
        .unwrap();
        stack.start_issuer().await.unwrap();
        stack.start_api().await.unwrap();
        stack.start_operator().await.unwrap();
        let token = stack.token(PERSON, &["member"]).await.unwrap();
        let person = Client::new(&stack.api_url(), Arc::new(StaticToken::new(token))).unwrap();
        let cluster = control_plane.admin();
        let kubelet = Kubelet::start(&cluster, namespace);
        Self { stack, cluster, namespace: namespace.to_owned(), person, _kubelet: kubelet }
    }

    /// What has no place in Git: the Secrets that these objects name, and the keys of coding.
    pub async fn lay_secrets(&self, objects: &[Value]) {
        let secrets: Api<Secret> = Api::namespaced(self.cluster.clone(), &self.namespace);
        // Of models and of tool servers.
        let named = objects.iter().filter_map(|object| {
            let key =
                object.pointer("/spec/apiKey").or_else(|| object.pointer("/spec/authSecret"))?;
            Some((key["name"].as_str()?, key["key"].as_str()?))
        });
        let of_coding = [(meta::SSH_SECRET, "ssh-privatekey"), (meta::GIT_SECRET, "GITHUB_TOKEN")];
        for (name, key) in named.chain(of_coding) {
            let secret: Secret = serde_json::from_value(json!({
                "apiVersion": "v1", "kind": "Secret",
                "metadata": {"name": name},
                "stringData": {key: "a key of the test", "known_hosts": ""},
            }))
            .unwrap();
            match secrets.create(&PostParams::default(), &secret).await {
                Ok(_) => {}
                Err(kube::Error::Api(status)) if status.is_already_exists() => {}
                Err(error) => panic!("{error}"),
            }
        }
    }

    /// The objects of any namespaced kind.
    pub async fn api(&self, version: &str, kind: &str) -> Api<DynamicObject> {
        let resource = resource(&self.cluster, version, kind).await;
        Api::namespaced_with(self.cluster.clone(), &self.namespace, &resource)
    }

    /// An object of ours as it is now.
    pub async fn get(&self, kind: &str, name: &str) -> Value {
        let version = format!("{}/{}", meta::GROUP, meta::VERSION);
        json!(self.api(&version, kind).await.get(name).await.unwrap())
    }

    /// Waits until an object of ours is as wanted, and gives it.
    pub async fn until(
        &self,
        kind: &str,
        name: &str,
        what: &str,
        wanted: impl Fn(&Value) -> bool,
    ) -> Value {
        let version = format!("{}/{}", meta::GROUP, meta::VERSION);
        let api = self.api(&version, kind).await;
        eventually(&format!("{kind} {name}: {what}"), DEADLINE, || async {
            let object = json!(api.get(name).await.map_err(|error| error.to_string())?);
            if wanted(&object) { Ok(object) } else { Err(object["status"].to_string()) }
        })
        .await
    }

    /// Waits until there is no such object.
    pub async fn until_gone(&self, version: &str, kind: &str, name: &str) {
        let api = self.api(version, kind).await;
        eventually(&format!("{kind} {name} is gone"), DEADLINE, || async {
            match api.get_opt(name).await.map_err(|error| error.to_string())? {
                None => Ok(()),
                Some(object) => Err(format!("{:?}", object.metadata)),
            }
        })
        .await;
    }

    /// Ends everything.
    pub async fn end(self) {
        self.stack.stop().await.unwrap();
    }
}

/// What the cluster serves a kind as.
pub async fn resource(client: &kube::Client, version: &str, kind: &str) -> ApiResource {
    let types = TypeMeta { api_version: version.to_owned(), kind: kind.to_owned() };
    let kind = GroupVersionKind::try_from(types).unwrap();
    kube::discovery::pinned_kind(client, &kind).await.unwrap().0
}
