//! Corepack's home, which an image brings and a pod may not write (WORK-14).
//!
//! The image holds a version of each package manager. A repository that pins another one
//! has it fetched, into the same folder: below a read-only root that fails. So commands get
//! a copy in the pod's own home instead.

use std::ffi::{OsStr, OsString};
use std::fs::{self, OpenOptions};
use std::io;
use std::os::unix::fs::{PermissionsExt as _, symlink};
use std::path::{Path, PathBuf};

use tracing::{info, warn};
use uuid::Uuid;

/// The variable that names the folder.
const VARIABLE: &str = "COREPACK_HOME";
/// Where the copy goes, below the pod's home.
const COPY: &str = ".cache/corepack";
/// Deepest folder that is copied; Corepack's own lie four deep.
const DEPTH: usize = 64;

/// Names and values of an environment.
type Variables = Vec<(OsString, OsString)>;

/// The environment with a Corepack home that can be written. Where no copy can be made the
/// image's folder stays, which serves every repository that pins no other version.
pub fn with_writable_home(environment: Variables, home: &Path) -> Variables {
    let Some(copy) = replacement(&environment, home, is_writable) else { return environment };
    match copied(&copy) {
        Ok(()) => {
            info!(from = %copy.from.display(), to = %copy.to.display(),
                "commands use a copy of {VARIABLE}, which cannot be written");
            replaced(environment, copy.to)
        }
        Err(error) => {
            warn!(from = %copy.from.display(), to = %copy.to.display(), cause = %error,
                "failed to copy {VARIABLE}; a repository that pins another package manager \
                 cannot fetch it");
            environment
        }
    }
}

/// A folder that is to be copied.
#[derive(Debug, PartialEq, Eq)]
struct Replacement {
    from: PathBuf,
    to: PathBuf,
}

/// The copy to make, when the environment names a folder that cannot be written.
fn replacement(
    environment: &[(OsString, OsString)],
    home: &Path,
    is_writable: impl Fn(&Path) -> bool,
) -> Option<Replacement> {
    // Of a variable that is there twice the last counts, as it does for a program.
    let (_, named) = environment.iter().rev().find(|(name, _)| name == OsStr::new(VARIABLE))?;
    let (from, to) = (PathBuf::from(named), home.join(COPY));
    // A relative folder is another one in every command's folder.
    let replaces = from.is_absolute() && from != to && !is_writable(&from);
    replaces.then_some(Replacement { from, to })
}

fn replaced(environment: Variables, folder: PathBuf) -> Variables {
    let others = environment.into_iter().filter(|(name, _)| name != OsStr::new(VARIABLE));
    others.chain([(OsString::from(VARIABLE), folder.into_os_string())]).collect()
}

/// Whether a file can be made in the folder: permissions alone do not tell of a read-only
/// file system, nor what root may do.
fn is_writable(folder: &Path) -> bool {
    let probe = folder.join(format!(".foundry-{}", Uuid::now_v7().simple()));
    let made = OpenOptions::new().write(true).create_new(true).open(&probe).is_ok();
    // Of a probe that cannot be taken away again nothing depends.
    made && fs::remove_file(&probe).is_ok()
}

/// Copies the folder whole or not at all: a process that is killed meanwhile leaves nothing
/// under the copy's name. One that an earlier process of this pod made is kept, with what
/// has been fetched into it.
fn copied(Replacement { from, to }: &Replacement) -> io::Result<()> {
    if is_folder(to) && is_writable(to) {
        return Ok(());
    }
    let beside = to.with_file_name(format!(".corepack-{}", Uuid::now_v7().simple()));
    fs::create_dir_all(beside.parent().unwrap_or(&beside))?;
    let made = fs::create_dir(&beside)
        .and_then(|()| if from.is_dir() { copy_into(from, &beside, DEPTH) } else { Ok(()) })
        .and_then(|()| fs::rename(&beside, to));
    if made.is_err() {
        // What is left over is in nobody's way; the first error is the one to tell.
        drop(fs::remove_dir_all(&beside));
    }
    made
}

/// Copies what is in a folder. A link stays a link: following it could lead out of the
/// folder, or in a circle.
fn copy_into(from: &Path, to: &Path, depth: usize) -> io::Result<()> {
    if depth == 0 {
        return Err(io::Error::other("the folders are nested too deep"));
    }
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        let (kind, target) = (entry.file_type()?, to.join(entry.file_name()));
        if kind.is_symlink() {
            symlink(fs::read_link(entry.path())?, &target)?;
        } else if kind.is_dir() {
            fs::create_dir(&target)?;
            copy_into(&entry.path(), &target, depth - 1)?;
        } else if kind.is_file() {
            fs::copy(entry.path(), &target)?;
            // A file that nobody may write is one that Corepack cannot bring up to date.
            let mut permissions = fs::metadata(&target)?.permissions();
            permissions.set_mode(permissions.mode() | 0o200);
            fs::set_permissions(&target, permissions)?;
        }
        // Sockets, pipes and devices are nothing that a package manager is made of.
    }
    Ok(())
}

/// Whether this is a folder itself, and no link to one.
fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|found| found.is_dir())
}

#[cfg(test)]
mod tests;
