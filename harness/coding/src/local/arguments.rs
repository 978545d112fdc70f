//! The command line of `flowcode`.

use std::path::PathBuf;

use clap::{Parser, ValueEnum};
use foundry_client::Approval;
use foundry_llm::Provider;
use foundry_platform::settings::ModelSettings;
use secrecy::SecretString;
use url::Url;

/// Plans a change to the repository you are in, has you approve the plan, makes the
/// change on a branch of its own, runs the repository's checks and commits.
#[derive(Clone, Debug, Parser)]
#[command(name = "flowcode", version, after_help = AFTER_HELP)]
pub struct Arguments {
    /// What is to be done, in a few words or in Markdown.
    #[arg(value_name = "TASK", value_parser = not_blank)]
    pub task: String,

    /// The repository, or a folder in it.
    #[arg(short = 'C', long, value_name = "FOLDER", default_value = ".")]
    pub folder: PathBuf,

    /// Who serves the model, and its name there.
    #[arg(
        long,
        env = "FLOWCODE_MODEL",
        value_name = "PROVIDER/MODEL",
        default_value = "openai/gpt-5-mini",
        value_parser = model
    )]
    pub model: Model,

    /// Where the model is served, when that is not at its provider; no key is needed there.
    #[arg(long, env = "FLOWCODE_BASE_URL", value_name = "URL")]
    pub base_url: Option<Url>,

    /// The model that takes over when that one fails for good; another name than its own.
    #[arg(
        long,
        env = "FLOWCODE_FALLBACK_MODEL",
        value_name = "PROVIDER/MODEL",
        value_parser = model
    )]
    pub fallback_model: Option<Model>,

    /// Where that one is served, when that is not at its provider.
    #[arg(
        long,
        env = "FLOWCODE_FALLBACK_BASE_URL",
        value_name = "URL",
        requires = "fallback_model"
    )]
    pub fallback_base_url: Option<Url>,

    /// How the model is used.
    #[command(flatten)]
    pub use_of_model: ModelSettings,

    /// MCP servers whose tools the model may search and call: {"mcpServers": {…}} in JSON.
    #[arg(long, env = "FLOWCODE_MCP_CONFIG", value_name = "FILE")]
    pub mcp_config: Option<PathBuf>,

    /// Who approves the plan and answers questions: you, or the model itself.
    #[arg(long, value_name = "WHO", default_value = "person")]
    pub approve: Approve,

    /// A program that may be run beside the usual ones; may be given several times.
    #[arg(long = "extra-command", value_name = "NAME")]
    pub extra_commands: Vec<String>,

    /// Only paths that begin with this may be touched; may be given several times.
    #[arg(long = "path", value_name = "PREFIX")]
    pub paths: Vec<String>,

    /// Push the branch and open a pull request (GitHub).
    #[arg(long)]
    pub pull_request: bool,

    /// Begin although there are changes that are not committed; they become part of the work.
    #[arg(long)]
    pub allow_dirty: bool,

    /// Model turns in one attempt at planning or building.
    #[arg(long, value_name = "NUMBER", default_value = "60", value_parser = clap::value_parser!(u32).range(10..=500))]
    pub turns: u32,

    /// Minutes for planning and building together; waiting for you does not count.
    #[arg(long, value_name = "NUMBER", default_value = "30", value_parser = clap::value_parser!(u64).range(1..=1440))]
    pub minutes: u64,

    /// Key of `OpenAI`.
    #[arg(long, env = "OPENAI_API_KEY", hide = true, hide_env_values = true)]
    pub openai_key: Option<SecretString>,

    /// Key of Anthropic.
    #[arg(long, env = "ANTHROPIC_API_KEY", hide = true, hide_env_values = true)]
    pub anthropic_key: Option<SecretString>,

    /// Token for pull requests.
    #[arg(long, env = "GITHUB_TOKEN", hide = true, hide_env_values = true)]
    pub github_token: Option<SecretString>,

    /// Host of remotes that are GitHub.
    #[arg(
        long,
        env = "FLOWCODE_GITHUB_HOST",
        value_name = "HOST",
        default_value = "github.com",
        hide = true
    )]
    pub github_host: String,

    /// Address of GitHub's API.
    #[arg(
        long,
        env = "FLOWCODE_GITHUB_API_URL",
        value_name = "URL",
        default_value = "https://api.github.com",
        hide = true
    )]
    pub github_api_url: Url,
}

const AFTER_HELP: &str = "\
Keys come from the environment: OPENAI_API_KEY or ANTHROPIC_API_KEY for the model,
GITHUB_TOKEN for pull requests. None of them reaches a command that the model runs.

The plan is shown, and `build` begins the work; any other words change the plan.
The work is committed as you, on a branch flow/<task>. Nothing else is touched.

Exit status: 0 completed, 1 failed, 2 not begun, 3 unfinished (time, budget, no answer).

Examples:
  flowcode \"make the greeting polite\"
  flowcode --model anthropic/claude-sonnet-4-5 --approve self \"fix the failing test\"
  flowcode --base-url http://127.0.0.1:8000/v1 --model openai/qwen \"add a --quiet flag\"";

/// Who approves plans and answers questions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Approve {
    /// You.
    Person,
    /// The model.
    #[value(name = "self")]
    Itself,
}

impl From<Approve> for Approval {
    fn from(approve: Approve) -> Self {
        match approve {
            Approve::Person => Self::Person,
            Approve::Itself => Self::Itself,
        }
    }
}

/// A model and who serves it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Model {
    /// Who serves it, by its own protocol (KERN-03).
    pub provider: Provider,
    /// Its name at the provider.
    pub name: String,
}

fn model(text: &str) -> Result<Model, String> {
    let known = |provider| match provider {
        "openai" => Some(Provider::OpenAi),
        "anthropic" => Some(Provider::Anthropic),
        _ => None,
    };
    match text.split_once('/') {
        Some((provider, name)) if !name.trim().is_empty() => match known(provider) {
            Some(provider) => Ok(Model { provider, name: name.to_owned() }),
            None => Err(format!("{provider} is no provider: write openai/… or anthropic/…")),
        },
        _ => Err("write the provider and the model, such as openai/gpt-5-mini".to_owned()),
    }
}

fn not_blank(text: &str) -> Result<String, String> {
    match text.trim() {
        "" => Err("say what is to be done".to_owned()),
        task => Ok(task.to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory as _;
    use pretty_assertions::assert_eq;
    use rstest::rstest;

    use super::*;

    fn parsed(arguments: &[&str]) -> Result<Arguments, String> {
        let arguments = ["flowcode"].iter().chain(arguments);
        Arguments::try_parse_from(arguments).map_err(|error| error.to_string())
    }

    #[test]
    fn the_command_line_is_sound() {
        Arguments::command().debug_assert();
    }

    /// CODE-23, CODE-24, CODE-31
    #[test]
    fn a_task_is_all_it_needs() {
        let arguments = parsed(&["fix it"]).unwrap();
        assert_eq!(arguments.task, "fix it");
        assert_eq!(arguments.approve, Approve::Person);
        assert_eq!((arguments.turns, arguments.minutes), (60, 30));
        assert_eq!(arguments.folder, PathBuf::from("."));
        assert!(!arguments.pull_request && !arguments.allow_dirty);
        assert_eq!((arguments.fallback_model, arguments.mcp_config), (None, None));
        assert_eq!(arguments.use_of_model.effort(), None);
    }

    /// CODE-39, CODE-42, KERN-42
    #[test]
    fn window_effort_and_fallback_are_as_given() {
        let given = ["--context-tokens", "32000", "--reasoning-effort", "high"];
        let fallback = ["--fallback-model", "anthropic/claude-haiku-4-5"];
        let arguments = parsed(&[&["fix it"], &given[..], &fallback[..]].concat()).unwrap();
        assert_eq!(arguments.use_of_model.context_tokens, Some(32_000));
        assert_eq!(arguments.use_of_model.effort(), Some("high"));
        let fallback = arguments.fallback_model.unwrap();
        assert_eq!(fallback.provider, Provider::Anthropic);
        assert_eq!(fallback.name, "claude-haiku-4-5");
    }

    /// KERN-03
    #[rstest]
    #[case("openai/gpt-5-mini", Ok((Provider::OpenAi, "gpt-5-mini")))]
    #[case("anthropic/claude-sonnet-4-5", Ok((Provider::Anthropic, "claude-sonnet-4-5")))]
    #[case("openai/org/model", Ok((Provider::OpenAi, "org/model")))]
    #[case("gpt-5-mini", Err("write the provider"))]
    #[case("openai/", Err("write the provider"))]
    #[case("mistral/large", Err("mistral is no provider"))]
    fn a_model_names_its_provider(
        #[case] text: &str,
        #[case] expected: Result<(Provider, &str), &str>,
    ) {
        match (model(text), expected) {
            (Ok(model), Ok((provider, name))) => {
                assert_eq!((model.provider, model.name.as_str()), (provider, name));
            }
            (Err(words), Err(part)) => assert!(words.contains(part), "{words}"),
            (got, expected) => panic!("{text}: {got:?}, not {expected:?}"),
        }
    }

    #[rstest]
    #[case(&[])]
    #[case(&["  "])]
    #[case(&["fix it", "--turns", "9"])]
    #[case(&["fix it", "--minutes", "0"])]
    #[case(&["fix it", "--approve", "nobody"])]
    #[case(&["fix it", "--base-url", "nowhere"])]
    #[case(&["fix it", "--fallback-model", "claude-haiku-4-5"])]
    #[case(&["fix it", "--fallback-base-url", "http://127.0.0.1:8000/v1"])]
    #[case(&["fix it", "--context-tokens", "100"])]
    fn what_makes_no_sense_is_refused(#[case] arguments: &[&str]) {
        assert!(parsed(arguments).is_err(), "{arguments:?}");
    }

    /// BIND-11
    #[test]
    fn no_key_is_shown_by_help_or_debug() {
        let arguments = parsed(&["fix it", "--openai-key", "sk-secret"]).unwrap();
        assert!(!format!("{arguments:?}").contains("sk-secret"));
        let help = Arguments::command().render_long_help().to_string();
        assert!(help.starts_with("Plans a change to the repository"), "{help}");
        assert!(!help.contains("--openai-key") && help.contains("OPENAI_API_KEY"), "{help}");
    }
}
