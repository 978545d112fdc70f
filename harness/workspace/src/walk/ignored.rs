//! What `.gitignore` says of a path.

use std::ffi::OsStr;
use std::io::Read as _;
use std::path::Path;

use cap_std::fs::Dir;
use ignore::Match;
use ignore::gitignore::{Gitignore, GitignoreBuilder};

use crate::locate;

/// Where a folder says it.
pub const FILE: &str = ".gitignore";

/// Bytes read of such a file.
const MOST_BYTES: u64 = 1 << 20;

/// What one folder says of the paths beneath it.
pub struct Ignored(Gitignore);

impl Ignored {
    /// Reads it; none when the folder says nothing.
    pub fn of(dir: &Dir) -> Option<Self> {
        Self::read(&[text(dir, FILE)?])
    }

    /// Reads what the root of a repository says, and what its `info/exclude` does, which
    /// counts less.
    pub fn of_repository(root: &Dir) -> Option<Self> {
        let info = locate::open_folder(root, OsStr::new(".git"))
            .and_then(|git| locate::open_folder(&git, OsStr::new("info")));
        let exclude = info.ok().and_then(|info| text(&info, "exclude"));
        let texts: Vec<String> = exclude.into_iter().chain(text(root, FILE)).collect();
        Self::read(&texts)
    }

    fn read(texts: &[String]) -> Option<Self> {
        // Paths are given relative to this folder; "." keeps the matcher from stripping
        // anything of its own.
        let mut builder = GitignoreBuilder::new(".");
        for line in texts.iter().flat_map(|text| text.trim_start_matches('\u{feff}').lines()) {
            // A line that is no pattern is skipped, as git skips it.
            _ = builder.add_line(None, line);
        }
        builder.build().ok().filter(|matcher| !matcher.is_empty()).map(Self)
    }

    /// Whether the path is ignored; none when nothing is said of it.
    pub fn says(&self, beneath: &Path, is_folder: bool) -> Option<bool> {
        let Self(matcher) = self;
        match matcher.matched(beneath, is_folder) {
            Match::None => None,
            Match::Ignore(_) => Some(true),
            Match::Whitelist(_) => Some(false),
        }
    }
}

fn text(dir: &Dir, name: &str) -> Option<String> {
    let (file, _) = locate::open_file(dir, OsStr::new(name)).ok()?;
    let mut bytes = Vec::new();
    file.take(MOST_BYTES).read_to_end(&mut bytes).ok()?;
    Some(String::from_utf8_lossy(&bytes).into_owned())
}
