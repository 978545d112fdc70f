//! The keys of a pod, and the one SSH command that uses them.

use std::path::{Path, PathBuf};

use crate::error::GitError;
use crate::remote::{Hosting, HostingSettings, Remote};

/// The folder that Secret `foundry-harness-ssh` is mounted at: private keys by host,
/// and the host keys that are known.
///
/// Keys are named, never read here: the SSH program reads them, and only in our own
/// clones, fetches and pushes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SshKeys {
    folder: PathBuf,
    hosting: HostingSettings,
}

const KNOWN_HOSTS: &str = "known_hosts";
/// For hosts without a key of their own.
const ANY_HOST: &str = "ssh-privatekey";

impl SshKeys {
    /// Takes the keys in `folder`. `known_hosts` must be there: an unknown host key is
    /// never accepted.
    pub fn open(folder: &Path, hosting: HostingSettings) -> Result<Self, GitError> {
        let unusable = |words: String| GitError::KeyFolder { folder: folder.to_owned(), words };
        let illegal = |c: char| c.is_control() || "\"\\$".contains(c);
        if !folder.is_absolute() || folder.to_str().is_none_or(|path| path.contains(illegal)) {
            // SSH would part or expand it, and knows no way to spell it.
            let words = "its path must be absolute, in UTF-8 and without \", \\ and $".to_owned();
            return Err(unusable(words));
        }
        let known_hosts = folder.join(KNOWN_HOSTS);
        match std::fs::metadata(&known_hosts) {
            Ok(file) if file.is_file() => Ok(Self { folder: folder.to_owned(), hosting }),
            Ok(_) => Err(unusable(format!("{KNOWN_HOSTS} in it is no file"))),
            Err(error) => Err(unusable(format!(
                "{KNOWN_HOSTS} in it cannot be read ({error}): add host keys under that name to \
                 Secret foundry-harness-ssh"
            ))),
        }
    }

    /// The folder.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Who hosts what.
    pub fn hosting(&self) -> &HostingSettings {
        &self.hosting
    }

    /// What a person calls the list of known host keys.
    pub(crate) fn known_hosts(&self) -> String {
        let path = self.folder.join(KNOWN_HOSTS);
        format!("{} (key known_hosts of Secret foundry-harness-ssh)", path.display())
    }

    /// The key for a remote, chosen by its host (CODE-01).
    pub fn key_for(&self, remote: &Remote) -> Result<PathBuf, GitError> {
        let names = match Hosting::of(remote, &self.hosting) {
            Hosting::GitHub => vec!["github", ANY_HOST],
            Hosting::AzureDevOps => vec!["azure-devops", ANY_HOST],
            Hosting::Other => vec![ANY_HOST],
        };
        let found = names.iter().map(|name| self.folder.join(name)).find(|path| path.is_file());
        found.ok_or_else(|| GitError::NoKey {
            host: remote.authority(),
            folder: self.folder.clone(),
            names,
        })
    }

    /// The value of `GIT_SSH_COMMAND` for a remote: this key and these host keys, no
    /// question asked, no configuration read, no agent spoken to.
    pub fn ssh_command(&self, remote: &Remote) -> Result<String, GitError> {
        let key = self.key_for(remote)?;
        let known_hosts = self.folder.join(KNOWN_HOSTS);
        // SSH parts what follows an option's name at blanks, but for double quotes.
        let files = [
            format!("IdentityFile=\"{}\"", unexpanded(&key)),
            format!("UserKnownHostsFile=\"{}\"", unexpanded(&known_hosts)),
        ];
        let mut command = "ssh -F none".to_owned();
        for option in OPTIONS.iter().copied().chain(files.iter().map(String::as_str)) {
            command.push_str(" -o ");
            command.push_str(&word(option));
        }
        Ok(command)
    }
}

/// A path that SSH takes as it is: it would expand `%h` and the like.
fn unexpanded(path: &Path) -> String {
    path.display().to_string().replace('%', "%%")
}

/// One word for the shell that git runs the command with.
fn word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+@,=:".contains(c);
    if text.chars().all(plain) {
        text.to_owned()
    } else {
        format!("'{}'", text.replace('\'', "'\\''"))
    }
}

const OPTIONS: &[&str] = &[
    // Nobody is there to be asked.
    "BatchMode=yes",
    "PreferredAuthentications=publickey",
    "IdentitiesOnly=yes",
    "IdentityAgent=none",
    // A host that cannot be vouched for is not spoken to.
    "StrictHostKeyChecking=yes",
    "GlobalKnownHostsFile=/dev/null",
    "UpdateHostKeys=no",
    "VerifyHostKeyDNS=no",
    // A host that says nothing is given up.
    "ConnectTimeout=15",
    "ConnectionAttempts=1",
    "ServerAliveInterval=15",
    "ServerAliveCountMax=4",
    "TCPKeepAlive=yes",
    // Nothing but git's own streams.
    "ForwardAgent=no",
    "ForwardX11=no",
    "ClearAllForwardings=yes",
    "PermitLocalCommand=no",
    "ControlMaster=no",
    "ControlPath=none",
    "RequestTTY=no",
    "LogLevel=ERROR",
];

#[cfg(test)]
mod tests;
