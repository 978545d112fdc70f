//! Everything the harness is told from outside: its environment, read once.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use url::Url;

/// Runs one coding agent: clones its repository, plans, edits, checks, opens a pull
/// request, and reports to the API. Tokens of git hosts are taken from `GITHUB_TOKEN` and
/// `AZURE_DEVOPS_TOKEN`.
#[derive(Clone, Debug, Parser)]
#[command(name = "harness-coding", version)]
pub struct Settings {
    /// Address of the Foundry API.
    #[arg(long, env = "FOUNDRY_API_URL", value_name = "URL")]
    pub api_url: Url,

    /// Id of the agent this process runs.
    #[arg(long, env = "FOUNDRY_AGENT_ID", value_name = "ID")]
    pub agent_id: String,

    /// Namespace of the agent.
    #[arg(long, env = "FOUNDRY_AGENT_NAMESPACE", value_name = "NAMESPACE")]
    pub agent_namespace: String,

    /// The start this process was made for.
    #[arg(long, env = "FOUNDRY_START_NUMBER", value_name = "NUMBER")]
    pub start_number: i64,

    /// File with the token for the API; read again on each use.
    #[arg(long, env = "FOUNDRY_TOKEN_FILE", value_name = "FILE")]
    pub token_file: PathBuf,

    /// Folder of SSH keys and known hosts.
    #[arg(
        long,
        env = "FOUNDRY_SSH_DIR",
        value_name = "FOLDER",
        default_value = "/etc/foundry/ssh"
    )]
    pub ssh_dir: PathBuf,

    /// Folder for the clone; it goes below `repository`.
    #[arg(long, env = "HOME", value_name = "FOLDER")]
    pub home: PathBuf,

    /// Folder for temporary files and long outputs.
    #[arg(long, env = "TMPDIR", value_name = "FOLDER", default_value = "/tmp")]
    pub temporary: PathBuf,

    /// Host of remotes that are GitHub: `host` or `host:port`.
    #[arg(long, env = "FOUNDRY_GITHUB_HOST", value_name = "HOST", default_value = "github.com")]
    pub github_host: String,

    /// Address of GitHub's API.
    #[arg(
        long,
        env = "FOUNDRY_GITHUB_API_URL",
        value_name = "URL",
        default_value = "https://api.github.com"
    )]
    pub github_api_url: Url,

    /// Seconds between two heartbeats.
    #[arg(
        long,
        env = "FOUNDRY_HEARTBEAT_SECONDS",
        value_name = "SECONDS",
        default_value = "30",
        value_parser = seconds
    )]
    pub heartbeat_every: Duration,

    /// File that whoever owns this local run holds locked; the harness ends when the
    /// lock is let go.
    #[arg(long, env = "FOUNDRY_LIFELINE", value_name = "FILE")]
    pub lifeline: Option<PathBuf>,

    /// File that the harness holds locked while it lives, with its process id inside.
    #[arg(long, env = "FOUNDRY_LOCK_FILE", value_name = "FILE")]
    pub lock_file: Option<PathBuf>,
}

fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<u64>() {
        Ok(seconds @ 1..=86_400) => Ok(Duration::from_secs(seconds)),
        _ => Err("give whole seconds from 1 to 86400".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    const NEEDED: [&str; 13] = [
        "harness-coding",
        "--api-url",
        "http://127.0.0.1:8080",
        "--agent-id",
        "fix-greeting",
        "--agent-namespace",
        "foundry-agents",
        "--token-file",
        "/var/run/token",
        "--start-number",
        "2",
        "--home",
        "/work",
    ];

    #[test]
    fn a_pod_needs_its_agent_its_start_and_its_token_and_has_defaults_for_the_rest() {
        let settings = Settings::try_parse_from(NEEDED).unwrap();
        assert_eq!(settings.start_number, 2);
        assert_eq!(settings.github_host, "github.com");
        assert_eq!(settings.github_api_url.as_str(), "https://api.github.com/");
        assert_eq!(settings.heartbeat_every, Duration::from_secs(30));
        assert_eq!(settings.ssh_dir, PathBuf::from("/etc/foundry/ssh"));
    }

    #[test]
    fn a_start_number_that_is_none_is_refused() {
        let arguments = NEEDED.map(|argument| if argument == "2" { "two" } else { argument });
        let error = Settings::try_parse_from(arguments).unwrap_err().to_string();
        assert!(error.contains("start-number"), "{error}");
    }
}
