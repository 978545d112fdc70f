//! What git on the server is told: which pushes to refuse, and what not to do by itself.

use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};

use super::faults::Faults;

/// What a deploy key that may not write hears.
pub(super) const READ_ONLY: &str =
    "ERROR: The key you are authenticating with has been marked as read only.";

/// Refuses a push as a person's own hook would. `$REFUSALS` has a line each: the
/// branch, or nothing for any; a tab; the words.
const HOOK: &str = r#"#!/bin/sh
tab=$(printf '\t')
while read -r old new ref; do
    printf '%s\n' "$REFUSALS" | while IFS= read -r line; do
        branch=${line%%"$tab"*}
        if [ -n "$line" ] && { [ -z "$branch" ] || [ "refs/heads/$branch" = "$ref" ]; }; then
            printf '%s\n' "${line#*"$tab"}" >&2
            exit 1
        fi
    done || exit 1
done
"#;

/// Writes the hook that refuses pushes; gives the folder that git is to look in.
pub(super) fn write_in(keys: &Path) -> Result<PathBuf> {
    let folder = keys.join("hooks");
    let hook = folder.join("pre-receive");
    let write = || {
        fs::create_dir_all(&folder)?;
        // By rename: one that runs cannot be written to.
        let beside = folder.join("pre-receive.new");
        fs::write(&beside, HOOK)?;
        fs::set_permissions(&beside, fs::Permissions::from_mode(0o755))?;
        fs::rename(&beside, &hook)
    };
    write().with_context(|| format!("failed to write {}", hook.display()))?;
    Ok(folder)
}

/// The hook's orders for a push to this repository.
pub(super) fn refusals(faults: &Faults, repository: &str) -> String {
    let line = |branch: &Option<String>, message: &str| {
        let words = message.split('\n').collect::<Vec<_>>().join(" ");
        format!("{}\t{words}\n", branch.as_deref().unwrap_or_default())
    };
    faults.refusals(repository).map(|push| line(&push.branch, &push.message)).collect()
}

/// Settings of git on the server: nothing of a repository's own runs, nothing goes on
/// behind a push, and clients may filter as hosts let them.
pub(super) fn settings(hooks: &Path) -> Vec<String> {
    let hooks = format!("core.hooksPath={}", hooks.display());
    let settings =
        [hooks.as_str(), "receive.autogc=false", "gc.auto=0", "uploadpack.allowFilter=true"];
    settings.iter().flat_map(|setting| ["-c".to_owned(), (*setting).to_owned()]).collect()
}
