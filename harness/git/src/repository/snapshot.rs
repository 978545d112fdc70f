//! What is in the whole work tree, without a trace in it: a temporary index and a
//! temporary store of objects leave git's own alone.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

use tempfile::TempDir;

use super::clone::file;
use super::{ChangedFile, Repository, changes};
use crate::error::GitError;
use crate::failure;
use crate::git::Call;
use crate::reference::ObjectId;

/// The contents of a work tree at one moment: everything but ignored files, committed or
/// not. Two with the same [`tree`](Self::tree) are the same.
#[derive(Debug)]
pub struct Snapshot<'a> {
    repository: &'a Repository,
    scratch: TempDir,
    tree: ObjectId,
}

/// What has changed, as text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DiffText {
    /// The diff, or its first lines.
    pub text: String,
    /// Bytes of the whole diff.
    pub total_bytes: u64,
    /// Bytes that are not in `text`.
    pub omitted_bytes: u64,
}

impl Repository {
    /// Takes in the whole work tree as it is now. Two calls of git; the files and ignored
    /// files, the real index and the real store of objects stay as they are.
    pub async fn snapshot(&self) -> Result<Snapshot<'_>, GitError> {
        let action = "take in the work tree";
        let scratch = TempDir::with_prefix("snapshot-")
            .map_err(|source| file("make a temporary folder in", &std::env::temp_dir(), source))?;
        let objects = scratch.path().join("objects");
        std::fs::create_dir(&objects).map_err(|source| file("make", &objects, source))?;
        let index = self.git_dir.join("index");
        // With git's own notes of what is unchanged, only what changed is read. A link or a
        // pipe in its place is not followed: this process may read what commands must not.
        if std::fs::symlink_metadata(&index).is_ok_and(|found| found.is_file()) {
            copy_index(&index, &scratch.path().join("index"))
                .map_err(|source| file("copy", &index, source))?;
        }
        let add = [
            "-c",
            "core.looseCompression=0",
            "-c",
            "advice.addEmbeddedRepo=false",
            "-c",
            "core.safecrlf=false",
            "add",
            "--all",
        ];
        let added = self.git.try_local(self.beside(action, &scratch, add)).await?;
        if !added.exit.passed() {
            let words = failure::telling(&added.stderr);
            let words =
                format!("{words}; remove that file, make it readable or have git ignore it");
            return Err(GitError::Unfit { action, words });
        }
        let written = self.beside(action, &scratch, ["write-tree", "--missing-ok"]);
        let written = self.git.local(written).await?;
        let text = String::from_utf8_lossy(&written);
        let tree = ObjectId::parse(&text)
            .ok_or_else(|| GitError::Failed { action, words: text.trim().to_owned() })?;
        Ok(Snapshot { repository: self, scratch, tree })
    }

    /// A call that sees the temporary index and objects in place of the real ones.
    fn beside(
        &self,
        action: &'static str,
        scratch: &TempDir,
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Call<'_> {
        self.call(action, arguments)
            .env("GIT_INDEX_FILE", scratch.path().join("index"))
            .env("GIT_OBJECT_DIRECTORY", scratch.path().join("objects"))
            .env("GIT_ALTERNATE_OBJECT_DIRECTORIES", listed(&self.objects))
    }
}

impl Snapshot<'_> {
    /// The fingerprint of the contents: equal contents have equal ones.
    pub fn tree(&self) -> &ObjectId {
        &self.tree
    }

    /// Every file that differs from the base: committed, staged, unstaged and untracked,
    /// each once. One call of git.
    pub async fn changed_files(&self) -> Result<Vec<ChangedFile>, GitError> {
        let base = self.repository.base.commit.as_str();
        let listed = ["diff-tree", "-r", "-z", "-M", "--name-status", base, self.tree.as_str()];
        let call = self.repository.beside("list changed files", &self.scratch, listed);
        Ok(changes::parse(&self.repository.git.local(call).await?))
    }

    /// What has changed since the base, as text of at most `most` bytes, cut at the end of
    /// a line. One call of git.
    pub async fn diff(&self, most: usize) -> Result<DiffText, GitError> {
        let action = "show the diff";
        let base = self.repository.base.commit.as_str();
        let tree = self.tree.as_str();
        let shown = ["diff-tree", "-r", "-p", "-M", "--no-ext-diff", "--no-textconv", base, tree];
        let mut call = self.repository.beside(action, &self.scratch, shown);
        call.most = most;
        let captured = self.repository.git.try_local(call).await?;
        if !captured.exit.passed() {
            return Err(failure::local(action, &captured.stderr));
        }
        Ok(cut(&captured.stdout, captured.stdout_bytes))
    }
}

/// Copies an index with its time. Git takes a file for unchanged when its own time and
/// size are as noted, unless it is as young as the index: then it looks into the file. A
/// copy that is younger would hide an edit of the same second.
fn copy_index(from: &Path, to: &Path) -> io::Result<()> {
    let modified = std::fs::metadata(from)?.modified()?;
    std::fs::copy(from, to)?;
    File::options().write(true).open(to)?.set_modified(modified)
}

/// Keeps whole lines of what was kept.
fn cut(kept: &[u8], total_bytes: u64) -> DiffText {
    let whole = kept.len() as u64 == total_bytes;
    let end = if whole {
        kept.len()
    } else {
        kept.iter().rposition(|&byte| byte == b'\n').map_or(0, |newline| newline + 1)
    };
    DiffText {
        text: String::from_utf8_lossy(&kept[..end]).into_owned(),
        total_bytes,
        omitted_bytes: total_bytes - end as u64,
    }
}

/// A path as it stands in a list of paths parted by `:`.
pub(super) fn listed(path: &Path) -> OsString {
    let bytes = path.as_os_str().as_bytes();
    if !bytes.contains(&b':') && bytes.first() != Some(&b'"') {
        return path.into();
    }
    let mut quoted = vec![b'"'];
    for &byte in bytes {
        if matches!(byte, b'"' | b'\\') {
            quoted.push(b'\\');
        }
        quoted.push(byte);
    }
    quoted.push(b'"');
    OsStr::from_bytes(&quoted).to_owned()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_diff_is_cut_at_the_end_of_a_line() {
        let text = |text: &str, total_bytes, omitted_bytes| DiffText {
            text: text.to_owned(),
            total_bytes,
            omitted_bytes,
        };
        assert_eq!(cut(b"a\nb\n", 4), text("a\nb\n", 4, 0));
        assert_eq!(cut(b"a\nb", 3), text("a\nb", 3, 0));
        assert_eq!(cut(b"a\nb", 9), text("a\n", 9, 7));
        assert_eq!(cut(b"ab", 9), text("", 9, 9));
    }

    #[test]
    fn a_path_with_colons_is_quoted() {
        assert_eq!(listed(Path::new("/a b/c")), OsStr::new("/a b/c"));
        assert_eq!(listed(Path::new("/a:b\\\"c")), OsStr::new(r#""/a:b\\\"c""#));
    }
}
