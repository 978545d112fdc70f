//! Names of branches and tags, and ids of commits: nothing else ever reaches git where
//! it expects one.

use std::fmt;
use std::str::FromStr;

/// Longest name, as the API takes it too.
const LONGEST: usize = 255;

/// The name of a branch or tag that git accepts and cannot read as an option.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct RefName(String);

/// Why a text is no name of a branch or tag.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{name:?} is no name of a branch or tag: {reason}")]
pub struct RefNameError {
    name: String,
    reason: &'static str,
}

impl RefName {
    /// Reads a name by the rules of `git check-ref-format`, and without a leading `-`.
    pub fn parse(name: &str) -> Result<Self, RefNameError> {
        match fault(name) {
            None => Ok(Self(name.to_owned())),
            Some(reason) => {
                let name = name.chars().take(LONGEST).collect();
                Err(RefNameError { name, reason })
            }
        }
    }

    /// The name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for RefName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

impl FromStr for RefName {
    type Err = RefNameError;

    fn from_str(name: &str) -> Result<Self, RefNameError> {
        Self::parse(name)
    }
}

fn fault(name: &str) -> Option<&'static str> {
    if name.is_empty() {
        return Some("it is empty");
    }
    if name.len() > LONGEST {
        return Some("it is longer than 255 bytes");
    }
    if name.starts_with('-') {
        return Some("git would read it as an option");
    }
    if name.chars().any(|c| c.is_whitespace() || c.is_control() || "~^:?*[\\".contains(c)) {
        return Some(r"it holds a blank, a control character or one of ~ ^ : ? * [ \");
    }
    if name == "@" || name.contains("@{") || name.contains("..") || name.ends_with('.') {
        return Some("it is '@', holds '@{' or '..', or ends with '.'");
    }
    let part = |part: &str| {
        part.is_empty() || part.starts_with('.') || part.strip_suffix(".lock").is_some()
    };
    if name.split('/').any(part) {
        return Some("one of its parts is empty, begins with '.' or ends with '.lock'");
    }
    None
}

/// The one branch that a run may push: `flow/<slug>` (CODE-03).
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct FlowBranch(RefName);

impl FlowBranch {
    /// The branch `flow/<slug>`.
    pub fn new(slug: &str) -> Result<Self, RefNameError> {
        RefName::parse(&format!("flow/{slug}")).map(Self)
    }

    /// `flow/<slug>`.
    pub fn as_str(&self) -> &str {
        self.0.as_str()
    }

    /// `refs/heads/flow/<slug>`.
    pub(crate) fn full(&self) -> String {
        format!("refs/heads/{}", self.0)
    }
}

impl fmt::Display for FlowBranch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// A slug of at most 40 characters made of a task's first words; `task` when there is
/// nothing to make it of.
pub fn slug(words: &str) -> String {
    let mut slug = String::new();
    for word in words.split(|c: char| !c.is_ascii_alphanumeric()).filter(|word| !word.is_empty()) {
        let joined = slug.len() + usize::from(!slug.is_empty()) + word.len();
        if joined > 40 {
            if slug.is_empty() {
                slug.push_str(&word[..40].to_ascii_lowercase());
            }
            break;
        }
        if !slug.is_empty() {
            slug.push('-');
        }
        slug.push_str(&word.to_ascii_lowercase());
    }
    if slug.is_empty() { "task".to_owned() } else { slug }
}

/// The branch that a text means, however it is spelt: `refs/heads/main`, `origin/main`,
/// `+main`, `HEAD:main`.
pub(crate) fn meant(spelling: &str) -> &str {
    let target = spelling.rsplit(':').next().unwrap_or(spelling).trim();
    let mut name = target.trim_start_matches('+');
    loop {
        let shorter = ["refs/", "heads/", "remotes/", "origin/"]
            .iter()
            .find_map(|prefix| name.strip_prefix(prefix));
        match shorter {
            Some(rest) => name = rest,
            None => return name,
        }
    }
}

/// The id of a commit or tree, whole and in lower case.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectId(String);

impl ObjectId {
    /// Reads an id of 40 or 64 hexadecimal digits.
    pub fn parse(id: &str) -> Option<Self> {
        let id = id.trim();
        let digits = id.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'));
        (matches!(id.len(), 40 | 64) && digits).then(|| Self(id.to_owned()))
    }

    /// The id.
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// Whether it is of a repository that counts with SHA-256.
    pub(crate) fn is_sha256(&self) -> bool {
        self.0.len() == 64
    }
}

impl fmt::Display for ObjectId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests;
