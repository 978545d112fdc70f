use std::time::Duration;

use async_trait::async_trait;
use foundry_client::LogLevel;
use foundry_git::{Command, Exit, Finished, chain};
use foundry_kernel::{Execute, Tool, ToolError};
use foundry_platform::tools::arguments;
use foundry_workspace::commands::{self, ENVIRONMENT, Judgement};
use foundry_workspace::gate::{Event, Outcome, Ran};
use serde::Deserialize;
use serde_json::{Map, Value, json};

use super::{Bench, spec, writes};
use crate::kind;
use crate::site::Site;

/// Bytes of a failed check's output that later attempts may be told.
const SAID_BYTES: usize = 4 * 1024;

/// The name by which a repository's own Gradle wrapper is called (CODE-14).
const GRADLEW: &str = "gradlew";

/// `run_command`: one allowed program, without a shell.
pub(super) fn tool(bench: &Bench) -> Tool {
    let schema = json!({
        "type": "object", "additionalProperties": false, "required": ["command"],
        "properties": {
            "command": {
                "type": "array", "minItems": 1, "maxItems": 200, "items": { "type": "string" },
                "description": "Program and arguments."
            },
            "path": { "type": "string", "default": ".", "description": "Folder to run it in." }
        }
    });
    let description = "Run one allowed command without a shell. It is stopped after 10 minutes. \
        git push is not allowed here: use git_push.";
    writes(spec("run_command", description, schema), RunCommand(bench.clone()))
}

struct RunCommand(Bench);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Arguments {
    command: Vec<String>,
    #[serde(default = "root")]
    path: String,
}

fn root() -> String {
    ".".to_owned()
}

#[async_trait]
impl Execute for RunCommand {
    async fn execute(&self, given: Map<String, Value>) -> Result<String, ToolError> {
        let Arguments { command: argv, path } = arguments(given)?;
        let site = &self.0.site;
        site.policy().check(&argv).map_err(|refused| ToolError::Failed(refused.to_string()))?;
        let command = command(site, &argv, &path)?;
        let judgement = commands::judge(&argv);
        let is_check = matches!(judgement, Judgement::Counts(_));
        // Of one that only looks like a check the gate has words to say, too.
        let is_measured = judgement != Judgement::NoCheck;
        // Begun before any command, so that what one changes is seen.
        drop(site.gate().await);
        let before = if is_measured { site.tree().await } else { None };
        let run = site.repository().git().runner().run(&command).await;
        let finished = run.map_err(|error| ToolError::Failed(chain(&error)))?;
        self.tell(&argv, is_check, &finished);
        match finished.exit {
            Exit::Status(_) => {}
            // A git that was killed leaves its locks.
            Exit::Signal(_) | Exit::TimedOut => {
                let removed = site.repository().remove_stale_locks();
                removed.map_err(|error| ToolError::Failed(chain(&error)))?;
            }
        }
        if is_measured {
            let trees = (before, site.tree().await);
            let newest = self.count(&argv, &path, &finished, trees).await;
            if let Some(outcome) = newest.filter(|_| is_check) {
                let said = end(&finished.output.to_string());
                self.0.ledger.checked(&outcome.name, outcome.passed, &said);
            }
        }
        if argv.first().is_some_and(|program| program == "git")
            && let Ok(head) = site.repository().head().await
        {
            self.0.ledger.head(head.as_str());
        }
        Ok(shown(&finished, &judgement))
    }
}

impl RunCommand {
    fn tell(&self, argv: &[String], is_check: bool, finished: &Finished) {
        let command = commands::shown(argv);
        let data = json!({
            "command": command,
            "exit_status": status(finished.exit),
            "check": is_check,
            "duration_ms": u64::try_from(finished.duration.as_millis()).unwrap_or(u64::MAX),
        });
        let line = format!("`{command}` {}", ending(finished));
        self.0.site.lines().write(kind::COMMAND, LogLevel::Info, &line, Some(data));
    }

    /// Shows a check to the gate, and gives the newest result it knows.
    async fn count(
        &self,
        argv: &[String],
        path: &str,
        finished: &Finished,
        (before, after): (Option<String>, Option<String>),
    ) -> Option<Outcome> {
        let ran = Ran {
            argv: argv.to_vec(),
            folder: path.to_owned(),
            exit: status(finished.exit),
            quiet: finished.output.total_bytes == 0,
            before,
            after,
        };
        let mut gate = self.0.site.gate().await;
        gate.take(Event::Command(ran));
        gate.results().pop()
    }
}

/// How a check's output ends: that is where it says what failed.
fn end(said: &str) -> String {
    let from = said.ceil_char_boundary(said.len().saturating_sub(SAID_BYTES));
    said.get(from..).unwrap_or_default().to_owned()
}

fn command(site: &Site, argv: &[String], path: &str) -> Result<Command, ToolError> {
    let (program, arguments) = argv
        .split_first()
        .ok_or_else(|| ToolError::Failed("the command is empty: name a program".to_owned()))?;
    let failed = |error: foundry_workspace::Error| ToolError::Failed(error.to_string());
    let folder = site.workspace().folder(path).map_err(failed)?;
    let command = if program == GRADLEW {
        let wrapper = commands::gradlew(site.workspace(), path).map_err(failed)?;
        // It finds its project by where it runs.
        Command::new(wrapper.program, if path == root() { wrapper.folder } else { folder })
    } else {
        Command::new(program, folder)
    };
    let harmless = ENVIRONMENT.iter().copied();
    Ok(harmless.fold(command.args(arguments), |command, (name, value)| command.env(name, value)))
}

/// What the model reads: how it ended, what it wrote, and why it counts for nothing.
fn shown(finished: &Finished, judgement: &Judgement) -> String {
    let output = finished.output.to_string();
    let mut parts = vec![format!("The command {}.", ending(finished))];
    if let Judgement::Hollow(why) = judgement {
        parts.push(format!("It does not count as a check: {why}"));
    }
    parts.push(match output.trim_end() {
        "" => "It wrote nothing.".to_owned(),
        output => format!("It wrote:\n{output}"),
    });
    parts.join("\n")
}

fn ending(finished: &Finished) -> String {
    let took = seconds(finished.duration);
    match finished.exit {
        Exit::Status(status) => format!("ended with status {status} after {took}"),
        Exit::Signal(signal) => format!("was ended by signal {signal} after {took}"),
        Exit::TimedOut => format!("was stopped after {took}: it took too long"), // CODE-15
    }
}

fn status(exit: Exit) -> Option<i32> {
    match exit {
        Exit::Status(status) => Some(status),
        Exit::Signal(_) | Exit::TimedOut => None,
    }
}

fn seconds(duration: Duration) -> String {
    format!("{:.1} s", duration.as_secs_f64())
}
