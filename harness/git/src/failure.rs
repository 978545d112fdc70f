//! What git and SSH mean by what they say. Their messages are the only place where it
//! stands; `LC_ALL=C` keeps them in English.

use crate::error::{GitError, quoted};
use crate::process::Exit;
use crate::remote::Remote;

/// What was tried, for the error's words.
pub(crate) struct Tried<'a> {
    pub(crate) action: &'static str,
    pub(crate) remote: &'a Remote,
    /// Where known host keys are.
    pub(crate) known_hosts: &'a str,
    /// What a person calls the key that was shown.
    pub(crate) key: &'a str,
}

const HOST_KEY_CHANGED: &[&str] = &[
    "remote host identification has changed",
    "has changed and you have requested strict checking",
    "revoked host key detected",
];
const HOST_KEY_UNKNOWN: &[&str] =
    &["host key is known for", "host key verification failed", "authenticity of host"];
const AUTH_REFUSED: &[&str] = &[
    "permission denied (",
    "too many authentication failures",
    "error in libcrypto",
    "invalid format",
    "marked as read only",
    "write access to repository not granted",
    "permission to ",
    "could not read username",
    "could not read password",
    "authentication failed",
    "no supported authentication methods",
];
const NOT_FOUND: &[&str] = &[
    "repository not found",
    "does not appear to be a git repository",
    "tf401019",
    "no such repository",
    "the project you were looking for could not be found",
    "repository does not exist",
];
const UNREACHABLE: &[&str] = &[
    "connection refused",
    "connection timed out",
    "operation timed out",
    "connection reset",
    "connection closed",
    "connection to ",
    "no route to host",
    "network is unreachable",
    "could not resolve",
    "temporary failure in name resolution",
    "kex_exchange_identification",
    "banner exchange",
    "broken pipe",
    "client_loop",
    "timeout, server",
    "the remote end hung up unexpectedly",
    "early eof",
    "unexpected disconnect",
    "internal server error",
    "service unavailable",
    "bad gateway",
    "failed to connect",
    "couldn't connect",
];

/// With nothing else beside it.
const CLOSED: &[&str] = &["could not read from remote repository"];

/// What a failed call to a remote means. Refusals come first: behind each of them git
/// also says that the remote end hung up.
pub(crate) fn remote(tried: &Tried<'_>, exit: Exit, stderr: &str) -> GitError {
    let Tried { action, remote, known_hosts, key } = tried;
    let lower = stderr.to_ascii_lowercase();
    let says = |patterns: &[&str]| patterns.iter().any(|pattern| lower.contains(pattern));
    let host = remote.authority();
    let words = telling(stderr);
    if says(HOST_KEY_CHANGED) {
        return GitError::HostKeyChanged { host, known_hosts: (*known_hosts).to_owned() };
    }
    if says(HOST_KEY_UNKNOWN) {
        return GitError::HostKeyUnknown { host, known_hosts: (*known_hosts).to_owned() };
    }
    if says(AUTH_REFUSED) {
        return GitError::AuthRefused { host, key: (*key).to_owned(), words };
    }
    if says(NOT_FOUND) {
        return GitError::RepositoryNotFound { remote: remote.to_string(), words };
    }
    if says(UNREACHABLE) {
        return GitError::Unreachable { host, words };
    }
    if says(CLOSED) && told(stderr).is_none() {
        // SSH is silent about a connection that just ends.
        let words = "the connection was closed without a word".to_owned();
        return GitError::Unreachable { host, words };
    }
    match exit {
        Exit::Signal(signal) => {
            GitError::Failed { action, words: format!("{words} (ended by signal {signal})") }
        }
        Exit::Status(_) | Exit::TimedOut => GitError::Failed { action, words },
    }
}

/// What a failed call on this machine means.
pub(crate) fn local(action: &'static str, stderr: &str) -> GitError {
    GitError::Failed { action, words: telling(stderr) }
}

/// Lines that say nothing about the cause.
const IDLE: &[&str] = &[
    "fatal: could not read from remote repository.",
    "please make sure you have the correct access rights",
    "and the repository exists.",
    "fatal: the remote end hung up unexpectedly",
    "cloning into ",
    "warning: permanently added",
    "error: failed to push some refs to ",
];

/// The lines of `stderr` that tell a person something; all of them, if none does.
pub(crate) fn telling(stderr: &str) -> String {
    told(stderr).unwrap_or_else(|| quoted(stderr))
}

fn told(stderr: &str) -> Option<String> {
    let lines = stderr.lines().map(str::trim).filter(|line| !line.is_empty());
    let tells = |line: &&str| {
        let lower = line.to_ascii_lowercase();
        !IDLE.iter().any(|idle| lower.starts_with(idle)) && !is_frame(&lower)
    };
    let told: Vec<&str> = lines.filter(tells).collect();
    (!told.is_empty()).then(|| quoted(&told.join("\n")))
}

/// A line of `@@@` around a warning of SSH.
fn is_frame(line: &str) -> bool {
    line.bytes().all(|byte| matches!(byte, b'@' | b' '))
}

/// What the other side's hooks and servers said: the lines behind `remote:`.
pub(crate) fn remote_words(stderr: &str) -> Option<String> {
    let lines = stderr.lines().filter_map(|line| line.trim().strip_prefix("remote:"));
    let lines: Vec<&str> = lines.map(str::trim).filter(|line| !line.is_empty()).collect();
    (!lines.is_empty()).then(|| quoted(&lines.join("\n")))
}

#[cfg(test)]
mod tests;
