//! A walk through a part of the clone: in order, by handles, pruned by `.gitignore`,
//! and bounded, for some repositories are larger than anybody's patience.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use cap_std::fs::{Dir, Metadata};

use crate::locate::{self, Place, is_git};
use crate::scope::Standing;
use crate::{Error, Workspace, shown};

mod ignored;

use ignored::Ignored;

/// Entries looked at in one walk.
const MOST_ENTRIES: usize = 400_000;
/// Entries of one folder.
const MOST_IN_FOLDER: usize = 50_000;
/// Folders within folders; each holds a handle.
const DEEPEST: usize = 100;

/// Tells a job that nobody waits for it any more.
#[derive(Clone, Debug, Default)]
pub struct Cancel(Arc<AtomicBool>);

impl Cancel {
    /// Tells it.
    pub fn cancel(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether it was told.
    pub fn is_cancelled(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}

/// One thing met on a walk.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Found {
    /// Its path from the root of the clone.
    pub path: PathBuf,
    /// What it is.
    pub kind: Kind,
}

/// What a thing in a folder is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A regular file.
    File,
    /// A folder; the walk goes into it next.
    Folder,
    /// A symbolic link; never followed.
    Link,
    /// A pipe, socket or device.
    Other,
}

/// What was not looked at.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LeftOut {
    /// Things that `.gitignore` names.
    pub ignored: usize,
    /// Folders that could not be opened, or were too deep.
    pub unreadable: usize,
    /// Whether the walk ended before its end, for its length.
    pub cut: bool,
}

impl LeftOut {
    /// Lines for the model, each with a line feed before it.
    pub fn words(&self) -> String {
        let mut words = String::new();
        if self.cut {
            words += "\n[stopped: there are too many files here; name a folder further down]";
        }
        if self.unreadable > 0 {
            let folders = shown::count(self.unreadable, "folder");
            shown::push(&mut words, format_args!("\n[left out: {folders} that could not be read]"));
        }
        words
    }
}

/// A walk; call [`Walk::step`] until it answers none.
pub struct Walk<'a> {
    workspace: &'a Workspace,
    cancel: &'a Cancel,
    levels: Vec<Level>,
    skipped: fn(&OsStr) -> bool,
    looked_at: usize,
    left_out: LeftOut,
}

struct Level {
    dir: Dir,
    path: PathBuf,
    /// Entries in order, the next one last.
    rest: Vec<(OsString, Kind)>,
    ignored: Option<Ignored>,
}

impl<'a> Walk<'a> {
    /// Begins in a folder. The folder itself is walked even when it is ignored.
    pub fn new(workspace: &'a Workspace, start: &Place, cancel: &'a Cancel) -> Result<Self, Error> {
        let root = workspace.handle();
        let mut walk = Self {
            workspace,
            cancel,
            levels: Vec::new(),
            skipped: |_| false,
            looked_at: 0,
            left_out: LeftOut::default(),
        };
        // What is ignored is said in every folder from the root down, so it is walked
        // from there; the path holds no links.
        let failed = |source| Error::io("open", &start.shown())(source);
        let mut dir = root.try_clone().map_err(failed)?;
        let mut path = PathBuf::new();
        let mut ignored = Ignored::of_repository(root);
        for name in start.path() {
            let beneath = locate::open_folder(&dir, name).map_err(failed)?;
            walk.levels.push(Level { dir, path: path.clone(), rest: Vec::new(), ignored });
            ignored = Ignored::of(&beneath);
            dir = beneath;
            path.push(name);
        }
        let rest = walk.read(&dir).map_err(failed)?;
        walk.levels.push(Level { dir, path, rest, ignored });
        Ok(walk)
    }

    /// Leaves out folders of these names.
    pub fn skipping(mut self, skipped: fn(&OsStr) -> bool) -> Self {
        self.skipped = skipped;
        self
    }

    /// The next thing: what a folder holds comes right after it, in order of names.
    pub fn step(&mut self) -> Result<Option<Found>, Error> {
        loop {
            if self.cancel.is_cancelled() {
                return Err(Error::Cancelled);
            }
            let Some(level) = self.levels.last_mut() else { return Ok(None) };
            let Some((name, kind)) = level.rest.pop() else {
                self.levels.pop();
                continue;
            };
            let path = level.path.join(&name);
            let is_folder = kind == Kind::Folder;
            if is_git(&name) || (is_folder && (self.skipped)(&name)) {
                continue;
            }
            if self.workspace.scope().standing(&path) == Standing::Outside {
                continue;
            }
            if self.looked_at >= MOST_ENTRIES {
                self.left_out.cut = true;
                self.levels.clear();
                return Ok(None);
            }
            self.looked_at += 1;
            if self.is_ignored(&path, is_folder) {
                self.left_out.ignored += 1;
                continue;
            }
            if is_folder {
                self.enter(&name, &path);
            }
            return Ok(Some(Found { path, kind }));
        }
    }

    /// Opens the file that [`Walk::step`] gave last.
    pub fn open(&self, found: &Found) -> io::Result<(File, Metadata)> {
        let missing = || io::Error::from(io::ErrorKind::NotFound);
        let level = self.levels.last().ok_or_else(missing)?;
        locate::open_file(&level.dir, found.path.file_name().ok_or_else(missing)?)
    }

    /// What has been left out so far.
    pub fn left_out(&self) -> &LeftOut {
        &self.left_out
    }

    fn enter(&mut self, name: &OsStr, path: &Path) {
        let opened = match self.levels.last() {
            Some(level) if self.levels.len() < DEEPEST => {
                locate::open_folder(&level.dir, name).ok()
            }
            _ => None,
        };
        let entries = opened.and_then(|dir| Some((self.read(&dir).ok()?, dir)));
        let Some((rest, dir)) = entries else {
            self.left_out.unreadable += 1;
            return;
        };
        let says = rest.iter().any(|(name, _)| name == ignored::FILE);
        let ignored = if says { Ignored::of(&dir) } else { None };
        self.levels.push(Level { dir, path: path.to_owned(), rest, ignored });
    }

    fn read(&mut self, dir: &Dir) -> io::Result<Vec<(OsString, Kind)>> {
        let mut entries = Vec::new();
        for entry in dir.entries()? {
            if entries.len() >= MOST_IN_FOLDER {
                self.left_out.cut = true;
                break;
            }
            let entry = entry?;
            let file_type = entry.file_type()?;
            let kind = if file_type.is_file() {
                Kind::File
            } else if file_type.is_dir() {
                Kind::Folder
            } else if file_type.is_symlink() {
                Kind::Link
            } else {
                Kind::Other
            };
            entries.push((entry.file_name(), kind));
        }
        entries.sort_unstable_by(|(a, _), (b, _)| b.cmp(a));
        Ok(entries)
    }

    /// Whether the nearest folder that says something of a path says to ignore it.
    fn is_ignored(&self, path: &Path, is_folder: bool) -> bool {
        for level in self.levels.iter().rev() {
            let Some(ignored) = &level.ignored else { continue };
            if let Ok(beneath) = path.strip_prefix(&level.path)
                && let Some(answer) = ignored.says(beneath, is_folder)
            {
                return answer;
            }
        }
        false
    }
}
