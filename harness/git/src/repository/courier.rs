//! The git directory that goes to a remote with the key. A model's commands can write
//! into the clone's configuration, and configuration can make git run programs or go
//! elsewhere; so a pod's pushes start from a directory made for that one call, which
//! borrows nothing from the clone but its objects.

use std::io;
use std::path::{Path, PathBuf};

use tempfile::TempDir;

use super::clone::file;
use crate::error::GitError;
use crate::git::Call;
use crate::reference::ObjectId;

pub(super) struct Courier {
    folder: TempDir,
}

impl Courier {
    /// A bare, empty git directory of the same kind of ids.
    pub(super) fn new(like: &ObjectId) -> Result<Self, GitError> {
        let folder = TempDir::with_prefix("courier-")
            .map_err(|source| file("make a temporary folder in", &std::env::temp_dir(), source))?;
        let refs = folder.path().join("refs");
        std::fs::create_dir(&refs).map_err(|source| file("make", &refs, source))?;
        let configuration = if like.is_sha256() {
            "[core]\n\trepositoryformatversion = 1\n\tbare = true\n\
             [extensions]\n\tobjectformat = sha256\n"
        } else {
            "[core]\n\trepositoryformatversion = 0\n\tbare = true\n"
        };
        for (name, text) in [("HEAD", "ref: refs/heads/none\n"), ("config", configuration)] {
            let path = folder.path().join(name);
            std::fs::write(&path, text).map_err(|source| file("write", &path, source))?;
        }
        Ok(Self { folder })
    }

    /// A call in this directory, with the objects of a clone.
    pub(super) fn call<'a>(
        &'a self,
        action: &'static str,
        arguments: &[&str],
        objects: &Path,
    ) -> Result<Call<'a>, GitError> {
        let strange =
            strange_entry(objects).map_err(|source| file("look through", objects, source))?;
        if let Some(path) = strange {
            let words = format!(
                "{} is no object: a push takes nothing from outside of the clone; remove it",
                path.display()
            );
            return Err(GitError::Unfit { action, words });
        }
        let folder = self.folder.path();
        Ok(Call::new(action, folder, arguments)
            .env("GIT_DIR", folder)
            .env("GIT_OBJECT_DIRECTORY", objects))
    }
}

/// Depth of the deepest files that git keeps below its objects.
const DEEPEST: u32 = 4;

/// What leads out of a store of objects. This git may read the keys, and it repeats the
/// lines of a list that it cannot make sense of: a link to a key in the place of such a
/// list would bring the key into its words. A clone of ours has neither links nor
/// alternates.
fn strange_entry(objects: &Path) -> io::Result<Option<PathBuf>> {
    for folder in objects.parent().into_iter().chain([objects]) {
        if !std::fs::symlink_metadata(folder)?.is_dir() {
            return Ok(Some(folder.to_owned()));
        }
    }
    for name in ["info/alternates", "info/http-alternates"] {
        let path = objects.join(name);
        if std::fs::symlink_metadata(&path).is_ok() {
            return Ok(Some(path));
        }
    }
    strange_below(objects, DEEPEST)
}

fn strange_below(folder: &Path, depth: u32) -> io::Result<Option<PathBuf>> {
    for entry in std::fs::read_dir(folder)? {
        let entry = entry?;
        let kind = entry.file_type()?;
        if kind.is_dir() && depth > 0 {
            if let Some(path) = strange_below(&entry.path(), depth - 1)? {
                return Ok(Some(path));
            }
        } else if !kind.is_file() {
            return Ok(Some(entry.path()));
        }
    }
    Ok(None)
}
