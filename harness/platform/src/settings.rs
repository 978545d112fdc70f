//! What harness programs are told from outside alike: parts of their command lines.

use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use url::Url;

/// The fewest tokens that can be a window: below it no prompt of ours has room.
const SMALLEST_WINDOW: u64 = 4_000;
/// More than any model has.
const LARGEST_WINDOW: u64 = 100_000_000;

/// Which agent a process runs, and how it lives.
#[derive(Clone, Debug, Args)]
pub struct ProcessSettings {
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

/// How the model is used.
#[derive(Clone, Debug, Default, Args)]
pub struct ModelSettings {
    /// Tokens that fit the model's window, where that is not what the catalog says; 128000
    /// where nobody says.
    #[arg(
        long,
        env = "FLOW_CONTEXT_TOKENS",
        value_name = "NUMBER",
        value_parser = clap::value_parser!(u64).range(SMALLEST_WINDOW..=LARGEST_WINDOW)
    )]
    pub context_tokens: Option<u64>,

    /// How much the model is to reason, in one of its own levels, such as low or high.
    #[arg(long, env = "FLOW_REASONING_EFFORT", value_name = "LEVEL")]
    pub reasoning_effort: Option<String>,
}

impl ModelSettings {
    /// The reasoning level asked for; a variable that is set to nothing asks for none.
    pub fn effort(&self) -> Option<&str> {
        self.reasoning_effort.as_deref().map(str::trim).filter(|level| !level.is_empty())
    }
}

/// Reads whole seconds, from one to a day.
pub fn seconds(text: &str) -> Result<Duration, String> {
    match text.parse::<u64>() {
        Ok(seconds @ 1..=86_400) => Ok(Duration::from_secs(seconds)),
        _ => Err("give whole seconds from 1 to 86400".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::Parser;
    use rstest::rstest;

    use super::*;

    /// A program.
    #[derive(Debug, Parser)]
    struct Program {
        #[command(flatten)]
        model: ModelSettings,
    }

    fn parsed(arguments: &[&str]) -> Result<ModelSettings, String> {
        let arguments = ["program"].iter().chain(arguments);
        match Program::try_parse_from(arguments) {
            Ok(Program { model }) => Ok(model),
            Err(error) => Err(error.to_string()),
        }
    }

    #[rstest]
    #[case(&[], None)]
    #[case(&["--reasoning-effort", "high"], Some("high"))]
    #[case(&["--reasoning-effort", " high\n"], Some("high"))]
    #[case(&["--reasoning-effort", ""], None)]
    fn an_effort_of_nothing_is_none(#[case] arguments: &[&str], #[case] effort: Option<&str>) {
        assert_eq!(parsed(arguments).unwrap().effort(), effort);
    }

    #[rstest]
    #[case("32000", Ok(32_000))]
    #[case("3999", Err("4000"))]
    #[case("all", Err("context-tokens"))]
    #[case("-1", Err("context-tokens"))]
    fn a_window_is_a_sensible_number(#[case] given: &str, #[case] expected: Result<u64, &str>) {
        let argument = format!("--context-tokens={given}");
        match (parsed(&[&argument]), expected) {
            (Ok(model), Ok(tokens)) => assert_eq!(model.context_tokens, Some(tokens)),
            (Err(words), Err(part)) => assert!(words.contains(part), "{words}"),
            (got, expected) => panic!("{given}: {got:?}, not {expected:?}"),
        }
    }

    #[rstest]
    #[case("1", true)]
    #[case("86400", true)]
    #[case("0", false)]
    #[case("-1", false)]
    #[case("86401", false)]
    #[case("1.5", false)]
    #[case("soon", false)]
    fn a_rhythm_that_makes_no_sense_is_refused(#[case] given: &str, #[case] sense: bool) {
        assert_eq!(seconds(given).is_ok(), sense);
    }
}
