//! The git program: how it is called, with which environment, and what its failures mean.

use std::ffi::{OsStr, OsString};
use std::path::Path;
use std::time::Duration;

use crate::error::GitError;
use crate::failure;
use crate::process::{Captured, Command, Exit, Reach, Runner};
use crate::remote::{Remote, Scheme};
use crate::ssh::SshKeys;

/// Whose git configuration counts beside the repository's own.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GitConfiguration {
    /// Nobody's: in a pod there is neither system nor global configuration.
    Nobodys,
    /// That of the person at whose machine this runs (`flowcode`).
    Persons,
}

/// What every command sees, whatever it is: nobody is there to be asked, and nothing is
/// paged. A repository's own tests may use git as they like, so this is all for them.
const UNATTENDED: &[(&str, &str)] = &[
    ("GIT_TERMINAL_PROMPT", "0"),
    ("SSH_ASKPASS_REQUIRE", "never"),
    ("GIT_EDITOR", "true"),
    ("GIT_SEQUENCE_EDITOR", "true"),
    ("GIT_PAGER", "cat"),
    ("PAGER", "cat"),
];

/// What git itself sees besides, called by us or by a model: no program as transport, and
/// by [`SETTINGS`] no hook and no watcher.
const GUARDED: &[(&str, &str)] =
    &[("GIT_PROTOCOL_FROM_USER", "0"), ("GIT_ALLOW_PROTOCOL", "ssh:https:http:git")];

/// Without system and global configuration.
const NOBODYS: &[(&str, &str)] =
    &[("GIT_CONFIG_NOSYSTEM", "1"), ("GIT_ATTR_NOSYSTEM", "1"), ("GIT_CONFIG_GLOBAL", "/dev/null")];

/// Settings that win over every file of configuration.
const SETTINGS: &[(&str, &str)] = &[
    ("core.hooksPath", "/dev/null"),
    ("core.fsmonitor", "false"),
    ("core.pager", "cat"),
    ("core.quotePath", "false"),
    ("color.ui", "false"),
    ("gc.auto", "0"),
    ("maintenance.auto", "false"),
    ("protocol.ext.allow", "never"),
    ("protocol.file.allow", "never"),
    ("push.default", "nothing"),
    ("push.gpgSign", "false"),
    ("push.recurseSubmodules", "no"),
    ("fetch.recurseSubmodules", "no"),
    ("submodule.recurse", "false"),
    ("advice.detachedHead", "false"),
];

/// The variables that `program` sees whatever else is given to it.
pub(crate) fn fixed_environment(
    program: &OsStr,
    configuration: GitConfiguration,
) -> Vec<(OsString, OsString)> {
    let pair = |(name, value): &(&str, &str)| ((*name).into(), (*value).into());
    let mut variables: Vec<(OsString, OsString)> = UNATTENDED.iter().map(pair).collect();
    if Path::new(program).file_name() != Some(OsStr::new("git")) {
        return variables;
    }
    variables.extend(GUARDED.iter().map(pair));
    if configuration == GitConfiguration::Nobodys {
        variables.extend(NOBODYS.iter().map(pair));
    }
    variables.push(("GIT_CONFIG_COUNT".into(), SETTINGS.len().to_string().into()));
    for (at, (name, value)) in SETTINGS.iter().enumerate() {
        variables.push((format!("GIT_CONFIG_KEY_{at}").into(), (*name).into()));
        variables.push((format!("GIT_CONFIG_VALUE_{at}").into(), (*value).into()));
    }
    variables
}

/// How remotes are reached.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Access {
    /// By the keys of a pod.
    Keys(SshKeys),
    /// As the person at whose machine this runs reaches them.
    Persons,
}

/// The git program. Clones share everything.
#[derive(Clone, Debug)]
pub struct Git {
    runner: Runner,
    access: Access,
}

/// How long a call may take that only works on this machine.
const LOCAL_LIMIT: Duration = Duration::from_mins(5);

/// Most bytes of stdout that a call keeps.
const STDOUT: usize = 64 * 1024 * 1024;

/// One call of git.
pub(crate) struct Call<'a> {
    /// What it does, after "failed to".
    pub(crate) action: &'static str,
    /// Where it runs.
    pub(crate) folder: &'a Path,
    /// Its arguments.
    pub(crate) arguments: Vec<OsString>,
    /// Variables of this call alone.
    pub(crate) environment: Vec<(&'static str, OsString)>,
    /// How much of stdout is kept.
    pub(crate) most: usize,
}

impl<'a> Call<'a> {
    pub(crate) fn new(
        action: &'static str,
        folder: &'a Path,
        arguments: impl IntoIterator<Item = impl Into<OsString>>,
    ) -> Self {
        let arguments = arguments.into_iter().map(Into::into).collect();
        Self { action, folder, arguments, environment: Vec::new(), most: STDOUT }
    }

    pub(crate) fn env(mut self, name: &'static str, value: impl Into<OsString>) -> Self {
        self.environment.push((name, value.into()));
        self
    }
}

impl Git {
    /// Calls of git by `runner`.
    pub fn new(runner: Runner, access: Access) -> Self {
        Self { runner, access }
    }

    /// What runs its calls, and a model's commands.
    pub fn runner(&self) -> &Runner {
        &self.runner
    }

    /// How remotes are reached.
    pub fn access(&self) -> &Access {
        &self.access
    }

    /// Runs a call on this machine and gives its stdout; any status but 0 is an error.
    /// It can read neither keys nor tokens: what a model may write into the repository's
    /// configuration can make git run programs.
    pub(crate) async fn local(&self, call: Call<'_>) -> Result<Vec<u8>, GitError> {
        let (action, captured) = (call.action, self.try_local(call).await?);
        if !captured.exit.passed() {
            return Err(failure::local(action, &captured.stderr));
        }
        if captured.stdout_bytes > captured.stdout.len() as u64 {
            let bytes = captured.stdout_bytes;
            let words = format!("git wrote {bytes} bytes, which is more than can be taken in");
            return Err(GitError::Unfit { action, words });
        }
        Ok(captured.stdout)
    }

    /// The same, with whatever status.
    pub(crate) async fn try_local(&self, call: Call<'_>) -> Result<Captured, GitError> {
        let (action, most) = (call.action, call.most);
        let command = prepared(call).limit(LOCAL_LIMIT);
        self.run(action, &command, Reach::Confined, most).await
    }

    /// Runs a call to a remote, with the key when there is one.
    pub(crate) async fn remote(
        &self,
        call: Call<'_>,
        remote: &Remote,
        limit: Duration,
    ) -> Result<Captured, GitError> {
        let (action, most) = (call.action, call.most);
        let mut command = prepared(call).limit(limit);
        match &self.access {
            Access::Keys(keys) => {
                if remote.scheme() != Scheme::Ssh {
                    let words = "a pod reaches repositories over SSH alone: write the remote as \
                                 ssh://git@host/path";
                    return Err(GitError::Unfit { action, words: words.to_owned() });
                }
                command = command
                    .env("GIT_SSH_COMMAND", keys.ssh_command(remote)?)
                    .env("GIT_SSH_VARIANT", "ssh")
                    .env("GIT_ALLOW_PROTOCOL", "ssh");
            }
            Access::Persons => command = command.env("GIT_ALLOW_PROTOCOL", "ssh:https:http"),
        }
        self.run(action, &command, Reach::Own, most).await
    }

    async fn run(
        &self,
        action: &'static str,
        command: &Command,
        reach: Reach,
        most: usize,
    ) -> Result<Captured, GitError> {
        let captured = self
            .runner
            .capture(command, reach, most)
            .await
            .map_err(|source| GitError::Run { action, source })?;
        match captured.exit {
            Exit::TimedOut => {
                let remote = reach == Reach::Own;
                Err(GitError::TimedOut { action, after: command.limit, remote })
            }
            Exit::Status(_) | Exit::Signal(_) => Ok(captured),
        }
    }

    /// What a failed call to a remote means.
    pub(crate) fn remote_failure(
        &self,
        action: &'static str,
        remote: &Remote,
        captured: &Captured,
    ) -> GitError {
        let (known_hosts, key) = match &self.access {
            Access::Keys(keys) => {
                let key = keys.key_for(remote).ok();
                let key = key.as_deref().and_then(Path::file_name).unwrap_or_default();
                (keys.known_hosts(), format!("key {}", key.to_string_lossy()))
            }
            Access::Persons => ("~/.ssh/known_hosts".to_owned(), "your key".to_owned()),
        };
        let tried = failure::Tried { action, remote, known_hosts: &known_hosts, key: &key };
        failure::remote(&tried, captured.exit, &captured.stderr)
    }
}

fn prepared(call: Call<'_>) -> Command {
    let Call { action: _, folder, arguments, environment, most: _ } = call;
    let mut command = Command::new("git", folder)
        .args(arguments)
        // Messages are read here, and a look must not take the lock of the index.
        .env("LC_ALL", "C")
        .env("GIT_OPTIONAL_LOCKS", "0")
        // What is pushed is the history as it is, and not as a clone may be told to show it.
        .env("GIT_NO_REPLACE_OBJECTS", "1")
        .env("GIT_GRAFT_FILE", "/dev/null");
    for (name, value) in environment {
        command = command.env(name, value);
    }
    command
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn environment(program: &str, configuration: GitConfiguration) -> Vec<(String, String)> {
        let text = |text: OsString| text.into_string().unwrap();
        let variables = fixed_environment(OsStr::new(program), configuration);
        variables.into_iter().map(|(name, value)| (text(name), text(value))).collect()
    }

    #[test]
    fn in_a_pod_git_has_no_system_and_no_global_configuration() {
        let pod = environment("git", GitConfiguration::Nobodys);
        let persons = environment("git", GitConfiguration::Persons);
        for (name, value) in NOBODYS {
            let pair = ((*name).to_owned(), (*value).to_owned());
            assert!(pod.contains(&pair));
            assert!(!persons.contains(&pair));
        }
    }

    #[test]
    fn every_setting_has_its_number() {
        let pairs = environment("/usr/bin/git", GitConfiguration::Nobodys);
        let value = |name: &str| pairs.iter().find(|(n, _)| n == name).map(|(_, v)| v.as_str());
        let count: usize = value("GIT_CONFIG_COUNT").unwrap().parse().unwrap();
        assert_eq!(count, SETTINGS.len());
        for (at, (name, setting)) in SETTINGS.iter().enumerate() {
            assert_eq!(value(&format!("GIT_CONFIG_KEY_{at}")), Some(*name));
            assert_eq!(value(&format!("GIT_CONFIG_VALUE_{at}")), Some(*setting));
        }
    }

    #[test]
    fn other_programs_may_use_git_as_they_like() {
        let names: Vec<_> = environment("go", GitConfiguration::Nobodys);
        assert_eq!(names.len(), UNATTENDED.len());
    }
}
