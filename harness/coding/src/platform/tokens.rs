//! Tokens of git hosts, which a pod gets by its environment.
//!
//! The environment a process was started with can be read in `/proc` for as long as it
//! lives, by commands of a model too where they run as the same user. So a process that
//! finds tokens there begins again without them, as the same process, and reads them
//! from a pipe.

use std::ffi::OsString;
use std::io::{self, Read as _, Write as _};
use std::os::unix::process::CommandExt as _;
use std::process::{Command, Stdio};

use secrecy::SecretString;
use serde::{Deserialize, Serialize};

const GITHUB: &str = "GITHUB_TOKEN";
const AZURE_DEVOPS: &str = "AZURE_DEVOPS_TOKEN";
/// Says that the tokens are on stdin. Its value is nothing secret.
const ON_STDIN: &str = "FOUNDRY_TOKENS_ON_STDIN";
/// Longest token; all of them must fit into a pipe before anybody reads from it.
const LONGEST: usize = 8 * 1024;

/// Tokens of git hosts.
#[derive(Debug, Default)]
pub struct Tokens {
    /// For GitHub's API.
    pub github: Option<SecretString>,
    /// For the API of Azure DevOps.
    pub azure_devops: Option<SecretString>,
}

/// Why the tokens could not be taken.
#[derive(Debug, thiserror::Error)]
pub enum TokensError {
    /// A value that is no token.
    #[error("{0} holds no token: give printable characters, {LONGEST} bytes at most")]
    Unusable(&'static str),
    /// The process could not begin again.
    #[error("failed to begin again without tokens in the environment")]
    Restart(#[source] io::Error),
    /// What was read back is not what was written.
    #[error("failed to read tokens from stdin: {0}")]
    Unreadable(String),
}

/// As they travel through the pipe.
#[derive(Default, Serialize, Deserialize)]
struct Carried {
    github: Option<String>,
    azure_devops: Option<String>,
}

/// Takes the tokens out of the environment. Must be the first thing a process does: it
/// may begin again here.
pub fn take() -> Result<Tokens, TokensError> {
    if std::env::var_os(ON_STDIN).is_some() {
        return read_back();
    }
    let github = token(GITHUB, std::env::var_os(GITHUB))?;
    let azure_devops = token(AZURE_DEVOPS, std::env::var_os(AZURE_DEVOPS))?;
    if github.is_none() && azure_devops.is_none() {
        return Ok(Tokens::default());
    }
    Err(TokensError::Restart(begin_again(&Carried { github, azure_devops })))
}

/// An empty variable is none: an optional key of a Secret may be there and empty.
fn token(name: &'static str, value: Option<OsString>) -> Result<Option<String>, TokensError> {
    let Some(value) = value.filter(|value| !value.is_empty()) else { return Ok(None) };
    let value = value.into_string().map_err(|_| TokensError::Unusable(name))?;
    let value = value.trim();
    let is_token = value.len() <= LONGEST && value.bytes().all(|byte| byte.is_ascii_graphic());
    match is_token {
        true if value.is_empty() => Ok(None),
        true => Ok(Some(value.to_owned())),
        false => Err(TokensError::Unusable(name)),
    }
}

/// Becomes the same program anew; returns only when that fails.
fn begin_again(tokens: &Carried) -> io::Error {
    let begun = || -> io::Result<Command> {
        let (reader, mut writer) = io::pipe()?;
        // It fits into the pipe, so this waits for nobody.
        writer.write_all(&serde_json::to_vec(tokens)?)?;
        let mut command = Command::new(std::env::current_exe()?);
        command
            .args(std::env::args_os().skip(1))
            .env_remove(GITHUB)
            .env_remove(AZURE_DEVOPS)
            .env(ON_STDIN, "1")
            .stdin(Stdio::from(reader));
        Ok(command)
    };
    match begun() {
        Ok(mut command) => command.exec(),
        Err(error) => error,
    }
}

fn read_back() -> Result<Tokens, TokensError> {
    let mut text = Vec::new();
    io::stdin()
        .take(4 * LONGEST as u64)
        .read_to_end(&mut text)
        .map_err(|error| TokensError::Unreadable(error.to_string()))?;
    // Not the error's own words: they may quote what was read.
    let Carried { github, azure_devops } = serde_json::from_slice(&text).map_err(|_| {
        TokensError::Unreadable("they are not in the form they were sent in".into())
    })?;
    Ok(Tokens {
        github: github.map(SecretString::from),
        azure_devops: azure_devops.map(SecretString::from),
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(None, Ok(""))]
    #[case(Some(""), Ok(""))]
    #[case(Some(" \n"), Ok(""))]
    #[case(Some("ghp_x1\n"), Ok("ghp_x1"))]
    #[case(Some("two words"), Err(()))]
    #[case(Some("zero\u{7}"), Err(()))]
    fn a_variable_holds_a_token_or_none_or_is_refused(
        #[case] value: Option<&str>,
        #[case] expected: Result<&str, ()>,
    ) {
        let taken = token(GITHUB, value.map(OsString::from)).map_err(drop);
        assert_eq!(taken.map(Option::unwrap_or_default), expected.map(str::to_owned));
    }

    /// BIND-11
    #[test]
    fn a_refused_value_is_not_repeated() {
        let error = token(GITHUB, Some(OsString::from("not a token"))).unwrap_err().to_string();
        assert!(!error.contains("not a token"), "{error}");
        assert!(error.starts_with("GITHUB_TOKEN holds no token"), "{error}");
    }

    #[test]
    fn the_longest_tokens_fit_into_a_pipe() {
        let longest = Some("x".repeat(LONGEST));
        let carried = Carried { github: longest.clone(), azure_devops: longest };
        assert!(serde_json::to_vec(&carried).unwrap().len() < 4 * LONGEST);
    }
}
