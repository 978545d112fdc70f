//! The life of one Pod's process: begun or adopted, given fresh tokens, begun again
//! when it ends, ended when its Pod goes.

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, Pod, PodSpec, PodStatus};
use rustix::process::Pid;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

use super::Parts;
use super::folder::Folder;
use super::leftovers;
use super::process::{self, Exit, Process};
use super::secrets::{self, Secrets, Unready};
use super::status::{self, Life};
use super::token;
use crate::apply;
use crate::error::chain;

/// First wait before a process is begun again; doubled each time.
const FIRST_BACKOFF: Duration = Duration::from_secs(1);
/// Longest wait before a process is begun again.
const LONGEST_BACKOFF: Duration = Duration::from_mins(1);
/// A process that lived this long did not crash on start: its backoff begins anew.
const LIVED: Duration = Duration::from_mins(1);
/// How long a fresh process may take to hold its lock.
const LOCKED_WITHIN: Duration = Duration::from_secs(20);
/// How often the lock of a fresh process is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// How often a report that failed is tried again.
const REPORT_AGAIN: Duration = Duration::from_secs(2);
/// How often a token that could not be renewed is tried again.
const RENEW_AGAIN: Duration = Duration::from_secs(10);
/// How often the size of a log is looked at.
const BOUND_LOG_AGAIN: Duration = Duration::from_mins(1);
/// How often a Secret that is missing is looked for.
const SECRET_AGAIN: Duration = Duration::from_secs(5);
/// How often mounted Secrets are read again, as kubelets do.
const REFRESH_AGAIN: Duration = Duration::from_mins(1);
/// Name of the volume that holds the token.
const TOKEN_VOLUME: &str = "token";

/// Looks after the process of one Pod.
pub struct Supervisor {
    parts: Arc<Parts>,
    folder: Folder,
    pod: Arc<Pod>,
    gone: CancellationToken,
    leave: CancellationToken,
    restarts: i32,
    reported: Option<PodStatus>,
}

/// How one life of a process went.
enum Ended {
    /// It ended by itself after this long.
    ByItself(Exit, Duration),
    /// It could not be begun.
    NeverBegun(String),
    /// What it is to be given is not there yet.
    Unready(Unready),
    /// Its Pod is gone, and so is the process.
    WithItsPod,
    /// It lives; the operator leaves.
    NotYet,
}

impl Supervisor {
    /// A supervisor of a Pod. `gone` says the Pod is, `leave` that the operator
    /// leaves and the process stays.
    pub fn new(
        parts: Arc<Parts>,
        folder: Folder,
        pod: Arc<Pod>,
        gone: CancellationToken,
        leave: CancellationToken,
    ) -> Self {
        let restarts = status::restarts(&pod);
        Self { parts, folder, pod, gone, leave, restarts, reported: None }
    }

    /// Looks after the process until its Pod is gone, its end or the operator's; says
    /// whether it ended for good.
    pub async fn run(mut self) -> bool {
        let pod = Arc::clone(&self.pod);
        let Some(spec) = pod.spec.as_ref() else { return false };
        let Some(container) = spec.containers.first() else { return false };
        let mut crashes = 0;
        loop {
            let why = match self.one_life(spec, container).await {
                Ended::WithItsPod => {
                    self.folder.remove();
                    return false;
                }
                Ended::NotYet => return false,
                Ended::ByItself(exit, _) if self.runs_once() => {
                    self.report_over(container, exit).await;
                    return true;
                }
                Ended::ByItself(exit, lived) => {
                    crashes = if lived >= LIVED { 1 } else { crashes + 1 };
                    self.restarts += 1;
                    format!("its process {exit}; its log is {}", self.folder.log().display())
                }
                Ended::NeverBegun(why) => {
                    crashes += 1;
                    why
                }
                Ended::Unready(Unready { reason, message }) => {
                    let seconds = SECRET_AGAIN.as_secs();
                    let message = format!("{message}; looked for every {seconds} s");
                    if !self.wait(container, &Life::Waiting { reason, message }, SECRET_AGAIN).await
                    {
                        self.leave_or_remove();
                        return false;
                    }
                    continue;
                }
            };
            let wait = backoff(crashes);
            tracing::warn!(pod = self.folder.id.name, crashes, why, "a harness is begun again");
            let message = format!("{why}; begun again after {} s", wait.as_secs());
            let life = Life::Waiting { reason: "CrashLoopBackOff", message };
            if !self.wait(container, &life, wait).await {
                self.leave_or_remove();
                return false;
            }
        }
    }

    /// Whether the Pod's process is never begun again.
    fn runs_once(&self) -> bool {
        let policy = self.pod.spec.as_ref().and_then(|spec| spec.restart_policy.as_deref());
        policy == Some("Never")
    }

    /// One process from its begin or adoption to its end.
    async fn one_life(&mut self, spec: &PodSpec, container: &Container) -> Ended {
        let (gone, leave) = (self.gone.clone(), self.leave.clone());
        let renew = tokio::select! {
            renewed = self.renew_token(container) => renewed,
            () = gone.cancelled() => return self.end_found().await,
            () = leave.cancelled() => return Ended::NotYet,
        };
        let mut renew_at = match renew {
            Ok(after) => Instant::now() + after,
            // A process that lives has a token already, good for a while.
            Err(why) if self.folder.holder().is_some() => Instant::now() + self.not_renewed(&why),
            Err(why) => return Ended::NeverBegun(why),
        };
        let (mut process, since) = match self.begin(spec, container).await {
            Ok(begun) => begun,
            Err(ended) => return ended,
        };
        let begun = Instant::now();
        let wanted = status::of(container, &Life::Running(since), self.restarts);
        let mut bound_log_at = begun;
        let refreshes = secrets::has_files(spec, container);
        let mut refresh_at = begun + REFRESH_AGAIN;
        loop {
            let report_again =
                if self.report(&wanted).await { Duration::MAX } else { REPORT_AGAIN };
            tokio::select! {
                exit = process.ended() => return Ended::ByItself(exit, begun.elapsed()),
                () = gone.cancelled() => {
                    process.end().await;
                    return Ended::WithItsPod;
                }
                () = leave.cancelled() => return Ended::NotYet,
                () = tokio::time::sleep(report_again) => {}
                () = tokio::time::sleep_until(renew_at) => {
                    let renewed = self.renew_token(container).await;
                    let after = renewed.unwrap_or_else(|why| self.not_renewed(&why));
                    renew_at = Instant::now() + after;
                }
                () = tokio::time::sleep_until(refresh_at), if refreshes => {
                    self.refresh_secrets(spec, container).await;
                    refresh_at = Instant::now() + REFRESH_AGAIN;
                }
                () = tokio::time::sleep_until(bound_log_at) => {
                    self.bound_log();
                    bound_log_at = Instant::now() + BOUND_LOG_AGAIN;
                }
            }
        }
    }

    /// Adopts the living process, or starts one and waits until it holds its lock.
    async fn begin(
        &self,
        spec: &PodSpec,
        container: &Container,
    ) -> Result<(Process, k8s_openapi::jiff::Timestamp), Ended> {
        let now = self.parts.clock.now();
        if let Some(pid) = self.folder.holder() {
            tracing::info!(pod = self.folder.id.name, "adopted a living harness");
            let since = status::running_since(&self.pod).unwrap_or(now);
            return Ok((Process::adopted(&self.folder, pid), since));
        }
        // What a process left that ended while nobody looked.
        leftovers::end(self.folder.root());
        if self.runs_once() && self.folder.written_pid().is_some() {
            // It ran: once is once.
            return Err(Ended::ByItself(Exit::Unknown, Duration::ZERO));
        }
        let secrets = tokio::select! {
            secrets = self.read_secrets(spec, container) => secrets.map_err(Ended::Unready)?,
            () = self.gone.cancelled() => return Err(Ended::WithItsPod),
            () = self.leave.cancelled() => return Err(Ended::NotYet),
        };
        let mut process = process::start(&self.folder, container, &secrets, &self.parts.config)
            .map_err(|error| Ended::NeverBegun(error.to_string()))?;
        self.parts.metrics.process_started();
        let begun = Instant::now();
        let pid = process.id();
        let locked = tokio::select! {
            exit = process.ended() => return Err(Ended::ByItself(exit, begun.elapsed())),
            locked = self.locked(pid) => locked,
            () = self.gone.cancelled() => {
                process.end().await;
                return Err(Ended::WithItsPod);
            }
            () = self.leave.cancelled() => return Err(Ended::NotYet),
        };
        if !locked {
            process.end().await;
            let seconds = LOCKED_WITHIN.as_secs();
            return Err(Ended::NeverBegun(format!(
                "its process did not take its lock within {seconds} s; its log is {}",
                self.folder.log().display()
            )));
        }
        Ok((process, now))
    }

    /// Waits until the fresh process has written its id into the lock it holds.
    /// Looking at the lock itself could be in the way of the process.
    async fn locked(&self, pid: Pid) -> bool {
        let until = Instant::now() + LOCKED_WITHIN;
        while Instant::now() < until {
            if self.folder.written_pid() == Some(pid) {
                return true;
            }
            tokio::time::sleep(LOOK).await;
        }
        false
    }

    /// Ends a living process that was not yet adopted.
    async fn end_found(&self) -> Ended {
        end_orphan(&self.folder).await;
        Ended::WithItsPod
    }

    /// Puts a fresh token where the process reads it; says when to do so again.
    async fn renew_token(&self, container: &Container) -> Result<Duration, String> {
        let mounts = container.volume_mounts.iter().flatten();
        let Some(mount) = mounts.clone().find(|mount| mount.name == TOKEN_VOLUME) else {
            return Ok(LONGEST_BACKOFF);
        };
        let Parts { client, clock, .. } = &*self.parts;
        let (token, after) =
            token::request(client, clock, &self.folder.id).await.map_err(|error| chain(&error))?;
        let folder = self
            .folder
            .prepare()
            .and_then(|()| self.folder.prepare_mount(&mount.mount_path))
            .map_err(|error| format!("failed to prepare its folder: {error}"))?;
        token::store(&folder.join("token"), &token)
            .map_err(|error| format!("failed to store its token: {error}"))?;
        Ok(after)
    }

    async fn read_secrets(
        &self,
        spec: &PodSpec,
        container: &Container,
    ) -> Result<Secrets, Unready> {
        secrets::read(&self.parts.client, &self.folder.id.namespace, spec, container).await
    }

    /// Puts mounted Secrets in place as they are now. One that is gone leaves its files:
    /// the process goes on with what it was given.
    async fn refresh_secrets(&self, spec: &PodSpec, container: &Container) {
        let pod = &self.folder.id.name;
        match self.read_secrets(spec, container).await {
            Ok(secrets) => {
                if let Err(error) = secrets.place(&self.folder) {
                    tracing::warn!(%error, pod, "failed to place mounted Secrets");
                }
            }
            Err(Unready { reason, message }) => {
                tracing::debug!(pod, reason, message, "mounted Secrets are not read again");
            }
        }
    }

    /// Says why a token is not renewed, and when to try again.
    fn not_renewed(&self, why: &str) -> Duration {
        tracing::warn!(pod = self.folder.id.name, why, "a token is not renewed yet");
        RENEW_AGAIN
    }

    fn bound_log(&self) {
        if let Err(error) = self.folder.bound_log() {
            tracing::warn!(%error, pod = self.folder.id.name, "failed to bound a log");
        }
    }

    /// Reports, when it differs; says whether what is reported is what is wanted.
    async fn report(&mut self, wanted: &PodStatus) -> bool {
        let reported = self.reported.as_ref() == Some(wanted)
            || (self.reported.is_none() && self.is_told_already(wanted));
        if reported {
            self.reported = Some(wanted.clone());
            return true;
        }
        let id = &self.folder.id;
        let write = apply::pod_status(&self.parts.client, &id.namespace, &id.name, &id.uid, wanted);
        match write.await {
            Ok(()) => {
                self.parts.metrics.written("status", "Pod");
                self.reported = Some(wanted.clone());
                true
            }
            Err(error) if error.is_not_found() || error.is_conflict() => true,
            Err(error) => {
                tracing::warn!(pod = id.name, error = chain(&error), "failed to report a process");
                false
            }
        }
    }

    /// Whether the Pod, as it was when this supervisor began, says so already.
    fn is_told_already(&self, wanted: &PodStatus) -> bool {
        self.pod.status.as_ref().is_some_and(|present| {
            present.phase == wanted.phase
                && present.container_statuses.as_ref().and_then(|it| it.first()?.state.clone())
                    == wanted.container_statuses.as_ref().and_then(|it| it.first()?.state.clone())
        })
    }

    /// Reports an end for good, until that is heard.
    async fn report_over(&mut self, container: &Container, exit: Exit) {
        let message = format!("its process {exit}; its log is {}", self.folder.log().display());
        let life = Life::Over { exit, message, at: self.parts.clock.now() };
        let wanted = status::of(container, &life, self.restarts);
        while !self.report(&wanted).await {
            tokio::select! {
                () = self.gone.cancelled() => break,
                () = self.leave.cancelled() => return,
                () = tokio::time::sleep(REPORT_AGAIN) => {}
            }
        }
        self.folder.remove();
    }

    /// Reports and waits; false when there is nothing more to wait for.
    async fn wait(&mut self, container: &Container, life: &Life, wait: Duration) -> bool {
        let wanted = status::of(container, life, self.restarts);
        self.report(&wanted).await;
        tokio::select! {
            () = self.gone.cancelled() => false,
            () = self.leave.cancelled() => false,
            () = tokio::time::sleep(wait) => true,
        }
    }

    fn leave_or_remove(&self) {
        if self.gone.is_cancelled() {
            self.folder.remove();
        }
    }
}

/// Ends a process whose Pod is gone, and takes its folder away.
pub async fn end_orphan(folder: &Folder) {
    if let Some(pid) = folder.holder() {
        Process::adopted(folder, pid).end().await;
    }
    leftovers::end(folder.root());
    folder.remove();
}

fn backoff(crashes: u32) -> Duration {
    FIRST_BACKOFF.saturating_mul(1 << crashes.saturating_sub(1).min(6)).min(LONGEST_BACKOFF)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_process_that_keeps_ending_is_begun_more_and_more_slowly() {
        let waits: Vec<u64> = (1..9).map(|crashes| backoff(crashes).as_secs()).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 60, 60]);
    }
}
