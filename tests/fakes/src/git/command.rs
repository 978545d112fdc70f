//! What a client asks to run, read strictly: one of two programs and one path, quoted
//! as git quotes it. No shell ever sees it.

use std::fmt;
use std::path::{Path, PathBuf};

/// A program that git runs on a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Program {
    /// A fetch or a clone.
    UploadPack,
    /// A push.
    ReceivePack,
}

impl Program {
    /// The command as an argument of git.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::UploadPack => "upload-pack",
            Self::ReceivePack => "receive-pack",
        }
    }
}

/// What a client asked to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Wanted {
    pub program: Program,
    /// Without slash before or `.git` behind.
    pub repository: String,
}

/// Why a command is not run; the words a client sees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Unfit {
    Command,
    Path,
}

impl fmt::Display for Unfit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Command => {
                "ERROR: only git-upload-pack and git-receive-pack with one quoted path are run here."
            }
            Self::Path => "ERROR: Repository not found.",
        })
    }
}

impl Wanted {
    /// Reads the bytes of an exec request.
    pub(super) fn parse(request: &[u8]) -> Result<Self, Unfit> {
        let text = std::str::from_utf8(request).map_err(|_| Unfit::Command)?;
        let programs = [
            ("git-upload-pack ", Program::UploadPack),
            ("git upload-pack ", Program::UploadPack),
            ("git-receive-pack ", Program::ReceivePack),
            ("git receive-pack ", Program::ReceivePack),
        ];
        let found = programs
            .iter()
            .find_map(|(prefix, program)| Some((*program, text.strip_prefix(prefix)?)));
        let (program, argument) = found.ok_or(Unfit::Command)?;
        let path = unquoted(argument).ok_or(Unfit::Command)?;
        Ok(Self { program, repository: repository(&path).ok_or(Unfit::Path)? })
    }

    /// The bare repository in this folder, if it is there and truly inside.
    pub(super) fn find_in(&self, folder: &Path) -> Result<PathBuf, Unfit> {
        let path = folder.join(format!("{}.git", self.repository));
        let real = path.canonicalize().map_err(|_| Unfit::Path)?;
        let inside = folder.canonicalize().is_ok_and(|folder| real.starts_with(folder));
        if inside && real.join("HEAD").is_file() { Ok(real) } else { Err(Unfit::Path) }
    }
}

/// A word in single quotes; `'\''` and `'\!'` stand for a quote and for `!`.
fn unquoted(argument: &str) -> Option<String> {
    let mut rest = argument.strip_prefix('\'')?;
    let mut word = String::new();
    loop {
        let (before, after) = rest.split_once('\'')?;
        word.push_str(before);
        if after.is_empty() {
            return Some(word);
        }
        let escaped = after.strip_prefix('\\')?;
        let sign = escaped.chars().next().filter(|sign| matches!(sign, '\'' | '!'))?;
        word.push(sign);
        rest = escaped[1..].strip_prefix('\'')?;
    }
}

/// `acme/greeting` of `/acme/greeting.git`: plain names, and nothing that leads out.
fn repository(path: &str) -> Option<String> {
    let path = path.strip_prefix('/').unwrap_or(path);
    let path = path.strip_suffix('/').unwrap_or(path);
    let path = path.strip_suffix(".git").unwrap_or(path);
    let plain = |name: &str| {
        let sign = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
        !name.is_empty() && !name.starts_with(['.', '-']) && name.chars().all(sign)
    };
    path.split('/').all(plain).then(|| path.to_owned())
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn read(text: &str) -> Result<(Program, String), Unfit> {
        Wanted::parse(text.as_bytes()).map(|wanted| (wanted.program, wanted.repository))
    }

    #[test]
    fn the_words_of_git_are_read() {
        let upload = |name: &str| Ok((Program::UploadPack, name.to_owned()));
        let receive = |name: &str| Ok((Program::ReceivePack, name.to_owned()));
        assert_eq!(read("git-upload-pack '/acme/greeting.git'"), upload("acme/greeting"));
        assert_eq!(read("git upload-pack 'acme/greeting'"), upload("acme/greeting"));
        assert_eq!(read("git-receive-pack 'acme/greeting.git/'"), receive("acme/greeting"));
        assert_eq!(read("git receive-pack '/v3/org/project/repo'"), receive("v3/org/project/repo"));
    }

    #[test]
    fn anything_else_is_refused() {
        let commands = [
            "",
            "git-upload-pack",
            "git-upload-pack ",
            "git-upload-pack acme/greeting.git",
            "git-upload-pack 'acme/greeting.git",
            "git-upload-pack 'acme/greeting.git' --exec=sh",
            "git-upload-pack 'acme/greeting.git'; id",
            "git-upload-pack  'acme/greeting.git'",
            "git-upload-archive 'acme/greeting.git'",
            "git-upload-pack --strict 'acme/greeting.git'",
            "GIT_DIR=x git-upload-pack 'acme/greeting.git'",
            "sh -c 'id'",
        ];
        for command in commands {
            assert_eq!(read(command), Err(Unfit::Command), "{command}");
        }
        assert_eq!(Wanted::parse(b"git-upload-pack '\xff'"), Err(Unfit::Command));
    }

    #[test]
    fn no_path_leads_out_of_the_folder() {
        let paths = [
            "",
            "/",
            "..",
            "../x",
            "/acme/../../etc",
            "acme//x",
            "//acme/x",
            ".git",
            "acme/.git",
            "acme/.hidden",
            "-x",
            "acme/--upload",
            "~root/x",
            "acme/a b",
            "acme/a\u{0}b",
            "acme/ä",
            r"acme/it'\''s",
            r"acme/a'\!'b",
            r"acme\x",
        ];
        for path in paths {
            assert_eq!(read(&format!("git-upload-pack '{path}'")), Err(Unfit::Path), "{path:?}");
        }
    }

    #[test]
    fn a_link_out_of_the_folder_is_not_followed() {
        let outside = tempfile::tempdir().unwrap();
        std::fs::write(outside.path().join("HEAD"), "ref: refs/heads/main\n").unwrap();
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("acme")).unwrap();
        let link = folder.path().join("acme/greeting.git");
        std::os::unix::fs::symlink(outside.path(), link).unwrap();
        let wanted = Wanted::parse(b"git-upload-pack 'acme/greeting.git'").unwrap();
        assert_eq!(wanted.find_in(folder.path()), Err(Unfit::Path));
    }
}
