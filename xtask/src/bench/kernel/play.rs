//! What the model says in a run, and the repository it is said about.

use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use crate::repository;

/// Notes in the repository; a turn reads one, and each is read once.
const NOTES: usize = 200;
/// Bytes of a note.
const NOTE_BYTES: usize = 2048;
/// Bytes of the great output.
const GREAT_BYTES: usize = 30_000_000;
/// Turns of the case with the great output.
const GREAT_TURNS: usize = 5;
/// Which of them has it, from 1.
pub const GREAT_TURN: usize = 3;
/// Requests of planning: a plan is saved at once.
pub const PLANNING: usize = 1;
/// Requests before the first of the calls that are measured: a plan and an edit.
pub const BEFORE: usize = PLANNING + 1;
/// Requests from the one that brings the last of their results: a commit and the end.
const AFTER: usize = 2;

/// A protocol, by its provider.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wire {
    OpenAi,
    Anthropic,
}

impl Wire {
    /// As `flowcode --model` names it.
    pub fn provider(self) -> &'static str {
        match self {
            Self::OpenAi => "openai",
            Self::Anthropic => "anthropic",
        }
    }
}

/// What the turns of a run do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Case {
    /// So many commands, each printing 2 KB.
    Commands(usize),
    /// So many files of 2 KB read, without a process.
    Files(usize),
    /// A few commands, one of which prints 30 MB.
    Great,
}

impl Case {
    pub const ALL: [Self; 4] =
        [Self::Commands(50), Self::Commands(NOTES), Self::Files(50), Self::Great];

    /// Calls that are measured.
    pub fn turns(self) -> usize {
        match self {
            Self::Commands(turns) | Self::Files(turns) => turns,
            Self::Great => GREAT_TURNS,
        }
    }

    /// For a person.
    fn name(self) -> String {
        match self {
            Self::Commands(turns) => format!("{turns} commands of 2 KB"),
            Self::Files(turns) => format!("{turns} files of 2 KB"),
            Self::Great => "30 MB of output".to_owned(),
        }
    }
}

/// A case over a wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Play {
    pub case: Case,
    pub wire: Wire,
}

impl Play {
    /// For a person.
    pub fn name(self) -> String {
        format!("{}, {}", self.wire.provider(), self.case.name())
    }

    /// Requests of the whole run.
    pub fn requests(self) -> usize {
        BEFORE + self.case.turns() + AFTER
    }

    /// The script, in the scripted model's form. A document is changed and committed, so
    /// that the run ends well and in the ordinary way.
    pub fn script(self, great: &Path) -> Value {
        let edit = json!({"path": "README.md", "old_text": "Notes.", "new_text": "Many notes."});
        let end = json!({"outcome": "completed", "summary": "All notes are read."});
        let mut steps = vec![
            call("save_coding_plan", &json!({"markdown": "# Plan\n\nRead all notes.\n"})),
            call("edit_file", &edit),
        ];
        steps.extend((1..=self.case.turns()).map(|turn| self.turn(turn, great)));
        steps.push(run(&["git", "commit", "--all", "--message", "Say how many notes there are"]));
        steps.push(call("finish", &end));
        // It answers first and judges then, so that its own work falls into no gap.
        json!({"checks": "later", "scripts": [{"steps": steps}]})
    }

    fn turn(self, turn: usize, great: &Path) -> Value {
        match self.case {
            Case::Files(_) => call("read_file", &json!({"path": note(turn)})),
            Case::Great if turn == GREAT_TURN => run(&["cat", &great.display().to_string()]),
            Case::Commands(_) | Case::Great => run(&["cat", &note(turn)]),
        }
    }
}

fn call(tool: &str, arguments: &Value) -> Value {
    json!({"calls": [{"tool": tool, "arguments": arguments}]})
}

fn run(command: &[&str]) -> Value {
    call("run_command", &json!({"command": command}))
}

/// The path of a note in the repository.
pub fn note(number: usize) -> String {
    format!("notes/{number}.txt")
}

/// Makes the repository, with one commit, and the file of the great output beside it.
pub fn lay(project: &Path, great: &Path) -> Result<()> {
    std::fs::create_dir_all(project.join("notes")).context("failed to make the repository")?;
    std::fs::write(project.join("README.md"), "# Notes\n\nNotes.\n")?;
    for number in 1..=NOTES {
        std::fs::write(project.join(note(number)), text(number, NOTE_BYTES))?;
    }
    std::fs::write(great, text(0, GREAT_BYTES)).context("failed to write 30 MB")?;
    let folder = project.display().to_string();
    let git = |arguments: &[&str]| {
        let identity = ["-c", "user.name=Ann", "-c", "user.email=ann@example.org"];
        repository::run("git", &[&["-C", &folder], &identity[..], arguments].concat())
    };
    git(&["init", "--quiet", "--initial-branch=main"])?;
    git(&["add", "--all"])?;
    git(&["commit", "--quiet", "--message", "Begin"])
}

/// Lines of text, as long as asked for.
fn text(number: usize, bytes: usize) -> String {
    let line =
        format!("Note {number}: the tide was seen to turn at the third hour of the watch.\n");
    let mut text = line.repeat(bytes / line.len() + 1);
    text.truncate(bytes);
    text
}

#[cfg(test)]
mod tests {
    use fakes::model::file::ScriptFile;
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn every_script_is_one_that_the_model_plays_and_has_a_step_for_each_request() {
        for case in Case::ALL {
            for wire in [Wire::OpenAi, Wire::Anthropic] {
                let play = Play { case, wire };
                let script = play.script(Path::new("/great.txt"));
                let steps = script["scripts"][0]["steps"].as_array().map(Vec::len);
                assert_eq!(steps, Some(play.requests()));
                ScriptFile::parse(&script.to_string()).unwrap();
            }
        }
    }

    #[test]
    fn no_two_turns_make_the_same_call() {
        let play = Play { case: Case::Commands(NOTES), wire: Wire::OpenAi };
        let script = play.script(Path::new("/great.txt"));
        let steps = script["scripts"][0]["steps"].as_array().unwrap();
        let mut said: Vec<String> = steps.iter().map(Value::to_string).collect();
        said.sort_unstable();
        said.dedup();
        assert_eq!(said.len(), play.requests());
    }
}
