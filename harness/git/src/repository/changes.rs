//! Which files a work tree has changed.

use std::ffi::OsString;
use std::os::unix::ffi::OsStringExt as _;
use std::path::PathBuf;

/// What happened to a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Change {
    /// It is new.
    Added,
    /// Its contents or mode are others.
    Modified,
    /// It is gone.
    Deleted,
    /// It has another name; its contents may have changed too.
    Renamed,
    /// A file has become a link, or the other way round.
    TypeChanged,
}

/// A file that differs from the base.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    /// What happened to it.
    pub change: Change,
    /// Its path from the root; of any bytes.
    pub path: PathBuf,
    /// What it was called, when it was renamed.
    pub from: Option<PathBuf>,
}

/// Reads names and states parted by NUL.
pub(super) fn parse(listed: &[u8]) -> Vec<ChangedFile> {
    let mut fields = listed.split(|&byte| byte == 0);
    let mut changed = Vec::new();
    let path = |field: &[u8]| PathBuf::from(OsString::from_vec(field.to_vec()));
    while let Some(state) = fields.next() {
        let (Some(letter), Some(first)) = (state.first(), fields.next()) else { break };
        let (change, from, name) = match letter {
            b'A' => (Change::Added, None, Some(first)),
            b'D' => (Change::Deleted, None, Some(first)),
            b'T' => (Change::TypeChanged, None, Some(first)),
            b'R' => (Change::Renamed, Some(path(first)), fields.next()),
            // A copy is a new file.
            b'C' => (Change::Added, None, fields.next()),
            _ => (Change::Modified, None, Some(first)),
        };
        let Some(name) = name else { break };
        changed.push(ChangedFile { change, path: path(name), from });
    }
    changed
}

#[cfg(test)]
mod tests {
    use std::os::unix::ffi::OsStrExt as _;

    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn every_state_is_read_and_names_may_be_of_any_bytes() {
        let listed = b"A\0a \"b\"\0M\0\xFF\n\0D\0gone\0T\0link\0R087\0old\0new\0C100\0one\0two\0";
        let changed: Vec<(Change, Vec<u8>, Option<PathBuf>)> = parse(listed)
            .into_iter()
            .map(|file| (file.change, file.path.as_os_str().as_bytes().to_vec(), file.from))
            .collect();
        assert_eq!(
            changed,
            [
                (Change::Added, b"a \"b\"".to_vec(), None),
                (Change::Modified, b"\xFF\n".to_vec(), None),
                (Change::Deleted, b"gone".to_vec(), None),
                (Change::TypeChanged, b"link".to_vec(), None),
                (Change::Renamed, b"new".to_vec(), Some("old".into())),
                (Change::Added, b"two".to_vec(), None),
            ]
        );
    }

    proptest! {
        #[test]
        fn no_bytes_make_the_parser_fail(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _parsed = parse(&bytes);
        }

        #[test]
        fn what_is_listed_is_read(
            names in prop::collection::vec(prop::collection::vec(1_u8.., 1..20), 0..10),
        ) {
            let listed: Vec<u8> =
                names.iter().flat_map(|name| [b"M\0".as_slice(), name, b"\0"].concat()).collect();
            let read: Vec<Vec<u8>> = parse(&listed)
                .into_iter()
                .map(|file| file.path.into_os_string().into_vec())
                .collect();
            prop_assert_eq!(read, names);
        }
    }
}
