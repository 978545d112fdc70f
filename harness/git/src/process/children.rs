//! Which processes are ours, and the end of those that outlive their command.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use rustix::io::Errno;
use rustix::process::{
    Pid, Signal, WaitId, WaitIdOptions, WaitOptions, child_subreaper, getpid, kill_process,
    kill_process_group, set_child_subreaper, waitid, waitpid,
};

/// Makes this process the one that orphans of its commands fall to, so that what left
/// its command's session is found and ended too. For `main` of a binary that starts
/// every child by a [`Runner`](super::Runner) or a [`Minded`]: any other child of it would
/// be taken for such an orphan and killed.
pub fn adopt_orphans() -> io::Result<()> {
    set_child_subreaper(Some(getpid())).map_err(io::Error::from)
}

/// How often, and how far apart, the end of killed processes is looked for.
const LOOKS: u32 = 100;
const APART: Duration = Duration::from_millis(2);

/// Commands that run now. Held while one is started, so that a sweep never meets a
/// child that nobody has written down yet.
static LIVE: Mutex<BTreeSet<i32>> = Mutex::new(BTreeSet::new());

fn live() -> MutexGuard<'static, BTreeSet<i32>> {
    LIVE.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The session of one running command. Its end is the end of everything in it,
/// whether it comes by [`Session::end`] or by a drop.
#[derive(Debug)]
pub(crate) struct Session {
    leader: Pid,
    ended: bool,
}

impl Session {
    /// Starts a command whose process leads a session of its own.
    pub(crate) fn start<T>(
        spawn: impl FnOnce() -> io::Result<T>,
        id: impl FnOnce(&T) -> Option<u32>,
    ) -> io::Result<(T, Self)> {
        let mut live = live();
        let child = spawn()?;
        let leader = id(&child)
            .and_then(|id| i32::try_from(id).ok())
            .and_then(Pid::from_raw)
            .ok_or_else(|| io::Error::other("the process was gone before it was known"))?;
        live.insert(leader.as_raw_nonzero().get());
        Ok((child, Self { leader, ended: false }))
    }

    /// Kills what is left of the session, and waits until it is gone.
    pub(crate) async fn end(mut self) {
        self.kill();
        for _ in 0..LOOKS {
            if !sweep(self.leader) {
                break;
            }
            tokio::time::sleep(APART).await;
        }
        forget(self.leader);
        self.ended = true;
    }

    fn kill(&self) {
        // Nobody left is what we want.
        let _gone = kill_process_group(self.leader, Signal::KILL);
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        if self.ended {
            return;
        }
        self.kill();
        let leader = self.leader;
        // Orphans reach us only after their parents' deaths: somebody has to look on.
        let looking = std::thread::Builder::new().name("sweep".to_owned()).stack_size(128 * 1024);
        let started = looking.spawn(move || {
            for _ in 0..LOOKS {
                if !sweep(leader) {
                    break;
                }
                std::thread::sleep(APART);
            }
            forget(leader);
        });
        if let Err(error) = started {
            tracing::warn!(%error, "failed to start a thread that ends a command's descendants");
            forget(leader);
        }
    }
}

/// A child that this crate did not start and must leave alone: until this is dropped, no
/// sweep takes it for an orphan. What leaves its parent, of that child too, is one.
#[derive(Debug)]
pub struct Minded(Pid);

impl Minded {
    /// Starts a child by `spawn`, which gives its process id.
    pub fn start(spawn: &mut dyn FnMut() -> io::Result<u32>) -> io::Result<Self> {
        let mut live = live();
        let id = spawn()?;
        let id = i32::try_from(id).ok().and_then(Pid::from_raw);
        let id = id.ok_or_else(|| io::Error::other("the process has no id"))?;
        live.insert(id.as_raw_nonzero().get());
        Ok(Self(id))
    }
}

impl Drop for Minded {
    fn drop(&mut self) {
        forget(self.0);
    }
}

fn forget(leader: Pid) {
    live().remove(&leader.as_raw_nonzero().get());
}

/// Kills what `leader` left behind; true while there may be more.
fn sweep(leader: Pid) -> bool {
    let adopting = matches!(child_subreaper(), Ok(Some(_)));
    // One call answers the usual case: who has no child at all has no descendant.
    if adopting && has_no_child() {
        return false;
    }
    let live = live();
    let me = getpid().as_raw_nonzero().get();
    let session = leader.as_raw_nonzero().get();
    let mut more = false;
    for process in processes() {
        let orphan = adopting && process.parent == me && !live.contains(&process.id);
        let member = process.session == session && process.id != session;
        if !(orphan || member) {
            continue;
        }
        let Some(id) = Pid::from_raw(process.id) else { continue };
        if process.zombie {
            // Only our own zombies are ours to bury; another's parent has to.
            if process.parent == me {
                let _buried = waitpid(Some(id), WaitOptions::NOHANG);
            }
            continue;
        }
        let _gone = kill_process(id, Signal::KILL);
        more = true;
    }
    more
}

fn has_no_child() -> bool {
    let options = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
    matches!(waitid(WaitId::All, options), Err(Errno::CHILD))
}

/// What the sweep needs to know of a process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    id: i32,
    parent: i32,
    session: i32,
    zombie: bool,
}

/// Every process that can be seen.
fn processes() -> impl Iterator<Item = Process> {
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    entries.filter_map(|entry| {
        let name = entry.file_name();
        let id: i32 = name.to_str()?.parse().ok()?;
        // Gone meanwhile is gone.
        let stat = std::fs::read(entry.path().join("stat")).ok()?;
        parse_stat(id, &stat)
    })
}

/// Reads `id (name) state parent group session …`; the name may hold anything.
fn parse_stat(id: i32, stat: &[u8]) -> Option<Process> {
    let name_end = stat.iter().rposition(|&byte| byte == b')')?;
    let rest = std::str::from_utf8(&stat[name_end + 1..]).ok()?;
    let mut fields = rest.split_ascii_whitespace();
    let state = fields.next()?;
    let parent = fields.next()?.parse().ok()?;
    let _group = fields.next()?;
    let session = fields.next()?.parse().ok()?;
    Some(Process { id, parent, session, zombie: matches!(state, "Z" | "X") })
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_name_may_hold_blanks_and_brackets() {
        let stat = b"12 (a) S) b) Z 7 8 9 0 -1 4194560 1";
        let process = Process { id: 12, parent: 7, session: 9, zombie: true };
        assert_eq!(parse_stat(12, stat), Some(process));
        assert_eq!(parse_stat(12, b"12 (half"), None);
        assert_eq!(parse_stat(12, b"12 (half) S 1"), None);
    }

    #[test]
    fn this_process_is_seen() {
        let me = i32::try_from(std::process::id()).unwrap();
        let seen: Vec<_> = processes().filter(|process| process.id == me).collect();
        assert_eq!(seen.len(), 1);
        assert!(!seen[0].zombie);
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_parser_fail(bytes in prop::collection::vec(any::<u8>(), 0..80)) {
            let _parsed = parse_stat(1, &bytes);
        }
    }
}
