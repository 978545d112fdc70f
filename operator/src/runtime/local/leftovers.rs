//! What a process left behind when it went.
//!
//! A harness runs commands in sessions of their own, which a signal to its group does
//! not reach; in a container they would end with it. Here they are known by their
//! environment: it leads into the folder of their Pod, whose name is nobody else's.

use std::ffi::OsStr;
use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use rustix::process::{Pid, PidfdFlags, Signal, pidfd_open, pidfd_send_signal};

/// Variables that lead a process into the folder of its Pod.
const LEADING: [&str; 3] = ["HOME", "TMPDIR", "FOUNDRY_LOCK_FILE"];
/// How often all processes are looked through: one that is ended may have started
/// another meanwhile.
const ROUNDS: usize = 8;
/// Longest environment that is read.
const MOST_BYTES: u64 = 1024 * 1024;

/// Ends every process of ours whose environment leads beneath `folder`.
pub fn end(folder: &Path) {
    for _ in 0..ROUNDS {
        let found = processes().filter(|pid| end_if_led(*pid, folder)).count();
        if found == 0 {
            return;
        }
        tracing::info!(found, folder = %folder.display(), "ended what a process left behind");
    }
    tracing::warn!(folder = %folder.display(), "failed to end all that a process left behind");
}

/// Says whether the process was led there, and ends it if so.
fn end_if_led(pid: Pid, folder: &Path) -> bool {
    // Opened before it is looked at: the id may be another's by the time of the signal.
    let Ok(process) = pidfd_open(pid, PidfdFlags::empty()) else { return false };
    if !is_led(&environment(pid), folder) {
        return false;
    }
    match pidfd_send_signal(&process, Signal::KILL) {
        Ok(()) => true,
        Err(error) => {
            let is_gone = error == rustix::io::Errno::SRCH;
            if !is_gone {
                tracing::warn!(%error, pid = pid.as_raw_nonzero(), "failed to end a process");
            }
            false
        }
    }
}

fn processes() -> impl Iterator<Item = Pid> {
    let own = std::process::id().to_string();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(move |entry| {
        let name = entry.file_name();
        let id = name.to_str().filter(|name| *name != own)?.parse().ok()?;
        Pid::from_raw(id)
    })
}

/// What a process was started with; nothing of one that is not ours, or at its end.
fn environment(pid: Pid) -> Vec<u8> {
    let mut bytes = Vec::new();
    let read = File::open(format!("/proc/{}/environ", pid.as_raw_nonzero()))
        .and_then(|file| file.take(MOST_BYTES).read_to_end(&mut bytes));
    if read.is_err() {
        bytes.clear();
    }
    bytes
}

fn is_led(environment: &[u8], folder: &Path) -> bool {
    environment.split(|byte| *byte == 0).any(|variable| {
        let mut parts = variable.splitn(2, |byte| *byte == b'=');
        let (Some(name), Some(value)) = (parts.next(), parts.next()) else { return false };
        LEADING.iter().any(|leading| leading.as_bytes() == name)
            && Path::new(OsStr::from_bytes(value)).starts_with(folder)
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("PATH=/bin\0HOME=/state/pods/uid-1/mounts/work\0", true)]
    #[case("TMPDIR=/state/pods/uid-1/mounts/tmp", true)]
    #[case("FOUNDRY_LOCK_FILE=/state/pods/uid-1/lock\0", true)]
    #[case("HOME=/state/pods/uid-10/mounts/work\0", false)]
    #[case("PWD=/state/pods/uid-1/mounts/work\0OLDPWD=/state/pods/uid-1\0", false)]
    #[case("XHOME=/state/pods/uid-1\0HOME\0", false)]
    #[case("", false)]
    fn only_what_is_at_home_in_the_folder_is_led_there(
        #[case] environment: &str,
        #[case] is: bool,
    ) {
        let folder = Path::new("/state/pods/uid-1");
        assert_eq!(is_led(environment.as_bytes(), folder), is, "{environment:?}");
    }
}
