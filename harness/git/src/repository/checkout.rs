//! The checkout: the branch to work on, and what is not as a person would expect it.

use std::fs::File;
use std::io::Read as _;
use std::os::unix::ffi::OsStringExt as _;
use std::path::{Path, PathBuf};
use std::{ffi::OsString, fmt};

use crate::error::GitError;
use crate::failure;
use crate::git::{Call, Git};
use crate::reference::{FlowBranch, ObjectId};

/// What a person should know about a checkout.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Warning {
    /// Files of Git LFS that are pointers: their contents were not fetched.
    LfsPointers {
        /// How many.
        count: usize,
        /// The first of them.
        first: PathBuf,
    },
    /// Submodules, whose folders are empty.
    Submodules {
        /// Their paths.
        paths: Vec<PathBuf>,
    },
}

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LfsPointers { count, first } => {
                let first = first.display();
                write!(f, "{count} files of Git LFS are pointers without contents, first {first}")
            }
            Self::Submodules { paths } => {
                let paths: Vec<_> = paths.iter().map(|path| path.display().to_string()).collect();
                write!(f, "submodules are not checked out: {}", paths.join(", "))
            }
        }
    }
}

/// Creates the branch at `commit`, or where HEAD is, and checks it out (CODE-03).
/// Without tracking, nothing that pushes to an upstream can reach another branch.
pub(super) async fn switch(
    git: &Git,
    root: &Path,
    branch: &FlowBranch,
    commit: Option<&ObjectId>,
) -> Result<(), GitError> {
    let action = "check out the branch";
    let mut arguments = vec!["switch", "--quiet", "--no-track", "--create", branch.as_str()];
    arguments.extend(commit.map(ObjectId::as_str));
    let switched = git.try_local(Call::new(action, root, arguments)).await?;
    if switched.exit.passed() {
        return Ok(());
    }
    if switched.stderr.contains("already exists") {
        return Err(GitError::BranchExists { branch: branch.to_string() });
    }
    Err(failure::local(action, &switched.stderr))
}

/// Looks for what a checkout of ours leaves out.
pub(super) async fn verify(git: &Git, root: &Path) -> Result<Vec<Warning>, GitError> {
    let mut warnings = Vec::new();
    let attributed = ["ls-files", "-z", "--", ":(attr:filter=lfs)"];
    let listed = git.local(Call::new("look for files of Git LFS", root, attributed)).await?;
    let mut pointers = paths(&listed).filter(|path| is_lfs_pointer(&root.join(path)));
    if let Some(first) = pointers.next() {
        warnings.push(Warning::LfsPointers { count: 1 + pointers.count(), first });
    }
    let submodules = match std::fs::read(root.join(".gitmodules")) {
        Ok(modules) => submodules(&String::from_utf8_lossy(&modules)),
        Err(_) => Vec::new(),
    };
    if !submodules.is_empty() {
        warnings.push(Warning::Submodules { paths: submodules });
    }
    Ok(warnings)
}

/// The paths of a list parted by NUL, whatever bytes they are of.
pub(super) fn paths(listed: &[u8]) -> impl Iterator<Item = PathBuf> {
    let names = listed.split(|&byte| byte == 0).filter(|name| !name.is_empty());
    names.map(|name| PathBuf::from(OsString::from_vec(name.to_vec())))
}

const LFS: &[u8] = b"version https://git-lfs.github.com/spec/v1";

fn is_lfs_pointer(path: &Path) -> bool {
    // A link is none, and may lead anywhere.
    if !std::fs::symlink_metadata(path).is_ok_and(|found| found.is_file()) {
        return false;
    }
    let mut beginning = Vec::new();
    let read =
        File::open(path).and_then(|file| file.take(LFS.len() as u64).read_to_end(&mut beginning));
    read.is_ok() && beginning == LFS
}

/// The paths that a `.gitmodules` names.
fn submodules(modules: &str) -> Vec<PathBuf> {
    let values = modules.lines().filter_map(|line| line.split_once('='));
    let paths = values.filter(|(name, _)| name.trim() == "path");
    paths.map(|(_, path)| PathBuf::from(path.trim().trim_matches('"'))).collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn submodules_are_named_by_their_paths() {
        let modules = "[submodule \"a\"]\n\tpath = libs/a\n\turl = git@host:a\n\
                       [submodule \"b\"]\n\turl = x=y\n\tpath=\"b c\"\n";
        assert_eq!(submodules(modules), [PathBuf::from("libs/a"), PathBuf::from("b c")]);
        assert_eq!(submodules(""), Vec::<PathBuf>::new());
    }

    #[test]
    fn a_warning_says_what_is_missing() {
        let lfs = Warning::LfsPointers { count: 2, first: "a.bin".into() };
        let told = "2 files of Git LFS are pointers without contents, first a.bin";
        assert_eq!(lfs.to_string(), told);
        let submodules = Warning::Submodules { paths: vec!["a".into(), "b".into()] };
        assert_eq!(submodules.to_string(), "submodules are not checked out: a, b");
    }
}
