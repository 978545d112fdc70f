//! Outages of single components, for tests with a control plane of their own.

use std::time::Duration;

use anyhow::{Context, Result, bail};
use kube::Client;

use super::{ControlPlane, access, components};
use crate::process::Process;
use crate::within;

/// How long an API server may take to find its store again.
const PATIENCE: Duration = Duration::from_mins(1);

impl ControlPlane {
    /// Ends the API server as kill -9 would; nobody is told.
    pub fn kill_api_server(&self) -> Result<()> {
        self.kill_component(components::APISERVER)
    }

    /// Starts the API server again where it was, and waits until it is ready.
    pub async fn start_api_server(&self) -> Result<()> {
        let started = components::start_apiserver_again(&self.folder, &self.executables).await?;
        self.put_back(started)
    }

    /// Ends the store as kill -9 would, starts it again on its data, and waits until the
    /// API server is ready again.
    pub async fn restart_etcd(&self) -> Result<()> {
        self.kill_component(components::ETCD)?;
        let started =
            components::start_etcd_again(&self.folder, &self.executables, self.durability)?;
        self.put_back(started)?;
        let kubeconfig = access::kubeconfig_path(&self.folder, "admin");
        let client = Client::try_from(access::config(&kubeconfig).await?)?;
        within("kube-apiserver is ready again", PATIENCE, || async {
            let request = http::Request::get("/readyz").body(Vec::new())?;
            client.request_text(request).await?;
            anyhow::Ok(())
        })
        .await
    }

    fn kill_component(&self, name: &str) -> Result<()> {
        let Ok(mut running) = self.components.lock() else {
            bail!("the list of running components is broken")
        };
        let place = running.iter().position(|component| component.name() == name);
        let place = place.with_context(|| {
            format!("{name} is not ours to kill; start a control plane of the test's own")
        })?;
        running.remove(place).kill().map(drop)
    }

    /// Puts a component back into its place: they are stopped from the last to the first.
    fn put_back(&self, started: Process) -> Result<()> {
        let Ok(mut running) = self.components.lock() else {
            bail!("the list of running components is broken")
        };
        let place = if started.name() == components::ETCD { 0 } else { 1.min(running.len()) };
        running.insert(place, started);
        Ok(())
    }
}
