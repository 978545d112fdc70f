//! The ports of an installation, which stay the same in its folder: a harness is
//! told the API's address at its start, and an edit must not be needed to find it
//! again.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::time::Duration;

use anyhow::{Context, Result, ensure};

use crate::{ports, within};

/// Where each part listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Ports {
    pub model: u16,
    pub issuer: u16,
    pub api: u16,
    pub operator: u16,
    pub git: u16,
    pub github: u16,
}

impl Ports {
    /// The ports this folder has had before; new ones for parts it has not known.
    pub async fn of(folder: &Path) -> Result<Self> {
        let file = folder.join("ports.json");
        let before = read(&file)?;
        let mut kept = before.clone();
        let mut port = |part: &str| {
            if let Some(port) = kept.get(part) {
                return anyhow::Ok(*port);
            }
            let mut port = ports::lasting_port()?;
            while kept.values().any(|other| *other == port) {
                port = ports::lasting_port()?;
            }
            kept.insert(part.to_owned(), port);
            Ok(port)
        };
        let ports = Self {
            model: port("model")?,
            issuer: port("issuer")?,
            api: port("api")?,
            operator: port("operator")?,
            git: port("git")?,
            github: port("github")?,
        };
        if kept != before {
            let text = serde_json::to_vec(&kept).context("failed to render the ports")?;
            fs::write(&file, text)
                .with_context(|| format!("failed to write {}", file.display()))?;
        }
        // An earlier owner that was killed may still be ending.
        let free = || async { ports.ensure_free() };
        match within("ports are free", Duration::from_secs(5), free).await {
            Ok(()) => Ok(ports),
            Err(_) => ports.ensure_free().map(|()| ports),
        }
    }

    fn ensure_free(self) -> Result<()> {
        let Self { model, issuer, api, operator, git, github } = self;
        for port in [model, issuer, api, operator, git, github] {
            ensure!(ports::is_free(port), "port {port} is in use by another program; end that one");
        }
        Ok(())
    }
}

fn read(file: &Path) -> Result<BTreeMap<String, u16>> {
    if !file.exists() {
        return Ok(BTreeMap::new());
    }
    let text = fs::read(file).with_context(|| format!("failed to read {}", file.display()))?;
    serde_json::from_slice(&text)
        .with_context(|| format!("{} is damaged; remove it", file.display()))
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
    async fn a_folder_of_an_earlier_version_keeps_its_ports_and_gets_those_it_lacks() {
        let folder = tempfile::tempdir().unwrap();
        let api = ports::lasting_port().unwrap();
        fs::write(folder.path().join("ports.json"), format!("{{\"api\": {api}}}")).unwrap();
        let first = Ports::of(folder.path()).await.unwrap();
        assert_eq!(first.api, api);
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
