//! Where a program is.

use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};

use rustix::fs::{Access, access};

/// For an environment without PATH.
pub(crate) const DEFAULT: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// Finds `program` in the folders of `path`. Relative folders do not count: what lies
/// in a repository never takes the place of a program.
pub(crate) fn look_up(program: &OsStr, path: &OsStr) -> Option<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        let program = Path::new(program);
        return (program.is_absolute() && is_executable(program)).then(|| program.to_owned());
    }
    if program.is_empty() {
        return None;
    }
    std::env::split_paths(path)
        .filter(|folder| folder.is_absolute())
        .map(|folder| folder.join(program))
        .find(|candidate| is_executable(candidate))
}

fn is_executable(path: &Path) -> bool {
    path.is_file() && access(path, Access::EXEC_OK).is_ok()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use pretty_assertions::assert_eq;
    use tempfile::TempDir;

    use super::*;

    fn program(folder: &Path, name: &str, mode: u32) {
        std::fs::create_dir_all(folder).unwrap();
        let path = folder.join(name);
        std::fs::write(&path, "#!/bin/true\n").unwrap();
        std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    }

    #[test]
    fn the_first_executable_on_the_path_wins() {
        let temporary = TempDir::new().unwrap();
        let (one, two) = (temporary.path().join("one"), temporary.path().join("two"));
        program(&one, "tool", 0o644);
        std::fs::create_dir_all(two.join("folder")).unwrap();
        program(&two, "tool", 0o755);
        let path = std::env::join_paths([&one, &two]).unwrap();
        assert_eq!(look_up(OsStr::new("tool"), &path), Some(two.join("tool")));
        assert_eq!(look_up(OsStr::new("folder"), &path), None);
        assert_eq!(look_up(OsStr::new("other"), &path), None);
        assert_eq!(look_up(OsStr::new(""), &path), None);
    }

    #[test]
    fn relative_folders_and_relative_programs_do_not_count() {
        assert_eq!(look_up(OsStr::new("sh"), OsStr::new(":bin:./bin:../bin")), None);
        assert_eq!(look_up(OsStr::new("./sh"), OsStr::new("/bin")), None);
        assert_eq!(look_up(OsStr::new("bin/sh"), OsStr::new("/")), None);
        assert_eq!(look_up(OsStr::new("/bin/sh"), OsStr::new("")), Some("/bin/sh".into()));
    }
}
