//! sshd from its packages, unpacked and not installed.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};

/// What sshd is made of, and what gives it users of its own.
const PACKAGES: [&str; 3] = ["openssh-server", "libwrap0", "libnss-wrapper"];

/// The folder with the packages' files; filled when it is the first time.
pub(super) fn unpacked(cache: &Path) -> Result<PathBuf> {
    let folder = cache.join("openssh");
    fs::create_dir_all(&folder).with_context(|| format!("failed to make {}", folder.display()))?;
    let lock = File::create(folder.join("making.lock")).context("failed to open making.lock")?;
    lock.lock().context("failed to lock making.lock")?;
    let done = folder.join("root");
    if !done.is_dir() {
        let half = tempfile::Builder::new()
            .prefix("half-")
            .tempdir_in(&folder)
            .context("failed to make a folder to download into")?;
        download(half.path())?;
        let root = half.path().join("root");
        unpack(half.path(), &root)?;
        complete(&root)?;
        fs::rename(&root, &done).context("failed to keep what was unpacked")?;
    }
    Ok(done)
}

/// The folders with its libraries.
pub(super) fn libraries(unpacked: &Path) -> Vec<PathBuf> {
    let within = |folder: PathBuf| {
        let entries = fs::read_dir(folder).into_iter().flatten().flatten();
        entries.map(|entry| entry.path()).filter(|path| path.is_dir()).collect::<Vec<_>>()
    };
    [unpacked.join("lib"), unpacked.join("usr/lib")].into_iter().flat_map(within).collect()
}

fn download(folder: &Path) -> Result<()> {
    let get = |options: &[String]| {
        let mut command = Command::new("apt-get");
        let patience = ["-o", "Acquire::http::Timeout=20", "-o", "Acquire::Retries=1"];
        command.args(options).args(patience).arg("download").args(PACKAGES);
        run(command.current_dir(folder))
    };
    if get(&[]).is_ok() {
        return Ok(());
    }
    // Without lists of packages, or old ones: newer ones, kept here alone.
    let state = folder.join("apt");
    fs::create_dir_all(state.join("lists/partial")).context("failed to make a folder for lists")?;
    let options = [
        "-o".to_owned(),
        format!("Dir::State::Lists={}", state.join("lists").display()),
        "-o".to_owned(),
        format!("Dir::Cache={}", state.display()),
        "-o".to_owned(),
        "APT::Sandbox::User=".to_owned(),
    ];
    run(Command::new("apt-get").args(&options).arg("update").current_dir(folder))?;
    get(&options)
}

fn unpack(folder: &Path, root: &Path) -> Result<()> {
    for entry in fs::read_dir(folder).context("failed to read what was downloaded")? {
        let package = entry.context("failed to read what was downloaded")?.path();
        if package.extension().is_some_and(|extension| extension == "deb") {
            run(Command::new("dpkg-deb").arg("--extract").arg(&package).arg(root))?;
        }
    }
    Ok(())
}

/// Nothing that sshd needs may be missing.
fn complete(root: &Path) -> Result<()> {
    let sshd = root.join("usr/sbin/sshd");
    ensure!(sshd.is_file(), "the packages hold no sshd");
    let libraries = std::env::join_paths(libraries(root)).context("failed to name libraries")?;
    let mut ldd = Command::new("ldd");
    let output = ldd.arg(&sshd).env("LD_LIBRARY_PATH", libraries).output();
    let output = output.context("failed to run ldd")?;
    let words = String::from_utf8_lossy(&output.stdout);
    match words.lines().find(|line| line.contains("not found")) {
        Some(missing) => bail!("sshd lacks a library: {}", missing.trim()),
        None => Ok(()),
    }
}

fn run(command: &mut Command) -> Result<()> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().with_context(|| format!("failed to run {name}"))?;
    if output.status.success() {
        return Ok(());
    }
    let words = String::from_utf8_lossy(&output.stderr);
    bail!("{name} failed ({}): {}", output.status, words.trim().lines().last().unwrap_or_default())
}
