//! What the model says in a run: its turns, phase by phase.

use fakes::model::{Reply, When};
use serde_json::json;

use super::world::World;

/// Words in each run's task by which its requests are known.
pub fn mark(run: &str) -> String {
    format!("run `{run}`")
}

/// A phase of a run, by its heading in the system prompt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Planning,
    Building,
}

impl Part {
    pub fn heading(self) -> &'static str {
        match self {
            Self::Planning => "# Planning",
            Self::Building => "# Building",
        }
    }
}

impl World {
    /// The model's turns in one phase of this run. A turn is known by its place in the
    /// conversation, so that asking again, after whatever went wrong, gives it again.
    pub fn play(&self, run: &str, part: Part, turns: impl IntoIterator<Item = Reply>) {
        self.play_from(1, run, part, turns);
    }

    /// The same, from a later turn on.
    pub fn play_from(
        &self,
        first: usize,
        run: &str,
        part: Part,
        turns: impl IntoIterator<Item = Reply>,
    ) {
        for (index, reply) in turns.into_iter().enumerate() {
            let when = When::any().message(mark(run)).system(part.heading()).step(first + index);
            self.model.on((when, reply));
        }
    }
}

pub fn list(path: &str) -> Reply {
    Reply::call("list_dir", json!({"path": path}))
}

pub fn read(path: &str) -> Reply {
    Reply::call("read_file", json!({"path": path}))
}

pub fn edit(path: &str, old: &str, new: &str) -> Reply {
    Reply::call("edit_file", json!({"path": path, "old_text": old, "new_text": new}))
}

/// A command, its words apart by single spaces.
pub fn command(line: &str) -> Reply {
    command_of(&line.split(' ').collect::<Vec<_>>())
}

pub fn command_of<W: serde::Serialize>(words: &[W]) -> Reply {
    Reply::call("run_command", json!({"command": words}))
}

pub fn commit(message: &str) -> Reply {
    command_of(&["git", "commit", "--all", "--message", message])
}

pub fn ask(question: &str, recommended: &str) -> Reply {
    Reply::call("ask_question", json!({"question": question, "recommended": recommended}))
}

pub fn save(plan: &str) -> Reply {
    Reply::call("save_coding_plan", json!({"markdown": plan}))
}

pub fn push() -> Reply {
    Reply::call("git_push", json!({}))
}

pub fn open(title: &str, description: &str) -> Reply {
    Reply::call("open_pull_request", json!({"title": title, "description": description}))
}

pub fn finish(outcome: &str, summary: &str) -> Reply {
    Reply::call("finish", json!({"outcome": outcome, "summary": summary}))
}
