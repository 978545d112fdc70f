//! Every environment variable that this crate reads.

use std::ffi::OsString;
use std::path::PathBuf;

use anyhow::{Context, Result};

/// Folder with etcd, kube-apiserver and the rest, as envtest names it.
pub(crate) fn assets() -> Option<PathBuf> {
    path("KUBEBUILDER_ASSETS")
}

/// Folder of the run that `cargo xtask test` started.
pub(crate) fn run_folder() -> Option<PathBuf> {
    path("FOUNDRY_TEST_RUN_DIR")
}

/// Folder with the executables that `cargo xtask test` built.
pub fn given_bin_folder() -> Option<PathBuf> {
    path("FOUNDRY_BIN_DIR")
}

/// A PostgreSQL server of the person's own; its user may create databases.
pub(crate) fn postgres_url() -> Option<String> {
    set("FOUNDRY_TEST_POSTGRES_URL").and_then(|value| value.into_string().ok())
}

/// The search path for executables.
pub(crate) fn search_path() -> Vec<PathBuf> {
    set("PATH").map(|path| std::env::split_paths(&path).collect()).unwrap_or_default()
}

/// Foundry's cache: what is expensive to build and cheap to lose.
pub fn cache_folder() -> Result<PathBuf> {
    path("XDG_CACHE_HOME")
        .or_else(|| path("HOME").map(|home| home.join(".cache")))
        .map(|cache| cache.join("foundry"))
        .context("neither XDG_CACHE_HOME nor HOME is set; set one so that builds can be kept")
}

fn path(name: &str) -> Option<PathBuf> {
    set(name).map(PathBuf::from)
}

fn set(name: &str) -> Option<OsString> {
    std::env::var_os(name).filter(|value| !value.is_empty())
}
