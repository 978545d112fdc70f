//! How a file gets its new content: whole or not at all.

use std::ffi::{OsStr, OsString};
use std::io::{self, Write as _};
use std::sync::atomic::{AtomicU64, Ordering};

use cap_std::fs::{Dir, Metadata, MetadataExt as _, OpenOptions};

use crate::Error;
use crate::locate::Place;

static NUMBER: AtomicU64 = AtomicU64::new(0);

/// Writes the content beside the place and moves it there. A file that was there is
/// given as it was when it was read: its mode is kept, and if it is another one by now,
/// nothing is written.
pub fn replace(place: &Place, content: &[u8], before: Option<&Metadata>) -> Result<(), Error> {
    let path = place.shown();
    let Some((folder, name)) = place.entry() else {
        return Err(Error::IsAFolder { path, instead: "name a file" });
    };
    let beside = Beside::write(folder, content, before).map_err(Error::io("write", &path))?;
    let now = folder.symlink_metadata(name);
    let is_as_read = match (before, &now) {
        (Some(before), Ok(now)) => is_same(before, now),
        (None, Err(error)) => error.kind() == io::ErrorKind::NotFound,
        _ => false,
    };
    if !is_as_read {
        return Err(Error::Moved { path });
    }
    beside.put(name).map_err(Error::io("write", &path))
}

fn is_same(one: &Metadata, other: &Metadata) -> bool {
    let stamp = |of: &Metadata| (of.dev(), of.ino(), of.size(), of.mtime(), of.mtime_nsec());
    stamp(one) == stamp(other)
}

/// A file beside the one it will replace; removed when it does not come to that.
struct Beside<'a> {
    folder: &'a Dir,
    name: Option<OsString>,
}

impl<'a> Beside<'a> {
    fn write(folder: &'a Dir, content: &[u8], before: Option<&Metadata>) -> io::Result<Self> {
        let mut options = OpenOptions::new();
        options.write(true).create_new(true);
        let (name, mut file) = loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let name = format!(".foundry-{}-{number}.tmp", std::process::id());
            match folder.open_with(&name, &options) {
                Ok(file) => break (OsString::from(name), file),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
            }
        };
        let beside = Self { folder, name: Some(name) };
        file.write_all(content)?;
        if let Some(before) = before {
            file.set_permissions(before.permissions())?;
        }
        Ok(beside)
    }

    fn put(mut self, name: &OsStr) -> io::Result<()> {
        let Some(own) = self.name.take() else { return Ok(()) };
        self.folder.rename(&own, self.folder, name).inspect_err(|_| self.name = Some(own))
    }
}

impl Drop for Beside<'_> {
    fn drop(&mut self) {
        if let Some(name) = &self.name {
            // It may be gone already; there is nobody to tell.
            _ = self.folder.remove_file(name);
        }
    }
}
