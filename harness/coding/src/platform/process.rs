//! The life of a harness process: its one task, or one after another.

use std::path::PathBuf;
use std::sync::Arc;

use foundry_platform::process::{Channels, Process};
use foundry_platform::relay::Broker;
use foundry_platform::settings::ModelSettings;
use tokio_util::sync::CancellationToken;
use url::Url;

use super::life::Life;
use super::tokens::Tokens;

/// What a process is made of; all I/O but the repository's comes in here.
pub struct Parts {
    /// What every harness process is made of.
    pub process: Process,
    /// What answers model calls.
    pub broker: Arc<dyn Broker>,
    /// How the model is used.
    pub model: ModelSettings,
    /// The start this process was made for.
    pub start_number: i64,
    /// How repositories are reached and kept.
    pub ground: Ground,
}

/// How repositories are reached and where they are kept.
#[derive(Debug)]
pub struct Ground {
    /// Folder of SSH keys and known hosts.
    pub ssh_dir: PathBuf,
    /// Folders beside it that no command of a model may read.
    pub denied: Vec<PathBuf>,
    /// Folder for the clone; it goes below `repository`.
    pub home: PathBuf,
    /// Folder for temporary files and long outputs.
    pub temporary: PathBuf,
    /// The environment of this process, of which commands see a part.
    pub environment: Vec<(std::ffi::OsString, std::ffi::OsString)>,
    /// Host of remotes that are GitHub.
    pub github_host: String,
    /// Address of GitHub's API.
    pub github_api_url: Url,
    /// Tokens of git hosts.
    pub tokens: Tokens,
}

/// How a process ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Exit {
    /// Nothing is left to be told.
    Well,
    /// A result was not brought to the API.
    ResultLost,
}

/// Runs the agent until its work is done or `stop` falls. Then what is still to be told
/// is told, and nothing is waited for longer than a few seconds.
pub async fn run(parts: Parts, stop: CancellationToken) -> Exit {
    let Parts { process, broker, model, start_number, ground } = parts;
    let (api, clock) = (process.api.clone(), process.clock.clone());
    let living = |channels: Channels| async {
        let Channels { log, vitals, runs } = channels;
        let stop = stop.clone();
        let life =
            Life { api, broker, model, runs, log, clock, vitals, start_number, ground, stop };
        life.live().await
    };
    process.live(&stop, living).await
}
