//! How the control plane is reached.

use std::path::{Path, PathBuf};
use std::time::Duration;

use kube::client::ClientBuilder;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use tower::util::MapResponseLayer;

use crate::caches::WATCH_SECONDS;
use crate::error::Error;
use crate::retry_after;

/// How long a connection may be silent while something is awaited: longer than a watch
/// that has nothing to show, which its server ends.
const SILENCE: Duration = Duration::from_secs(WATCH_SECONDS as u64 + 10);

/// A client of the control plane that these kubeconfig files name; without any, of
/// the cluster whose pod this is. Nothing is asked of it yet.
pub async fn connect(files: &[PathBuf]) -> Result<Client, Error> {
    let mut config = if files.is_empty() {
        Config::incluster().map_err(|_| Error::NoCluster)?
    } else {
        read(files).await.map_err(|cause| Error::Kubeconfig { files: shown(files), cause })?
    };
    // Its waits grow to minutes, longer than any overload: watches and reconciles have
    // their own, and every request a deadline.
    config.default_retry = false;
    // A list that is never answered would hold its watch up for ever.
    config.read_timeout = Some(SILENCE);
    let client = ClientBuilder::try_from(config)
        .map_err(|source| Error::Client(Box::new(source)))?
        .with_layer(&MapResponseLayer::new(retry_after::keep))
        .build();
    Ok(client)
}

async fn read(files: &[PathBuf]) -> Result<Config, String> {
    let mut merged = Kubeconfig::default();
    for file in files {
        let next = read_file(file)?;
        merged = merged.merge(next).map_err(|error| first_line(&error))?;
    }
    Config::from_custom_kubeconfig(merged, &KubeConfigOptions::default())
        .await
        .map_err(|error| first_line(&error))
}

fn read_file(file: &Path) -> Result<Kubeconfig, String> {
    // Said by us, for kube quotes the path anew.
    std::fs::File::open(file).map_err(|error| error.to_string())?;
    Kubeconfig::read_from(file).map_err(|error| first_line(&error))
}

/// Parsers draw the place of a mistake over several lines; the first says what it is.
/// Paths come in two kinds of quotes at once; one is enough.
fn first_line(error: &kube::config::KubeconfigError) -> String {
    let words = error.to_string();
    let line = words.lines().next().unwrap_or("it cannot be read").trim_end_matches(':');
    line.replace("'\"", "\"").replace("\"'", "\"")
}

fn shown(files: &[PathBuf]) -> String {
    files.iter().map(|file| file.display().to_string()).collect::<Vec<_>>().join(", ")
}
