//! What the `main` of a harness program does around its work.

use std::io;
use std::sync::Arc;
use std::time::Duration;

use foundry_client::{Client, ClientError, TokenSource};
use foundry_llm::{BuildError, Limits};
use tokio::runtime::Builder;
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

use crate::api::ClientApi;
use crate::clock::Clock;
use crate::diagnostics;
use crate::lifeline::{self, LifelineError};
use crate::lock::{self, Lock, LockError};
use crate::relay::Relay;
use crate::settings::ProcessSettings;
use crate::token::MountedToken;

/// SIGHUP, sent when a terminal is closed.
const HANGUP: u32 = 1;
/// SIGXFSZ, sent to a process that writes a file beyond its limit.
const FILE_SIZE_LIMIT: i32 = 25;

/// Threads for what blocks, where it is file reads and name look-ups, a few at a time.
const FEW_THREADS: usize = 2;
/// A blocking thread that has nothing to do costs memory in every pod.
const FEW_IDLE: Duration = Duration::from_secs(1);
/// Enough for a name look-up.
const FEW_STACK: usize = 256 * 1024;

/// Why a program could not begin.
#[derive(Debug, thiserror::Error)]
pub enum ProgramError {
    /// Something was set up before that must be set up once.
    #[error("failed to set up {0}: it was set up before")]
    SetUp(&'static str),
    /// No runtime.
    #[error("failed to start the runtime")]
    Runtime(#[source] io::Error),
    /// No signals.
    #[error("failed to listen for {name}")]
    Signal {
        /// The signal.
        name: &'static str,
        /// What the system said.
        source: io::Error,
    },
    /// The lock is not ours.
    #[error(transparent)]
    Lock(#[from] LockError),
    /// The lifeline cannot be watched.
    #[error(transparent)]
    Lifeline(#[from] LifelineError),
    /// The API cannot be called.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// The relay cannot be called.
    #[error("failed to set up the relay transport: {0}")]
    Relay(#[from] BuildError),
}

/// Sets up what a process has once: diagnostics on stderr, and TLS.
pub fn set_up(clock: &Clock) -> Result<(), ProgramError> {
    diagnostics::write_to(Box::new(io::stderr()), clock.clone())
        .map_err(|_| ProgramError::SetUp("diagnostics"))?;
    rustls::crypto::aws_lc_rs::default_provider()
        .install_default()
        .map_err(|_| ProgramError::SetUp("TLS"))
}

/// Takes the lock and watches the lifeline of a local run (OPS-01). The lock is held
/// until it is dropped.
pub fn hold(
    settings: &ProcessSettings,
    stop: &CancellationToken,
) -> Result<Option<Lock>, ProgramError> {
    let lock = settings.lock_file.as_deref().map(lock::hold).transpose()?;
    if let Some(path) = &settings.lifeline {
        lifeline::watch(path, stop.clone())?;
    }
    Ok(lock)
}

/// How much of a program's work blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Blocking {
    /// Reads of small files and name look-ups: two small threads that soon go.
    Little,
    /// Walks of trees, waits for children: as many threads as it takes.
    Much,
}

/// Does the work of a program on a runtime of one thread.
pub fn run<T>(blocking: Blocking, work: impl Future<Output = T>) -> Result<T, ProgramError> {
    let mut builder = Builder::new_current_thread();
    builder.enable_all();
    match blocking {
        Blocking::Much => {}
        Blocking::Little => {
            builder
                .max_blocking_threads(FEW_THREADS)
                .thread_keep_alive(FEW_IDLE)
                .thread_stack_size(FEW_STACK);
        }
    }
    let runtime = builder.build().map_err(ProgramError::Runtime)?;
    let came = runtime.block_on(work);
    // A name look-up, a file that never answers or somebody who types nothing must not
    // hold up the end.
    runtime.shutdown_background();
    Ok(came)
}

/// The signals a program heeds.
#[derive(Debug)]
pub struct Signals {
    terminate: Signal,
    interrupt: Signal,
    /// Absent where whoever started us wants that a hangup is not heeded (`nohup`).
    hangup: Option<Signal>,
    /// With somebody listening, a log that reached its limit is a failed write, not the end.
    _file_size: Signal,
}

impl Signals {
    /// Listens from now on. Needs a runtime.
    pub fn listen() -> Result<Self, ProgramError> {
        let listen =
            |kind, name| signal(kind).map_err(|source| ProgramError::Signal { name, source });
        Ok(Self {
            terminate: listen(SignalKind::terminate(), "SIGTERM")?,
            interrupt: listen(SignalKind::interrupt(), "SIGINT")?,
            // Unheard it would end us on the spot, and leave what our commands run.
            hangup: if is_ignored(HANGUP) {
                None
            } else {
                Some(listen(SignalKind::hangup(), "SIGHUP")?)
            },
            _file_size: listen(SignalKind::from_raw(FILE_SIZE_LIMIT), "SIGXFSZ")?,
        })
    }

    /// Does the work; a signal cancels `stop`, and the work goes on to its own end.
    pub async fn heed<T>(mut self, stop: &CancellationToken, work: impl Future<Output = T>) -> T {
        let mut work = std::pin::pin!(work);
        tokio::select! {
            came = &mut work => return came,
            () = self.told() => stop.cancel(),
        }
        work.await
    }

    /// The same, for work that somebody sits in front of: who interrupts a second time
    /// waits for nothing, and gets nothing.
    pub async fn heed_twice<T>(
        mut self,
        stop: &CancellationToken,
        work: impl Future<Output = T>,
    ) -> Option<T> {
        let mut work = std::pin::pin!(work);
        tokio::select! {
            came = &mut work => return Some(came),
            () = self.told() => stop.cancel(),
        }
        tokio::select! {
            came = work => Some(came),
            _ = self.interrupt.recv() => None,
        }
    }

    async fn told(&mut self) {
        let Self { terminate, interrupt, hangup, _file_size: _ } = self;
        let hung_up = async {
            match hangup {
                Some(hangup) => hangup.recv().await,
                None => std::future::pending().await,
            }
        };
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
            _ = hung_up => {}
        }
    }
}

/// Whether this process was started with a signal ignored.
fn is_ignored(signal: u32) -> bool {
    std::fs::read_to_string("/proc/self/status").is_ok_and(|status| ignores(&status, signal))
}

/// Reads `SigIgn:` of a process's status, a bit for each signal from 1.
fn ignores(status: &str, signal: u32) -> bool {
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let mask = mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok());
    mask.is_some_and(|mask| (mask >> (signal - 1)) & 1 == 1)
}

/// What a process reaches: the API as its agent sees it, and the relay.
pub fn reach(
    settings: &ProcessSettings,
    clock: &Clock,
) -> Result<(ClientApi, Relay), ProgramError> {
    let tokens: Arc<dyn TokenSource> = Arc::new(MountedToken::new(&settings.token_file));
    let client = Client::new(settings.api_url.as_str(), tokens.clone())?;
    let pacing = clock.clone();
    let limits = Limits::default();
    let relay = Relay::new(&client.relay_url(), tokens, limits, Arc::new(move || pacing.now()))?;
    Ok((ClientApi::new(client, &settings.agent_id), relay))
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    /// CODE-45
    #[rstest]
    #[case("Name:\tx\nSigIgn:\t0000000000001001\nSigCgt:\t0\n", true)]
    #[case("SigIgn:\t0000000000001000\nSigCgt:\t0000000000000001\n", false)]
    #[case("SigIgn:\tnonsense\n", false)]
    #[case("", false)]
    fn a_hangup_is_ignored_where_the_status_says_so(#[case] status: &str, #[case] ignored: bool) {
        assert_eq!(ignores(status, HANGUP), ignored);
    }
}
