//! The cluster the demo runs on: a person's own, or one that it starts.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use foundry_crds::meta::DEFAULT_NAMESPACE;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::api::PostParams;
use kube::config::AuthInfo;
use kube::{Api, Client};
use testenv::{ControlPlane, Durability, Executables};

use super::kubeconfig::{self, write_private};
use super::kubectl::{self, Kubectl};

/// Longer than an evening.
const TOKEN_SECONDS: i64 = 24 * 3600;

/// The person of the demo.
pub(super) const PERSON: &str = "ann";

/// A cluster that answers.
pub(super) struct Cluster {
    /// The administrator's client.
    pub client: Client,
    /// kubectl of the administrator.
    pub admin: Kubectl,
    /// kubectl of the demo's person.
    pub person: Kubectl,
    kubeconfigs: PathBuf,
    own: Option<ControlPlane>,
}

impl Cluster {
    /// Reaches the cluster of a kubeconfig, or starts the demo's.
    pub async fn reach(kubeconfig: Option<&Path>, folder: &Path) -> Result<Self> {
        let kubeconfigs = folder.join("kubeconfigs");
        fs::create_dir_all(&kubeconfigs)
            .with_context(|| format!("failed to create {}", kubeconfigs.display()))?;
        match kubeconfig {
            Some(given) => Self::theirs(given, kubeconfigs).await,
            None => Self::ours(folder, kubeconfigs).await,
        }
    }

    async fn theirs(path: &Path, kubeconfigs: PathBuf) -> Result<Self> {
        let client = kubeconfig::answering_client(path).await?;
        let program = if kubectl::on_path() {
            PathBuf::from("kubectl")
        } else {
            Executables::find()?.kubectl
        };
        let admin = administrator(program, path.to_path_buf());
        let person =
            Kubectl { namespace: Some(DEFAULT_NAMESPACE), person: Some(PERSON), ..admin.clone() };
        Ok(Self { client, admin, person, kubeconfigs, own: None })
    }

    async fn ours(folder: &Path, kubeconfigs: PathBuf) -> Result<Self> {
        let own = ControlPlane::start(&folder.join("control plane"), Durability::Kept).await?;
        let admin = administrator(own.kubectl(), own.kubeconfig());
        let person = Kubectl {
            kubeconfig: own.kubeconfig_for_person(PERSON),
            namespace: Some(DEFAULT_NAMESPACE),
            ..admin.clone()
        };
        Ok(Self { client: own.admin(), admin, person, kubeconfigs, own: Some(own) })
    }

    /// What it is, for a sentence.
    pub fn what(&self) -> String {
        match &self.own {
            Some(own) => format!("a control plane of your own, {},", own.url()),
            None => format!("the cluster of {}", self.admin.kubeconfig.display()),
        }
    }

    /// A kubeconfig with a new token of a service account in `default`, and no right
    /// but its own.
    pub async fn service_account_kubeconfig(&self, name: &str) -> Result<PathBuf> {
        let token = self.token(name).await?;
        let mut kubeconfig = kubeconfig::read(&self.admin.kubeconfig)?;
        let current = kubeconfig.current_context.clone().context("no context is current")?;
        kubeconfig.contexts.retain(|context| context.name == current);
        let context = kubeconfig.contexts.first_mut().and_then(|named| named.context.as_mut());
        let context = context.with_context(|| format!("there is no context {current}"))?;
        context.user = Some(name.to_owned());
        context.namespace = None;
        let cluster = context.cluster.clone();
        kubeconfig.clusters.retain(|named| named.name == cluster);
        kubeconfig.auth_infos = vec![kube::config::NamedAuthInfo {
            name: name.to_owned(),
            auth_info: Some(AuthInfo { token: Some(token.into()), ..Default::default() }),
            other: std::collections::BTreeMap::default(),
        }];
        let path = self.kubeconfigs.join(format!("{name}.yaml"));
        let text = serde_json::to_string_pretty(&kubeconfig).context("a kubeconfig is strange")?;
        write_private(&path, &text)?;
        Ok(path)
    }

    /// Ends it, when it is the demo's.
    pub async fn stop(self) -> Result<()> {
        match self.own {
            Some(own) => own.stop().await,
            None => Ok(()),
        }
    }

    async fn token(&self, name: &str) -> Result<String> {
        let accounts: Api<ServiceAccount> = Api::namespaced(self.client.clone(), "default");
        let spec =
            TokenRequestSpec { expiration_seconds: Some(TOKEN_SECONDS), ..Default::default() };
        let request = TokenRequest { spec, ..Default::default() };
        let answer = accounts
            .create_token_request(name, &PostParams::default(), &request)
            .await
            .with_context(|| format!("failed to get a token for {name}"))?;
        Ok(answer.status.with_context(|| format!("no token came for {name}"))?.token)
    }
}

fn administrator(program: PathBuf, kubeconfig: PathBuf) -> Kubectl {
    Kubectl { program, kubeconfig, namespace: None, person: None }
}
