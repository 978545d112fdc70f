//! The refs of a fresh clone, and which of them the work begins from (CODE-02).

use crate::error::GitError;
use crate::reference::{FlowBranch, ObjectId, RefName};
use crate::repository::Base;

/// The format in which [`parse`] reads refs.
pub(super) const FORMAT: &str = "--format=%(refname)%00%(objectname)%00%(*objectname)%00%(symref)";

const REMOTE: &str = "refs/remotes/origin/";
const HEAD: &str = "refs/remotes/origin/HEAD";

/// One ref of a clone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Ref {
    name: String,
    /// What it names, with tags peeled.
    commit: ObjectId,
    /// What a symbolic ref names.
    symbolic: Option<String>,
}

/// What a clone's refs say.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Found {
    /// Where the work begins.
    pub(super) base: Base,
    /// Where pull requests go; absent when nobody names it and the remote's HEAD is on
    /// no branch.
    pub(super) default_branch: Option<RefName>,
    /// What the remote has on the branch that this run will push.
    pub(super) own_branch: Option<ObjectId>,
}

/// What was asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct Wanted<'a> {
    pub(super) remote: &'a str,
    pub(super) base_ref: Option<&'a RefName>,
    pub(super) default_ref: Option<&'a RefName>,
    pub(super) branch: &'a FlowBranch,
}

impl Wanted<'_> {
    /// The refs that can matter; git takes each as a prefix.
    pub(super) fn patterns(&self) -> Vec<String> {
        let named = self.base_ref.into_iter().chain(self.default_ref);
        let mut patterns: Vec<String> = named.flat_map(candidates).collect();
        patterns.push(HEAD.to_owned());
        patterns.push(format!("{REMOTE}{}", self.branch));
        patterns
    }

    /// Base reference, else default reference, else the remote's HEAD.
    pub(super) fn find(&self, refs: &[Ref]) -> Result<Found, GitError> {
        let by_name = |name: &str| refs.iter().find(|one| one.name == name);
        let head = by_name(HEAD).and_then(|head| Some((head, head.symbolic.as_deref()?)));
        let head = head.and_then(|(head, names)| Some((head, names.strip_prefix(REMOTE)?)));
        let default_branch = match self.default_ref {
            Some(name) => {
                let branch = short(name);
                if by_name(&format!("{REMOTE}{branch}")).is_none() {
                    let remedy = "the default reference must be a branch of the remote";
                    return Err(self.missing(name.as_str(), remedy));
                }
                RefName::parse(branch).ok()
            }
            None => head.and_then(|(_, branch)| RefName::parse(branch).ok()),
        };
        let base = match (self.base_ref.or(self.default_ref), head) {
            (Some(name), _) => {
                let found = candidates(name).iter().find_map(|candidate| by_name(candidate));
                let found = found.ok_or_else(|| {
                    self.missing(name.as_str(), "push it there, or name another base")
                })?;
                Base { name: short(name).to_owned(), commit: found.commit.clone() }
            }
            (None, Some((head, branch))) => {
                Base { name: branch.to_owned(), commit: head.commit.clone() }
            }
            (None, None) => {
                let remedy = "it is empty, or its HEAD is on no branch; push a first commit, or \
                              name the branch to start from";
                return Err(self.missing("HEAD", remedy));
            }
        };
        let own_branch = by_name(&format!("{REMOTE}{}", self.branch)).map(|own| own.commit.clone());
        Ok(Found { base, default_branch, own_branch })
    }

    fn missing(&self, name: &str, remedy: &str) -> GitError {
        GitError::RefNotFound {
            name: name.to_owned(),
            remote: self.remote.to_owned(),
            remedy: remedy.to_owned(),
        }
    }
}

/// Where a clone keeps a branch or tag of the remote; a branch comes before a tag.
fn candidates(name: &RefName) -> Vec<String> {
    let name = name.as_str();
    if let Some(branch) = name.strip_prefix("refs/heads/") {
        vec![format!("{REMOTE}{branch}")]
    } else if name.starts_with("refs/tags/") {
        vec![name.to_owned()]
    } else {
        vec![format!("{REMOTE}{name}"), format!("refs/tags/{name}")]
    }
}

fn short(name: &RefName) -> &str {
    let name = name.as_str();
    name.strip_prefix("refs/heads/").or_else(|| name.strip_prefix("refs/tags/")).unwrap_or(name)
}

/// Reads what git lists in [`FORMAT`]. A line that is no ref is left out.
pub(super) fn parse(listed: &[u8]) -> Vec<Ref> {
    let text = String::from_utf8_lossy(listed);
    text.lines().filter_map(parse_line).collect()
}

fn parse_line(line: &str) -> Option<Ref> {
    let mut fields = line.split('\0');
    let name = fields.next()?.to_owned();
    let object = ObjectId::parse(fields.next()?)?;
    let peeled = ObjectId::parse(fields.next()?);
    let symbolic = fields.next().filter(|target| !target.is_empty()).map(str::to_owned);
    Some(Ref { name, commit: peeled.unwrap_or(object), symbolic })
}

#[cfg(test)]
mod tests;
