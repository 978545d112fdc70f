//! Everything the harness is told from outside: its environment, read once.

use std::path::PathBuf;
use std::time::Duration;

use clap::Parser;
use url::Url;

/// Runs one always-on agent: thinks on a rhythm, handles wakes, reports to the API.
#[derive(Clone, Debug, Parser)]
#[command(name = "harness", version)]
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

    /// File with the token for the API; read again on each use.
    #[arg(long, env = "FOUNDRY_TOKEN_FILE", value_name = "FILE")]
    pub token_file: PathBuf,

    /// Seconds from the start of one evaluation to the start of the next.
    #[arg(
        long,
        env = "FOUNDRY_EVALUATE_SECONDS",
        value_name = "SECONDS",
        default_value = "15",
        value_parser = seconds
    )]
    pub evaluate_every: Duration,

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
    use rstest::rstest;

    use super::*;

    const NEEDED: [&str; 9] = [
        "harness",
        "--api-url",
        "http://127.0.0.1:8080",
        "--agent-id",
        "scout",
        "--agent-namespace",
        "foundry-agents",
        "--token-file",
        "/var/run/token",
    ];

    /// LOOP-02, LOOP-03
    #[test]
    fn the_rhythm_is_fifteen_seconds_and_the_heartbeat_thirty_unless_told_otherwise() {
        let settings = Settings::try_parse_from(NEEDED).unwrap();
        assert_eq!(settings.evaluate_every, Duration::from_secs(15));
        assert_eq!(settings.heartbeat_every, Duration::from_secs(30));
    }

    #[rstest]
    #[case("0")]
    #[case("-1")]
    #[case("86401")]
    #[case("1.5")]
    #[case("soon")]
    fn a_rhythm_that_makes_no_sense_is_refused(#[case] given: &str) {
        let arguments = NEEDED.into_iter().chain(["--evaluate-every", given]);
        let error = Settings::try_parse_from(arguments).unwrap_err().to_string();
        assert!(error.contains("evaluate-every") || error.contains("unexpected"), "{error}");
    }
}
