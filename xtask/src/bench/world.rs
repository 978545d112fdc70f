//! What a bench runs on: a throw-away control plane and one installation.

use std::path::Path;

use anyhow::{Context as _, Result};
use foundry_crds::{Agent, AgentSpec, Harness, Model};
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::PostParams;
use serde::de::DeserializeOwned;
use testenv::stack::{Runtime, Stack, StackOptions};
use testenv::{ControlPlane, Durability, TestNamespace};

use crate::repository;

/// What the model plays; the last rule answers whatever is left.
const SCRIPTS: [&str; 2] =
    ["tests/fakes/scripts/coding.yaml", "tests/fakes/scripts/quickstart.yaml"];

/// A control plane, a namespace and an installation of the release executables.
pub struct World {
    pub control_plane: ControlPlane,
    pub namespace: TestNamespace,
    pub stack: Stack,
    folder: tempfile::TempDir,
}

impl World {
    pub async fn start(runtime: Runtime) -> Result<Self> {
        let folder = tempfile::tempdir()?;
        let control_plane =
            ControlPlane::start(&folder.path().join("control plane"), Durability::Throwaway)
                .await?;
        control_plane.install().await?;
        let namespace = testenv::namespace(&control_plane, "bench").await;
        let account = |name| control_plane.kubeconfig_for_service_account("default", name);
        let mut stack = Stack::new(StackOptions {
            folder: folder.path().join("stack"),
            executables: super::release_folder()?,
            namespaces: vec![namespace.name.clone()],
            operator_kubeconfig: account("foundry-operator").await,
            api_kubeconfig: account("foundry-api").await,
            scripts: SCRIPTS.map(|name| repository::root().join(name)).into(),
            database: None,
            evaluate_seconds: None,
            runtime,
        })
        .await?;
        stack.start_all().await?;
        let mut model: Model = example("quickstart/model.yaml")?;
        model.spec.base_url = Some(stack.model_url());
        let world = Self { control_plane, namespace, stack, folder };
        let post = PostParams::default();
        world.api::<Secret>().create(&post, &example("quickstart/model-secret.yaml")?).await?;
        world.api::<Model>().create(&post, &model).await?;
        world.api::<Harness>().create(&post, &example("quickstart/harness.yaml")?).await?;
        Ok(world)
    }

    pub fn api<K>(&self) -> Api<K>
    where
        K: kube::Resource<Scope = k8s_openapi::NamespaceResourceScope>,
        K::DynamicType: Default,
    {
        Api::namespaced(self.namespace.client.clone(), &self.namespace.name)
    }

    pub async fn create_agent(&self, name: &str) -> Result<Agent> {
        let quickstart: Agent = example("quickstart/agent.yaml")?;
        let spec = AgentSpec { display_name: None, ..quickstart.spec };
        let agent = self.api().create(&PostParams::default(), &Agent::new(name, spec)).await;
        agent.with_context(|| format!("failed to create agent {name}"))
    }

    /// A folder for whatever a bench writes.
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    pub async fn end(self) -> Result<()> {
        self.stack.stop().await?;
        self.control_plane.stop().await
    }
}

/// An object of `examples/`.
pub fn example<K: DeserializeOwned>(file: &str) -> Result<K> {
    let path = Path::new("examples").join(file);
    let text = std::fs::read_to_string(repository::root().join(&path))
        .with_context(|| format!("failed to read {}", path.display()))?;
    foundry_crds::yaml::from_yaml(&text)
        .with_context(|| format!("failed to parse {}", path.display()))
}
