//! A real control plane: etcd, kube-apiserver, kube-controller-manager.

mod access;
mod components;
mod kwok;
mod outage;

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::time::Duration;

use anyhow::{Context, Result, bail};
use kube::{Client, Config};
use tokio::sync::OnceCell;

use crate::audit::{Audit, AuditReader, Request};
use crate::fail::{fail, or_fail};
use crate::process::Process;
use crate::{ApiProxy, Executables, RunFolder, audit, install, settings};

pub use kwok::{Nodes, Outcome};

/// How long a component may take to end when asked. The API server would wait a
/// minute for its watchers; it holds no state, and etcd loses nothing by a kill.
const GRACE: Duration = Duration::from_secs(2);

/// What becomes of etcd's data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// Written without fsync: for tests.
    Throwaway,
    /// Survives a power cut: for data somebody wants to keep.
    Kept,
}

/// A control plane that runs, with all its files in one folder.
#[derive(Debug)]
pub struct ControlPlane {
    folder: PathBuf,
    executables: Executables,
    durability: Durability,
    config: Config,
    components: Mutex<Vec<Process>>,
}

/// Folder of the shared control plane inside a run's folder.
pub fn shared_control_plane_folder(run: &Path) -> PathBuf {
    run.join("control plane")
}

/// The control plane of this test run, with Foundry's CRDs, policies and roles:
/// the shared one, or one that lives as long as this process.
pub async fn control_plane() -> &'static ControlPlane {
    static SHARED: OnceCell<Result<ControlPlane, String>> = OnceCell::const_new();
    let shared = SHARED
        .get_or_init(|| async { open_or_start().await.map_err(|error| format!("{error:#}")) })
        .await;
    match shared {
        Ok(control_plane) => control_plane,
        Err(error) => fail(&format!("no control plane: {error}")),
    }
}

async fn open_or_start() -> Result<ControlPlane> {
    if let Some(run) = settings::run_folder() {
        return ControlPlane::open(&shared_control_plane_folder(&run)).await;
    }
    let folder = shared_control_plane_folder(RunFolder::of_this_process()?.path());
    let control_plane = ControlPlane::start(&folder, Durability::Throwaway).await?;
    control_plane.install().await?;
    Ok(control_plane)
}

impl ControlPlane {
    /// Starts one in `folder`: a new one, or the one whose files are there, on the
    /// same ports when they are free.
    pub async fn start(folder: &Path, durability: Durability) -> Result<Self> {
        Self::start_audited(folder, durability, Audit::Writes).await
    }

    /// The same with an audit log that keeps what is asked for.
    pub async fn start_audited(
        folder: &Path,
        durability: Durability,
        audit: Audit,
    ) -> Result<Self> {
        let executables = Executables::find()?;
        components::prepare(folder, audit)?;
        let mut attempts = 0;
        let components = loop {
            attempts += 1;
            match components::start(folder, &executables, durability).await {
                Ok(components) => break components,
                // Between choosing a port and listening on it somebody else may take it.
                Err(error) if attempts < 3 && port_was_taken(&error) => {}
                Err(error) => return Err(error),
            }
        };
        let config = access::config(&access::kubeconfig_path(folder, "admin")).await?;
        let components = Mutex::new(components);
        let folder = folder.to_path_buf();
        Ok(Self { folder, executables, durability, config, components })
    }

    /// Opens one that another process has started and keeps.
    pub async fn open(folder: &Path) -> Result<Self> {
        crate::install_tls_provider();
        let kubeconfig = access::kubeconfig_path(folder, "admin");
        if !kubeconfig.is_file() {
            bail!("{} does not exist; run the tests by `cargo xtask test`", kubeconfig.display());
        }
        Ok(Self {
            folder: folder.to_path_buf(),
            executables: Executables::find()?,
            durability: Durability::Throwaway,
            config: access::config(&kubeconfig).await?,
            components: Mutex::default(),
        })
    }

    /// Lays in CRDs, admission policies and cluster-wide roles from `crds/yaml`,
    /// and waits until they act.
    pub async fn install(&self) -> Result<()> {
        install::install(&self.admin()).await
    }

    /// Stops it and starts it again, on the same ports and data.
    pub async fn restart(&self) -> Result<()> {
        if !self.is_ours()? {
            bail!("this control plane is kept by another process; start one to restart it");
        }
        self.stop_components().await?;
        let started = components::start(&self.folder, &self.executables, self.durability).await?;
        self.put(started)
    }

    /// Ends it: controllers first, the store last.
    pub async fn stop(self) -> Result<()> {
        self.stop_components().await
    }

    /// A client with every right.
    pub fn admin(&self) -> Client {
        self.client(self.config.clone())
    }

    /// A client that is this user in these groups, whose rights are what RBAC says.
    pub fn client_as(&self, user: &str, groups: &[&str]) -> Client {
        self.client(self.config_as(user, groups))
    }

    /// A proxy whose calls are this user's, in these groups.
    pub async fn proxy_as(&self, user: &str, groups: &[&str]) -> ApiProxy {
        let mut config = self.config_as(user, groups);
        // A failure is the test's to make, and its client's to survive.
        config.default_retry = false;
        ApiProxy::start(self.client(config), user).await
    }

    /// The administrator's kubeconfig.
    pub fn kubeconfig(&self) -> PathBuf {
        access::kubeconfig_path(&self.folder, "admin")
    }

    /// A kubeconfig of one of the persons `ann`, `ben` or `eve`, who authenticate
    /// by token.
    pub fn kubeconfig_for_person(&self, person: &str) -> PathBuf {
        access::kubeconfig_path(&self.folder, person)
    }

    /// A kubeconfig with a new token of a service account.
    pub async fn kubeconfig_for_service_account(&self, namespace: &str, name: &str) -> PathBuf {
        let admin = self.admin();
        or_fail(access::service_account(&self.folder, &admin, namespace, name).await)
    }

    /// kubectl of the same version.
    pub fn kubectl(&self) -> PathBuf {
        self.executables.kubectl.clone()
    }

    /// Base URL of the API server.
    pub fn url(&self) -> String {
        self.config.cluster_url.to_string()
    }

    /// Where its logs are.
    pub fn logs(&self) -> PathBuf {
        components::logs(&self.folder)
    }

    /// Every write that the API server answered, oldest first.
    pub fn writes(&self) -> Vec<Request> {
        self.requests().into_iter().filter(Request::is_write).collect()
    }

    /// Every request that the audit log keeps, oldest first.
    pub fn requests(&self) -> Vec<Request> {
        or_fail(audit::read(&components::audit_log(&self.folder)))
    }

    /// Reads the audit log bit by bit, from its first line on: for logs too large to be read
    /// whole again and again.
    pub fn audit_reader(&self) -> AuditReader {
        AuditReader::new(components::audit_log(&self.folder))
    }

    /// Gives it so many nodes, on which pods come up without running anything. Not for a
    /// control plane that others use too: whatever waits for a node there comes up as well.
    pub async fn start_nodes(&self, count: usize) -> Result<Nodes> {
        if !self.is_ours()? {
            bail!("this control plane is kept by another process; start one to give it nodes");
        }
        Nodes::start(&self.folder, self.admin(), count).await
    }

    fn config_as(&self, user: &str, groups: &[&str]) -> Config {
        let mut config = self.config.clone();
        config.auth_info.impersonate = Some(user.to_owned());
        let groups: Vec<_> = groups.iter().map(|&group| group.to_owned()).collect();
        config.auth_info.impersonate_groups = (!groups.is_empty()).then_some(groups);
        config
    }

    fn client(&self, config: Config) -> Client {
        let client = Client::try_from(config);
        or_fail(client.with_context(|| format!("no client for {}", self.url())))
    }

    async fn stop_components(&self) -> Result<()> {
        let mut running = match self.components.lock() {
            Ok(mut running) => std::mem::take(&mut *running),
            Err(_) => bail!("the list of running components is broken"),
        };
        while let Some(component) = running.pop() {
            component.stop(GRACE).await?;
        }
        Ok(())
    }

    fn is_ours(&self) -> Result<bool> {
        match self.components.lock() {
            Ok(components) => Ok(!components.is_empty()),
            Err(_) => bail!("the list of running components is broken"),
        }
    }

    fn put(&self, started: Vec<Process>) -> Result<()> {
        match self.components.lock() {
            Ok(mut components) => *components = started,
            Err(_) => bail!("the list of running components is broken"),
        }
        Ok(())
    }
}

fn port_was_taken(error: &anyhow::Error) -> bool {
    format!("{error:#}").contains("address already in use")
}

/// Creates a folder and those above it.
fn create_folder(path: &Path) -> Result<()> {
    fs::create_dir_all(path).with_context(|| format!("failed to create {}", path.display()))
}
