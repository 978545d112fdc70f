//! The one command that an sshd runs for a connection: what the server in this crate
//! does itself, as a script.

use std::ffi::OsStr;
use std::path::Path;

use anyhow::{Context as _, Result};

use crate::git::command::Unfit;
use crate::git::faults::{Faults, Hang};
use crate::git::hook;

/// What a script is made of.
pub(super) struct Order<'a> {
    pub number: usize,
    pub repositories: &'a Path,
    pub hooks: &'a Path,
    pub sessions: &'a Path,
    pub faults: &'a Faults,
}

impl Order<'_> {
    /// The script. What the client asked for is only ever compared and cut.
    pub(super) fn script(&self) -> Result<String> {
        let Self { number, repositories, hooks, sessions, faults } = self;
        let repositories = repositories
            .canonicalize()
            .with_context(|| format!("failed to find the folder {}", repositories.display()))?;
        let settings: Vec<String> = hook::settings(hooks).iter().map(shell_quoted).collect();
        let mut refusals = Vec::new();
        for push in &faults.refuse_pushes {
            let pattern = push.repository.as_deref().map_or_else(|| "*".to_owned(), shell_quoted);
            let one = Faults { refuse_pushes: vec![push.clone()], ..Faults::default() };
            let name = push.repository.clone().unwrap_or_default();
            let line = shell_quoted(hook::refusals(&one, &name));
            refusals.push(format!("case $path in {pattern}) REFUSALS=$REFUSALS{line} ;; esac\n"));
        }
        let read_only = if faults.read_only {
            let words = shell_quoted(hook::READ_ONLY);
            format!("case $program in receive-pack) refuse {words} ;; esac\n")
        } else {
            String::new()
        };
        // Ends when the client leaves.
        let hang = if faults.hang == Some(Hang::Command) { "exec cat > /dev/null\n" } else { "" };
        Ok(format!(
            r#"#!/bin/sh
refuse() {{ printf '%s\n' "$1" >&2; exit 1; }}
case $SSH_ORIGINAL_COMMAND in
"git-upload-pack '"*"'") program=upload-pack ;;
"git-receive-pack '"*"'") program=receive-pack ;;
*) refuse {command} ;;
esac
path=${{SSH_ORIGINAL_COMMAND#*\'}}
path=${{path%\'}}
path=${{path#/}}
path=${{path%/}}
path=${{path%.git}}
case $path in
'' | [.-]* | */[.-]* | *//* | */ | /* | *[!A-Za-z0-9._/-]*) refuse {not_found} ;;
esac
bare={repositories}/$path.git
[ -f "$bare/HEAD" ] || refuse {not_found}
printf '%s\n' "{number} $program $path" >> {sessions}
{read_only}{hang}REFUSALS=
{refusals}export REFUSALS PATH={search} HOME="$bare" LC_ALL=C
export GIT_CONFIG_NOSYSTEM=1 GIT_CONFIG_GLOBAL=/dev/null
exec git {settings} "$program" "$bare"
"#,
            command = shell_quoted(Unfit::Command.to_string()),
            not_found = shell_quoted(Unfit::Path.to_string()),
            repositories = shell_quoted(&repositories),
            sessions = shell_quoted(sessions),
            search = shell_quoted(std::env::var_os("PATH").unwrap_or_default()),
            settings = settings.join(" "),
            refusals = refusals.concat(),
        ))
    }
}

/// One word for a shell, whatever stands in it.
pub(super) fn shell_quoted(word: impl AsRef<OsStr>) -> String {
    format!("'{}'", word.as_ref().to_string_lossy().replace('\'', r"'\''"))
}
