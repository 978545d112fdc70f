//! Which paths of a clone an agent may touch (CODE-10).

use std::path::{Component, Path, PathBuf};

use crate::Error;
use crate::locate::is_git;

/// Path prefixes, by whole components; none means the whole clone.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Scope {
    prefixes: Vec<PathBuf>,
}

/// How a path stands to the permitted ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// It may be touched.
    Inside,
    /// It leads to paths that may be touched: it shows those and nothing else.
    Above,
    /// It may not be touched.
    Outside,
}

impl Scope {
    /// Reads prefixes such as `deepsky` or `services/api/`.
    pub fn new(prefixes: &[String]) -> Result<Self, Error> {
        let mut read = Vec::new();
        for prefix in prefixes {
            let path =
                parse(prefix).map_err(|why| Error::Prefix { prefix: prefix.clone(), why })?;
            if path.as_os_str().is_empty() {
                return Ok(Self::default()); // the root: everything
            }
            read.push(path);
        }
        Ok(Self { prefixes: read })
    }

    /// How a path, relative to the root and without `.` and `..`, stands.
    pub fn standing(&self, path: &Path) -> Standing {
        if self.prefixes.is_empty() || self.prefixes.iter().any(|one| path.starts_with(one)) {
            Standing::Inside
        } else if self.prefixes.iter().any(|one| one.starts_with(path)) {
            Standing::Above
        } else {
            Standing::Outside
        }
    }

    /// The permitted paths, for the model.
    pub fn words(&self) -> String {
        let words: Vec<String> =
            self.prefixes.iter().map(|one| one.display().to_string()).collect();
        words.join(", ")
    }
}

fn parse(prefix: &str) -> Result<PathBuf, &'static str> {
    let mut path = PathBuf::new();
    if prefix.is_empty() {
        return Err("it is empty: leave it out, or write . for the whole clone");
    }
    for component in Path::new(prefix).components() {
        match component {
            Component::CurDir => {}
            Component::Normal(name) if is_git(name) => return Err("it belongs to git"),
            Component::Normal(name) => path.push(name),
            Component::RootDir | Component::Prefix(_) => {
                return Err("it must be relative to the root of the clone");
            }
            Component::ParentDir => return Err("it must not hold .."),
        }
    }
    Ok(path)
}

#[cfg(test)]
mod tests;
