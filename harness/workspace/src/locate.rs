//! How a path is walked: component by component, each opened beneath the handle of the
//! one before, so that the rules of the workspace hold for where a path truly leads.
//!
//! Links are followed by us and not by the kernel. A check of the text of a path would
//! miss a link into `.git` or out of a permitted folder, and a check before an open
//! would miss what is exchanged in between: what was opened is compared with what was
//! looked at.

use std::collections::VecDeque;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::path::{Component, Path, PathBuf};

use cap_std::fs::{Dir, FileType, FileTypeExt, Metadata, MetadataExt, OpenOptions, OpenOptionsExt};
use rustix::fs::OFlags;

use crate::scope::{Scope, Standing};
use crate::{Error, Workspace, shown};

mod hint;

/// Links on one path, as the kernel counts them.
const MOST_LINKS: usize = 40;

/// What is done with the last component of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Last {
    /// A link is followed.
    Follow,
    /// A link is what was asked for.
    Keep,
    /// As `Keep`, and missing folders above it are made.
    Make,
}

/// Where a path leads.
#[derive(Debug)]
pub struct Place {
    parent: Dir,
    /// Absent when the place is the folder `parent` itself.
    name: Option<OsString>,
    path: PathBuf,
    found: Option<Metadata>,
    standing: Standing,
    /// How the folder `parent` stands.
    above: Standing,
}

impl Place {
    /// The path, relative to the root and without links before its last component.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The path, for the model.
    pub fn shown(&self) -> String {
        shown::path(&self.path)
    }

    /// The folder it is in, and its name there; none for the root.
    pub fn entry(&self) -> Option<(&Dir, &OsStr)> {
        self.name.as_deref().map(|name| (&self.parent, name))
    }

    /// What was found there, links not followed.
    pub fn found(&self) -> Option<&Metadata> {
        self.found.as_ref()
    }

    /// How it stands to the permitted paths; never outside.
    pub fn standing(&self) -> Standing {
        self.standing
    }

    /// Whether it is a folder.
    pub fn is_folder(&self) -> bool {
        self.name.is_none() || self.found.as_ref().is_some_and(Metadata::is_dir)
    }

    /// Opens it as a folder.
    pub fn open_folder(&self) -> Result<Dir, Error> {
        let path = self.shown();
        let Some(name) = &self.name else {
            return self.parent.try_clone().map_err(Error::io("open", &path));
        };
        if self.found.is_none() {
            return Err(self.missing());
        }
        if !self.is_folder() {
            return Err(Error::NotAFolder { path });
        }
        open_folder(&self.parent, name).map_err(|error| opening(error, path))
    }

    /// Opens it as a regular file; `instead` is what to do with a folder.
    pub fn open_file(&self, instead: &'static str) -> Result<(File, Metadata), Error> {
        let path = self.shown();
        let (Some(name), false) = (&self.name, self.is_folder()) else {
            return Err(Error::IsAFolder { path, instead });
        };
        let Some(found) = &self.found else { return Err(self.missing()) };
        if !found.is_file() {
            return Err(Error::NotRegular { path, kind: kind(found.file_type()) });
        }
        open_file(&self.parent, name).map_err(|error| opening(error, path))
    }

    /// Nothing is there; names what is there by a similar name.
    pub fn missing(&self) -> Error {
        let near = self.name.as_deref().map(|name| hint::near(&self.parent, self.above, name));
        Error::NotFound { path: self.shown(), hint: near.unwrap_or_default() }
    }
}

/// Walks a path from the root of the workspace.
pub fn locate(
    workspace: &Workspace,
    scope: &Scope,
    given: &str,
    last: Last,
) -> Result<Place, Error> {
    let place = walk(workspace, scope, OsStr::new(given), last);
    let missing = match &place {
        Ok(place) => place.name.is_some() && place.found.is_none(),
        Err(error) => matches!(error, Error::NotFound { .. }),
    };
    // A name that is not UTF-8 is shown with \x.. and can be asked for in that form.
    if missing
        && last != Last::Make
        && let Some(bytes) = shown::unescaped(given)
        && let Ok(place) = walk(workspace, scope, &bytes, last)
        && place.found.is_some()
    {
        return Ok(place);
    }
    place
}

enum Move {
    Up,
    Into(OsString),
}

fn walk(workspace: &Workspace, scope: &Scope, given: &OsStr, last: Last) -> Result<Place, Error> {
    let asked = shown::path(Path::new(given));
    let outside = || Error::Outside { path: asked.clone() };
    if given.as_encoded_bytes().contains(&0) {
        return Err(Error::NotAPath { path: asked.clone(), why: "it holds a NUL character" });
    }
    let (mut moves, _) = moves(Path::new(given), workspace.roots()).ok_or_else(outside)?;
    let mut trail: Vec<Dir> = Vec::new();
    let mut path = PathBuf::new();
    let mut links = 0;
    while let Some(next) = moves.pop_front() {
        let name = match next {
            Move::Up => {
                if trail.pop().is_none() {
                    return Err(outside());
                }
                path.pop();
                continue;
            }
            Move::Into(name) => name,
        };
        let here = trail.last().unwrap_or(workspace.handle());
        let there = path.join(&name);
        allow(scope, &there, &name)?;
        let found = match here.symlink_metadata(&name) {
            Ok(found) => Some(found),
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => return Err(Error::io("look at", &shown::path(&there))(error)),
        };
        let is_last = moves.is_empty();
        let is_link = found.as_ref().is_some_and(Metadata::is_symlink);
        if is_link && !(is_last && last != Last::Follow) {
            links += 1;
            if links > MOST_LINKS {
                return Err(Error::TooManyLinks { path: asked });
            }
            let target = here
                .read_link_contents(&name)
                .map_err(Error::io("read the link", &shown::path(&there)))?;
            let (steps, anew) = self::moves(&target, workspace.roots()).ok_or_else(outside)?;
            if anew {
                trail.clear();
                path.clear();
            }
            for step in steps.into_iter().rev() {
                moves.push_front(step);
            }
            continue;
        }
        if is_last {
            let parent = here.try_clone().map_err(Error::io("open", &asked))?;
            let standing = scope.standing(&there);
            let above = scope.standing(&path);
            return Ok(Place { parent, name: Some(name), path: there, found, standing, above });
        }
        let Some(found) = found else {
            if last != Last::Make {
                let hint = hint::near(here, scope.standing(&path), &name);
                return Err(Error::NotFound { path: shown::path(&there), hint });
            }
            allow_all(scope, &there, &moves)?;
            match here.create_dir(&name) {
                Ok(()) => {}
                // Somebody else made it, or a link of that name: look again.
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => {
                    return Err(Error::io("make the folder", &shown::path(&there))(error));
                }
            }
            moves.push_front(Move::Into(name));
            continue;
        };
        if !found.is_dir() {
            return Err(Error::NotAFolder { path: shown::path(&there) });
        }
        let dir = open_folder(here, &name).map_err(|e| opening(e, shown::path(&there)))?;
        trail.push(dir);
        path = there;
    }
    let here = trail.last().unwrap_or(workspace.handle());
    let parent = here.try_clone().map_err(Error::io("open", &asked))?;
    let standing = scope.standing(&path);
    Ok(Place { parent, name: None, path, found: None, standing, above: standing })
}

/// The steps of a path, and whether they begin at the root; none when it is absolute
/// and elsewhere.
fn moves(path: &Path, roots: &[PathBuf]) -> Option<(VecDeque<Move>, bool)> {
    let (relative, anew) = if path.is_absolute() {
        let beneath = roots.iter().find_map(|root| path.strip_prefix(root).ok())?;
        (beneath, true)
    } else {
        (path, false)
    };
    let mut moves = VecDeque::new();
    for component in relative.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => moves.push_back(Move::Up),
            Component::Normal(name) => moves.push_back(Move::Into(name.to_owned())),
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some((moves, anew))
}

/// Whether a path may be walked to here.
fn allow(scope: &Scope, path: &Path, name: &OsStr) -> Result<(), Error> {
    if is_git(name) {
        return Err(Error::Git { path: shown::path(path) });
    }
    match scope.standing(path) {
        Standing::Inside | Standing::Above => Ok(()),
        Standing::Outside => {
            Err(Error::NotPermitted { path: shown::path(path), permitted: scope.words() })
        }
    }
}

/// Whether everything that is still to be made may be made.
fn allow_all(scope: &Scope, from: &Path, rest: &VecDeque<Move>) -> Result<(), Error> {
    let mut path = from.to_owned();
    for step in rest {
        let Move::Into(name) = step else {
            return Err(Error::NotFound { path: shown::path(from), hint: String::new() });
        };
        path.push(name);
        allow(scope, &path, name)?;
    }
    if scope.standing(&path) == Standing::Inside {
        return Ok(());
    }
    Err(Error::NotPermitted { path: shown::path(&path), permitted: scope.words() })
}

/// Whether a component is git's own folder, in any case, as git itself forbids it.
pub fn is_git(name: &OsStr) -> bool {
    name.eq_ignore_ascii_case(".git")
}

/// Opens a folder by its name in another one, never through a link.
pub fn open_folder(parent: &Dir, name: &OsStr) -> io::Result<Dir> {
    let (file, _) = open_same(parent, name, OFlags::DIRECTORY, Metadata::is_dir)?;
    Ok(Dir::from_std_file(file))
}

/// Opens a regular file by its name in a folder, never through a link, and without
/// waiting where a pipe has taken its place.
pub fn open_file(parent: &Dir, name: &OsStr) -> io::Result<(File, Metadata)> {
    open_same(parent, name, OFlags::NONBLOCK | OFlags::NOCTTY, Metadata::is_file)
}

fn open_same(
    parent: &Dir,
    name: &OsStr,
    flags: OFlags,
    is_wanted: fn(&Metadata) -> bool,
) -> io::Result<(File, Metadata)> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags((flags | OFlags::NOFOLLOW).bits().cast_signed());
    // A file that is just being replaced by a rename is another one a moment later.
    for _ in 0..3 {
        let seen = parent.symlink_metadata(name)?;
        if !is_wanted(&seen) {
            break;
        }
        let file = match parent.open_with(name, &options) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => continue,
            Err(error) => return Err(error),
        };
        let opened = file.metadata()?;
        if is_wanted(&opened) && (opened.dev(), opened.ino()) == (seen.dev(), seen.ino()) {
            return Ok((file.into_std(), opened));
        }
    }
    Err(io::Error::from(io::ErrorKind::ResourceBusy))
}

fn opening(error: io::Error, path: String) -> Error {
    if error.kind() == io::ErrorKind::ResourceBusy {
        Error::Moved { path }
    } else {
        Error::io("open", &path)(error)
    }
}

/// What a thing is that is neither file nor folder.
pub fn kind(file_type: FileType) -> &'static str {
    if file_type.is_fifo() {
        "a named pipe"
    } else if file_type.is_socket() {
        "a socket"
    } else if file_type.is_symlink() {
        "a symbolic link"
    } else {
        "a device"
    }
}
