//! The life of a harness process, from `harness started` to `harness stopped`.

use std::io::Write;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use foundry_client::LogLevel;
use foundry_platform::api::Api;
use foundry_platform::clock::Clock;
use foundry_platform::events::{event_log, kind};
use foundry_platform::heartbeat::{self, Vitals};
use foundry_platform::relay::Broker;
use foundry_platform::runs::Recorder;
use serde_json::json;
use tokio_util::sync::CancellationToken;
use url::Url;
use uuid::Uuid;

use super::life::Life;
use super::tokens::Tokens;

/// How long the last log lines may take to be posted.
const LAST_LINES: Duration = Duration::from_secs(3);

/// What a process is made of; all I/O but the repository's comes in here.
pub struct Parts {
    /// The API, as this agent sees it.
    pub api: Arc<dyn Api>,
    /// What answers model calls.
    pub broker: Arc<dyn Broker>,
    /// The time.
    pub clock: Clock,
    /// Where event lines go.
    pub output: Box<dyn Write + Send>,
    /// Id of the agent.
    pub agent_id: String,
    /// Namespace of the agent.
    pub agent_namespace: String,
    /// The start this process was made for.
    pub start_number: i64,
    /// Between two heartbeats.
    pub heartbeat_every: Duration,
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
    let Parts {
        api,
        broker,
        clock,
        output,
        agent_id,
        agent_namespace,
        start_number,
        heartbeat_every,
        ground,
    } = parts;
    let (log, shipper) = event_log(clock.clone(), output, api.clone());
    let process_id = Uuid::now_v7();
    let vitals = Arc::new(Vitals::new(process_id));
    vitals.set_generation(start_number);
    // The first event of a process (LOOP-02).
    let started = json!({
        "agent": agent_id,
        "namespace": agent_namespace,
        "process_id": process_id,
        "start_number": start_number,
        "version": env!("CARGO_PKG_VERSION"),
    });
    log.write(kind::STARTED, LogLevel::Info, "harness started", Some(started));

    let over = stop.child_token();
    let beating = heartbeat::run(
        api.clone(),
        log.clone(),
        clock.clone(),
        vitals.clone(),
        heartbeat_every,
        over.clone(),
    );
    let life = Life {
        runs: Arc::new(Recorder::new(api.clone(), log.clone())),
        api,
        broker,
        log: log.clone(),
        clock,
        vitals,
        start_number,
        ground,
        stop,
    };
    let told = CancellationToken::new();
    let living = async {
        let working = async {
            let exit = life.live().await;
            over.cancel();
            exit
        };
        let (exit, ()) = tokio::join!(working, beating);
        log.info(kind::STOPPED, "harness stopped");
        told.cancel();
        exit
    };
    let (exit, ()) = tokio::join!(living, shipper.run(told.clone(), LAST_LINES));
    exit
}
