//! How the cluster is reached.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use clap::Args;
use kube::config::{KubeConfigOptions, Kubeconfig, KubeconfigError};

use crate::serve::StartError;

/// Which cluster.
#[derive(Args, Clone, Debug)]
pub struct Connection {
    /// Files that say how to reach the cluster, as kubectl takes them. Absent: the
    /// user's own file, or the cluster whose pod this is.
    #[arg(long, env = "KUBECONFIG")]
    kubeconfig: Option<OsString>,
    /// The user's folder, where a kubeconfig may be.
    #[arg(long, env = "HOME", hide = true)]
    home: Option<PathBuf>,
}

impl Connection {
    /// A client of that cluster, which is not asked anything yet.
    pub async fn open(&self) -> Result<kube::Client, StartError> {
        let files = self.files();
        let config = if files.is_empty() {
            kube::Config::incluster().map_err(|_| StartError::NoCluster)?
        } else {
            read(&files)
                .await
                .map_err(|cause| StartError::Kubeconfig { files: shown(&files), cause })?
        };
        crate::kube_client(config)
    }

    fn files(&self) -> Vec<PathBuf> {
        if let Some(named) = self.kubeconfig.as_ref().filter(|named| !named.is_empty()) {
            let files = std::env::split_paths(named);
            return files.filter(|path| !path.as_os_str().is_empty()).collect();
        }
        let own = self.home.iter().map(|home| home.join(".kube/config"));
        own.filter(|own| own.exists()).collect()
    }
}

async fn read(files: &[PathBuf]) -> Result<kube::Config, String> {
    let mut merged = Kubeconfig::default();
    for file in files {
        merged = merged.merge(read_file(file)?).map_err(|error| plain(&error))?;
    }
    kube::Config::from_custom_kubeconfig(merged, &KubeConfigOptions::default())
        .await
        .map_err(|error| plain(&error))
}

fn read_file(file: &Path) -> Result<Kubeconfig, String> {
    // Said by us, for kube names the path once more.
    std::fs::File::open(file).map_err(|error| error.to_string())?;
    Kubeconfig::read_from(file).map_err(|error| plain(&error))
}

/// Parsers draw the place of a mistake over several lines, the first of which says what
/// it is; and kube puts paths in two kinds of quotes.
fn plain(error: &KubeconfigError) -> String {
    let words = error.to_string();
    let line = words.lines().next().unwrap_or("it cannot be read").trim_end_matches(':');
    line.replace("'\"", "").replace("\"'", "")
}

fn shown(files: &[PathBuf]) -> String {
    files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ")
}
