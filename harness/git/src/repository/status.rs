//! How a work tree stands against HEAD.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

use super::Repository;
use crate::error::GitError;
use crate::reference::ObjectId;

/// How a work tree stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Status {
    /// The commit that is checked out; none before the first.
    pub head: Option<ObjectId>,
    /// The branch that is checked out; none when HEAD is detached.
    pub branch: Option<String>,
    /// Files that differ from HEAD, and untracked files and folders that are not ignored.
    pub changed: Vec<PathBuf>,
}

impl Status {
    /// Whether a commit now would hold nothing and leave nothing behind.
    pub fn is_clean(&self) -> bool {
        self.changed.is_empty()
    }
}

pub(super) const ARGUMENTS: [&str; 5] =
    ["status", "--porcelain=v2", "--branch", "-z", "--untracked-files=normal"];

impl Repository {
    /// How the work tree stands against HEAD.
    pub async fn status(&self) -> Result<Status, GitError> {
        let listed = self.git.local(self.call("read the status", ARGUMENTS)).await?;
        Ok(parse(&listed))
    }
}

/// Reads porcelain version 2 with NUL at each end.
pub(super) fn parse(listed: &[u8]) -> Status {
    let mut status = Status::default();
    let mut entries = listed.split(|&byte| byte == 0);
    while let Some(entry) = entries.next() {
        // Fields before the path: https://git-scm.com/docs/git-status#_changed_tracked_entries
        let fields = match entry.first() {
            Some(b'#') => {
                header(&String::from_utf8_lossy(entry), &mut status);
                continue;
            }
            Some(b'1') => 8,
            Some(b'2') => 9,
            Some(b'u') => 10,
            Some(b'?') => 1,
            Some(_) | None => continue,
        };
        if entry[0] == b'2' {
            // Where it was: its own entry.
            entries.next();
        }
        if let Some(path) = entry.splitn(fields + 1, |&byte| byte == b' ').nth(fields) {
            status.changed.push(PathBuf::from(OsString::from_vec(path.to_vec())));
        }
    }
    status
}

fn header(line: &str, status: &mut Status) {
    if let Some(id) = line.strip_prefix("# branch.oid ") {
        status.head = ObjectId::parse(id);
    } else if let Some(name) = line.strip_prefix("# branch.head ") {
        status.branch = (name != "(detached)").then(|| name.to_owned());
    }
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt as _;

    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_kind_of_entry_gives_its_path() {
        let id = "0123456789abcdef0123456789abcdef01234567";
        let listed = [
            format!("# branch.oid {id}\0# branch.head flow/fix\0# branch.ab +0 -0\0").into_bytes(),
            format!("1 .M N... 100644 100644 100644 {id} {id} a b\"c\0").into_bytes(),
            format!("2 R. N... 100644 100644 100644 {id} {id} R100 new name\0old name\0")
                .into_bytes(),
            format!("u UU N... 100644 100644 100644 100644 {id} {id} {id} both\0").into_bytes(),
            b"? \xFFodd\0".to_vec(),
        ]
        .concat();
        let status = parse(&listed);
        let changed: Vec<&[u8]> =
            status.changed.iter().map(|path| path.as_os_str().as_bytes()).collect();
        assert_eq!(changed, [&b"a b\"c"[..], b"new name", b"both", b"\xFFodd"]);
        assert_eq!(status.head, ObjectId::parse(id));
        assert_eq!(status.branch.as_deref(), Some("flow/fix"));
        assert!(!status.is_clean());
    }

    #[test]
    fn before_the_first_commit_there_is_no_head() {
        let status = parse(b"# branch.oid (initial)\0# branch.head (detached)\0");
        assert_eq!(status, Status::default());
        assert!(status.is_clean());
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_parser_fail(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _parsed = parse(&bytes);
        }
    }
}
