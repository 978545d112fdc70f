//! The ports of an installation, which stay the same in its folder: a harness is
//! told the API's address at its start, and an edit must not be needed to find it
//! again.

use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use serde::{Deserialize, Serialize};

use crate::{ports, within};

/// Where each part listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ports {
    pub model: u16,
    pub issuer: u16,
    pub api: u16,
    pub operator: u16,
}

impl Ports {
    /// The ports this folder has had before, or new ones.
    pub async fn of(folder: &Path) -> Result<Self> {
        let file = folder.join("ports.json");
        if !file.exists() {
            return Self::choose(&file);
        }
        let text = fs::read(&file).with_context(|| format!("failed to read {}", file.display()))?;
        let ports: Self = serde_json::from_slice(&text)
            .with_context(|| format!("{} is damaged; remove it", file.display()))?;
        // An earlier owner that was killed may still be ending.
        let free = || async { ports.ensure_free() };
        match within("ports are free", Duration::from_secs(5), free).await {
            Ok(()) => Ok(ports),
            Err(_) => ports.ensure_free().map(|()| ports),
        }
    }

    fn choose(file: &Path) -> Result<Self> {
        let ports = Self {
            model: ports::lasting_port()?,
            issuer: ports::lasting_port()?,
            api: ports::lasting_port()?,
            operator: ports::lasting_port()?,
        };
        let text = serde_json::to_vec(&ports).context("failed to render the ports")?;
        fs::write(file, text).with_context(|| format!("failed to write {}", file.display()))?;
        Ok(ports)
    }

    fn ensure_free(self) -> Result<()> {
        let Self { model, issuer, api, operator } = self;
        for port in [model, issuer, api, operator] {
            ensure!(ports::is_free(port), "port {port} is in use by another program; end that one");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn a_folder_keeps_its_ports() {
        let folder = tempfile::tempdir().unwrap();
        let first = Ports::of(folder.path()).await.unwrap();
        assert_eq!(Ports::of(folder.path()).await.unwrap(), first);
    }

    #[tokio::test]
    async fn a_port_in_use_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let ports = Ports::of(folder.path()).await.unwrap();
        let _other = TcpListener::bind(("127.0.0.1", ports.api)).unwrap();
        let error = ports.ensure_free().unwrap_err().to_string();
        assert!(error.starts_with(&format!("port {} is in use", ports.api)), "{error}");
    }
}
