//! Everything the harness is told from outside: its environment, read once.

use std::path::PathBuf;

use clap::Parser;
use foundry_platform::settings::{ModelSettings, ProcessSettings};
use url::Url;

/// Runs one coding agent: clones its repository, plans, edits, checks, opens a pull
/// request, and reports to the API. Tokens of git hosts are taken from `GITHUB_TOKEN` and
/// `AZURE_DEVOPS_TOKEN`.
#[derive(Clone, Debug, Parser)]
#[command(name = "harness-coding", version)]
pub struct Settings {
    /// Which agent, and how its process lives.
    #[command(flatten)]
    pub process: ProcessSettings,

    /// How the model is used.
    #[command(flatten)]
    pub model: ModelSettings,

    /// The start this process was made for.
    #[arg(long, env = "FOUNDRY_START_NUMBER", value_name = "NUMBER")]
    pub start_number: i64,

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
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use clap::CommandFactory as _;
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
        assert_eq!(settings.process.heartbeat_every, Duration::from_secs(30));
        assert_eq!(settings.ssh_dir, PathBuf::from("/etc/foundry/ssh"));
        assert_eq!((settings.model.context_tokens, settings.model.effort()), (None, None));
    }

    #[test]
    fn help_says_what_the_program_does() {
        let help = Settings::command().render_help().to_string();
        assert!(help.starts_with("Runs one coding agent"), "{help}");
    }

    #[test]
    fn a_start_number_that_is_none_is_refused() {
        let arguments = NEEDED.map(|argument| if argument == "2" { "two" } else { argument });
        let error = Settings::try_parse_from(arguments).unwrap_err().to_string();
        assert!(error.contains("start-number"), "{error}");
    }
}
