//! Where a process of this machine has its lock, its mounts and its log.

use std::fs::{File, OpenOptions};
use std::io::{self, Read as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use k8s_openapi::jiff::{SignedDuration, Timestamp};
use rustix::fs::{FlockOperation, flock};
use rustix::process::Pid;

use super::PodId;

/// Folder of the processes' state.
pub const PODS: &str = "pods";
/// Folder of the processes' logs, which outlive them.
pub const LOGS: &str = "logs";

/// Bytes of a log before it is set aside; one that was set aside before goes.
const MOST_LOG: u64 = 16 * 1024 * 1024;
/// How long the log of a process that is gone is kept.
const KEEP_LOG: SignedDuration = SignedDuration::from_hours(14 * 24);

const LOCK: &str = "lock";
const MOUNTS: &str = "mounts";
const OWNER: &str = "owner";

/// The folder of one Pod's process.
#[derive(Debug, Clone)]
pub struct Folder {
    /// Whose folder it is.
    pub id: PodId,
    root: PathBuf,
    log: PathBuf,
}

impl Folder {
    /// The folder of a Pod beneath the runtime's own.
    pub fn new(dir: &Path, id: PodId) -> Self {
        let root = dir.join(PODS).join(&id.uid);
        let log = dir.join(LOGS).join(&id.namespace).join(format!("{}.log", id.name));
        Self { id, root, log }
    }

    /// The folder itself.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Makes the folder, readable by this user only, and notes whose it is.
    pub fn prepare(&self) -> io::Result<()> {
        private_folder(&self.root)?;
        if let Some(logs) = self.log.parent() {
            private_folder(logs)?;
        }
        let PodId { namespace, name, uid: _, agent } = &self.id;
        std::fs::write(self.root.join(OWNER), format!("{namespace}\n{name}\n{agent}\n"))
    }

    /// Makes the folder that stands for a mount and gives its path.
    pub fn prepare_mount(&self, mount_path: &str) -> io::Result<PathBuf> {
        let folder = self.mount(mount_path);
        private_folder(&folder)?;
        Ok(folder)
    }

    /// The folder that stands for a mount.
    pub fn mount(&self, mount_path: &str) -> PathBuf {
        self.root.join(MOUNTS).join(mount_path.trim_start_matches('/'))
    }

    /// The file whose lock the process holds for its life.
    pub fn lock(&self) -> PathBuf {
        self.root.join(LOCK)
    }

    /// The log, opened to be added to.
    pub fn open_log(&self) -> io::Result<File> {
        OpenOptions::new().create(true).append(true).mode(0o600).open(&self.log)
    }

    /// Sets a log that has grown too long aside and begins it anew; the process, which
    /// adds at the end, goes on at the start.
    pub fn bound_log(&self) -> io::Result<()> {
        if std::fs::metadata(&self.log)?.len() <= MOST_LOG {
            return Ok(());
        }
        std::fs::copy(&self.log, self.log.with_extension("log.1"))?;
        OpenOptions::new().write(true).open(&self.log)?.set_len(0)
    }

    /// Where the log is, for messages.
    pub fn log(&self) -> &Path {
        &self.log
    }

    /// The process id that the process wrote into its lock file.
    pub fn written_pid(&self) -> Option<Pid> {
        let mut text = String::new();
        // A process id is a few digits; whatever else is in there is not one.
        File::open(self.lock()).ok()?.take(32).read_to_string(&mut text).ok()?;
        // As a process group, 1 would mean every process there is.
        let number = text.trim().parse().ok().filter(|number| *number > 1)?;
        Pid::from_raw(number)
    }

    /// The living process of this folder: whoever holds the lock.
    pub fn holder(&self) -> Option<Pid> {
        let file = File::open(self.lock()).ok()?;
        match flock(&file, FlockOperation::NonBlockingLockShared) {
            // Free: nobody lives here. Closing the file gives the lock back.
            Ok(()) => None,
            Err(_) => self.written_pid(),
        }
    }

    /// Takes away everything but the log.
    pub fn remove(&self) {
        if let Err(error) = std::fs::remove_dir_all(&self.root)
            && error.kind() != io::ErrorKind::NotFound
        {
            tracing::warn!(%error, folder = %self.root.display(), "failed to remove a folder");
        }
    }
}

/// Makes the folders beneath which all others are, and tries to write there.
pub fn make_roots(dir: &Path) -> io::Result<()> {
    private_folder(&dir.join(PODS))?;
    private_folder(&dir.join(LOGS))?;
    let probe = dir.join(format!("probe-{}", std::process::id()));
    std::fs::write(&probe, "probe")?;
    std::fs::remove_file(&probe)
}

/// Folders an earlier operator left, and whose they are.
pub fn left_behind(dir: &Path) -> Vec<PodId> {
    let Ok(entries) = std::fs::read_dir(dir.join(PODS)) else { return Vec::new() };
    entries
        .filter_map(|entry| {
            let entry = entry.ok()?;
            let uid = entry.file_name().into_string().ok()?;
            let owner = std::fs::read_to_string(entry.path().join(OWNER)).ok()?;
            let mut lines = owner.lines().map(str::to_owned);
            Some(PodId { namespace: lines.next()?, name: lines.next()?, agent: lines.next()?, uid })
        })
        .collect()
}

/// Removes logs that nothing was added to for long, but those `in_use`.
pub fn remove_old_logs(dir: &Path, in_use: &[PathBuf], now: Timestamp) {
    let entries = |folder: &Path| std::fs::read_dir(folder).into_iter().flatten().flatten();
    for namespace in entries(&dir.join(LOGS)) {
        for log in entries(&namespace.path()) {
            let is_old = log
                .metadata()
                .and_then(|metadata| metadata.modified())
                .ok()
                .and_then(|modified| Timestamp::try_from(modified).ok())
                .is_some_and(|modified| now.duration_since(modified) > KEEP_LOG);
            if !is_old || in_use.contains(&log.path()) {
                continue;
            }
            if let Err(error) = std::fs::remove_file(log.path()) {
                tracing::warn!(%error, log = %log.path().display(), "failed to remove an old log");
            }
        }
    }
}

fn private_folder(path: &Path) -> io::Result<()> {
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(dir: &Path) -> Folder {
        let id = PodId {
            namespace: "team".to_owned(),
            name: "foundry-agent-ann-1-local".to_owned(),
            uid: "uid-1".to_owned(),
            agent: "ann".to_owned(),
        };
        Folder::new(dir, id)
    }

    #[test]
    fn a_process_is_alive_as_long_as_its_lock_is_held() {
        let dir = tempfile::tempdir().unwrap();
        let folder = folder(dir.path());
        folder.prepare().unwrap();
        assert_eq!(folder.holder(), None, "no lock file");
        std::fs::write(folder.lock(), "4711\n").unwrap();
        assert_eq!(folder.holder(), None, "a pid without a lock is nobody");
        let held = File::open(folder.lock()).unwrap();
        flock(&held, FlockOperation::NonBlockingLockExclusive).unwrap();
        assert_eq!(folder.holder(), Pid::from_raw(4711));
        drop(held);
        assert_eq!(folder.holder(), None);
    }

    #[test]
    fn what_an_earlier_operator_left_is_found_with_its_owner() {
        let dir = tempfile::tempdir().unwrap();
        let folder = folder(dir.path());
        folder.prepare().unwrap();
        assert_eq!(left_behind(dir.path()), std::slice::from_ref(&folder.id));
        folder.remove();
        assert!(left_behind(dir.path()).is_empty());
    }

    #[test]
    fn a_lock_file_never_names_every_process() {
        let dir = tempfile::tempdir().unwrap();
        let folder = folder(dir.path());
        folder.prepare().unwrap();
        for text in ["1", "0", "-1", "-4711", "", "seven"] {
            std::fs::write(folder.lock(), text).unwrap();
            assert_eq!(folder.written_pid(), None, "{text}");
        }
    }

    #[test]
    fn a_log_that_grew_too_long_is_set_aside_and_goes_on() {
        use std::io::Write as _;
        let dir = tempfile::tempdir().unwrap();
        let folder = folder(dir.path());
        folder.prepare().unwrap();
        let mut process = folder.open_log().unwrap();
        writeln!(process, "short").unwrap();
        folder.bound_log().unwrap();
        assert_eq!(std::fs::read_to_string(folder.log()).unwrap(), "short\n");
        process.set_len(MOST_LOG + 1).unwrap();
        folder.bound_log().unwrap();
        writeln!(process, "on").unwrap();
        assert_eq!(std::fs::read_to_string(folder.log()).unwrap(), "on\n");
    }

    #[test]
    fn only_logs_that_are_old_and_out_of_use_are_removed() {
        let dir = tempfile::tempdir().unwrap();
        let folder = folder(dir.path());
        folder.prepare().unwrap();
        drop(folder.open_log().unwrap());
        let modified = std::fs::metadata(folder.log()).unwrap().modified().unwrap();
        let written = Timestamp::try_from(modified).unwrap();
        let later = written + KEEP_LOG + SignedDuration::from_secs(1);
        remove_old_logs(dir.path(), &[], written);
        remove_old_logs(dir.path(), &[folder.log().to_owned()], later);
        assert!(folder.log().exists());
        remove_old_logs(dir.path(), &[], later);
        assert!(!folder.log().exists());
    }

    #[test]
    fn a_mount_stays_inside_the_folder() {
        let dir = tempfile::tempdir().unwrap();
        let mount = folder(dir.path()).mount("/var/run/secrets/foundry");
        assert!(mount.starts_with(dir.path().join("pods/uid-1/mounts")), "{}", mount.display());
    }
}
