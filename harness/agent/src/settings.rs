//! Everything the harness is told from outside: its environment, read once.

use std::time::Duration;

use clap::Parser;
use foundry_platform::settings::{ModelSettings, ProcessSettings, seconds};

/// Runs one always-on agent: thinks on a rhythm, handles wakes, reports to the API.
#[derive(Clone, Debug, Parser)]
#[command(name = "harness", version)]
pub struct Settings {
    /// Which agent, and how its process lives.
    #[command(flatten)]
    pub process: ProcessSettings,

    /// How the model is used.
    #[command(flatten)]
    pub model: ModelSettings,

    /// Seconds from the start of one evaluation to the start of the next.
    #[arg(
        long,
        env = "FOUNDRY_EVALUATE_SECONDS",
        value_name = "SECONDS",
        default_value = "15",
        value_parser = seconds
    )]
    pub evaluate_every: Duration,
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;

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
        assert_eq!(settings.process.heartbeat_every, Duration::from_secs(30));
        assert_eq!((settings.model.context_tokens, settings.model.effort()), (None, None));
    }

    #[test]
    fn a_rhythm_that_makes_no_sense_is_refused_by_name() {
        let arguments = NEEDED.into_iter().chain(["--evaluate-every", "0"]);
        let error = Settings::try_parse_from(arguments).unwrap_err().to_string();
        assert!(error.contains("evaluate-every"), "{error}");
    }

    #[test]
    fn help_says_what_the_program_does() {
        let help = Settings::command().render_help().to_string();
        assert!(help.starts_with("Runs one always-on agent"), "{help}");
    }
}
