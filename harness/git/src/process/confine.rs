//! Landlock: commands of a model cannot read the folders of keys and tokens.
//!
//! Landlock restricts a thread and whatever it starts from then on. So each command is
//! started by a thread of its own that restricts itself first; no code runs between
//! fork and exec. Landlock knows only what is allowed: to deny one folder, reading is
//! allowed for every sibling of it and of each folder above it. The rules are made anew
//! for each command. What a command itself makes right inside a folder above a denied
//! one, it cannot read; so keep work and temporary files elsewhere.

use std::collections::BTreeMap;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt as _;
use std::path::{Path, PathBuf};

use landlock::{
    AccessFs, CompatLevel, Compatible as _, PathBeneath, Ruleset, RulesetAttr as _, RulesetCreated,
    RulesetCreatedAttr as _, RulesetError, RulesetStatus, Scope,
};
use rustix::fs::{CWD, FileType, Mode, OFlags, fstat, openat};

/// Whether commands of a model are kept out of the denied folders.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Confinement {
    /// No folder is denied.
    NotAsked,
    /// The kernel keeps them out.
    Enforced,
    /// The kernel cannot: only file modes keep them out, and a process of the same user
    /// passes those. Say so once.
    Unavailable {
        /// Why not.
        reason: String,
    },
}

/// Folders that commands of a model must not read, links resolved, and which folders these
/// are: where they stand alone, a command may give them another name.
#[derive(Clone, Debug, Default)]
pub(crate) struct Denied(BTreeMap<PathBuf, FileId>);

/// Device and number of a file.
type FileId = (u64, u64);

impl Denied {
    pub(crate) fn new(folders: &[PathBuf]) -> Result<Self, (PathBuf, io::Error)> {
        let resolve = |folder: &PathBuf| {
            let found = folder.canonicalize().and_then(|path| Ok((id_of(&path)?, path)));
            let (id, path) = found.map_err(|error| (folder.clone(), error))?;
            Ok((path, id))
        };
        folders.iter().map(resolve).collect::<Result<_, _>>().map(Self)
    }

    /// Under another name, a folder would be allowed like any other.
    fn check_in_place(&self) -> Result<(), String> {
        let moved = self.0.iter().find(|(path, id)| {
            let resolved = path.canonicalize().ok();
            resolved.as_ref() != Some(*path) || id_of(path).ok().as_ref() != Some(*id)
        });
        match moved {
            None => Ok(()),
            Some((path, _)) => Err(format!(
                "{} is not the folder any more that it was; put it back as it was",
                path.display()
            )),
        }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Finds out by trying, on a thread that ends at once.
    pub(crate) fn probe(&self) -> Confinement {
        if self.is_empty() {
            return Confinement::NotAsked;
        }
        let denied = self.clone();
        let probe = std::thread::Builder::new().name("landlock".to_owned());
        let probed =
            probe.spawn(move || denied.restrict_this_thread().and_then(|()| denied.try_to_read()));
        let outcome = match probed.map(std::thread::JoinHandle::join) {
            Ok(Ok(outcome)) => outcome,
            Ok(Err(_)) => Err("the probe of Landlock broke off".to_owned()),
            Err(error) => Err(format!("failed to start a thread: {error}")),
        };
        match outcome {
            Ok(()) => Confinement::Enforced,
            Err(reason) => Confinement::Unavailable { reason },
        }
    }

    /// From here on this thread, and whatever it starts, cannot read the folders.
    pub(crate) fn restrict_this_thread(&self) -> Result<(), String> {
        self.check_in_place()?;
        let status = self
            .ruleset()
            .and_then(RulesetCreated::restrict_self)
            .map_err(|error| chain(&error))?;
        match status.ruleset {
            RulesetStatus::FullyEnforced | RulesetStatus::PartiallyEnforced => Ok(()),
            RulesetStatus::NotEnforced => Err("the kernel does not enforce Landlock".to_owned()),
        }
    }

    fn ruleset(&self) -> Result<RulesetCreated, RulesetError> {
        // Without its own right, a file could not be moved to another folder any more.
        let mut ruleset = Ruleset::default()
            .set_compatibility(CompatLevel::HardRequirement)
            .handle_access(AccessFs::ReadFile | AccessFs::Refer)?
            .set_compatibility(CompatLevel::BestEffort)
            // Nor do commands signal processes that are not theirs, where the kernel can.
            .scope(Scope::Signal)?
            .create()?;
        let root = Path::new("/");
        if let Ok(fd) = open(root) {
            ruleset = ruleset.add_rule(PathBeneath::new(fd, AccessFs::Refer))?;
        }
        self.allow_all_but_denied(root, ruleset)
    }

    /// Allows reading what is in `folder`, which is above a denied one.
    fn allow_all_but_denied(
        &self,
        folder: &Path,
        mut ruleset: RulesetCreated,
    ) -> Result<RulesetCreated, RulesetError> {
        // What cannot be listed or opened stays forbidden.
        for entry in std::fs::read_dir(folder).into_iter().flatten().flatten() {
            let path = entry.path();
            if self.0.contains_key(&path) {
                continue;
            }
            if self.0.keys().any(|denied| denied.starts_with(&path)) {
                ruleset = self.allow_all_but_denied(&path, ruleset)?;
                continue;
            }
            // A link is no way around: what it names is allowed where it is, or not at all.
            if let Ok(fd) = open(&path)
                && let Ok(status) = fstat(&fd)
                && FileType::from_raw_mode(status.st_mode) != FileType::Symlink
            {
                ruleset = ruleset.add_rule(PathBeneath::new(fd, AccessFs::ReadFile))?;
            }
        }
        Ok(ruleset)
    }

    /// On a restricted thread: no file of the folders may open.
    fn try_to_read(&self) -> Result<(), String> {
        let readable = self.0.keys().find_map(|folder| {
            let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
            entries
                .map(|entry| entry.path())
                .find(|path| path.is_file() && File::open(path).is_ok())
        });
        match readable {
            None => Ok(()),
            Some(path) => Err(format!("{} can be read in spite of Landlock", path.display())),
        }
    }
}

/// Names a file without opening it; a link is not followed.
fn open(path: &Path) -> rustix::io::Result<OwnedFd> {
    openat(CWD, path, OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC, Mode::empty())
}

fn id_of(path: &Path) -> io::Result<FileId> {
    std::fs::metadata(path).map(|found| (found.dev(), found.ino()))
}

fn chain(error: &dyn std::error::Error) -> String {
    crate::error::chain(error)
}
