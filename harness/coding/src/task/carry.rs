//! What an attempt hands on to the next one: a fold over its log and the ledger
//! (CODE-25).

use foundry_kernel::policy::todos::Todo;
use foundry_kernel::{CallResult, Entry, Settled};
use foundry_llm::{Reply, ToolCall};
use foundry_platform::text::cut;
use serde_json::Value;

use super::ledger::{FailedCheck, Notes};

/// Files told, of those read and of those edited.
const FILES: usize = 40;
/// Remarks kept, the newest.
const REMARKS: usize = 12;
/// Bytes of one remark, question or answer.
const REMARK_BYTES: usize = 400;
/// Failed checks told, the newest, and bytes of what each said.
const FAILED: usize = 5;
const SAID_BYTES: usize = 1_500;
/// Tasks told.
const TODOS: usize = 40;

/// Tools that edit the file their `path` names, and those that read it.
const EDITS: &[&str] = &["edit_file", "write_file", "delete_file"];
const READS: &[&str] = &["read_file"];

/// What is known of a task from the attempts before.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Known {
    edited: Vec<String>,
    read: Vec<String>,
    remarks: Vec<String>,
}

impl Known {
    /// Takes up what an attempt's log tells.
    pub fn hear(&mut self, entries: &[Entry]) {
        let mut asked: &[ToolCall] = &[];
        for entry in entries {
            match entry {
                Entry::Assistant { reply } => {
                    self.remark(reply);
                    asked = &reply.calls;
                }
                Entry::Results { results } => self.touch(asked, results),
                Entry::User { .. } | Entry::Fold { .. } | Entry::Stubs { .. } => {}
            }
        }
    }

    /// What the model is told of it; nothing when nothing is known.
    pub fn render(&self, notes: &Notes) -> Option<String> {
        let Notes { answers, todos, failed, .. } = notes;
        let answers = answers.iter().map(|(question, answer)| {
            let question = cut(&one_line(question), REMARK_BYTES);
            format!("Asked: {question} Answered: {}", cut(&one_line(answer), REMARK_BYTES))
        });
        let decisions: Vec<String> = answers.chain(self.remarks.iter().cloned()).collect();
        let parts = [
            section("Files edited so far", &newest(&self.edited, FILES)),
            section("Files read so far", &newest(&self.read, FILES)),
            section("Decisions and remarks so far", &decisions),
            section(
                "Your task list",
                &todos.items().iter().take(TODOS).map(todo).collect::<Vec<_>>(),
            ),
            section("Checks whose newest run failed", &newest_failed(failed)),
        ];
        let told: Vec<String> = parts.into_iter().flatten().collect();
        (!told.is_empty()).then(|| told.join("\n\n"))
    }

    fn remark(&mut self, reply: &Reply) {
        let Some(text) = reply.text.as_deref().map(one_line).filter(|text| !text.is_empty()) else {
            return;
        };
        self.remarks.push(cut(&text, REMARK_BYTES));
        let extra = self.remarks.len().saturating_sub(REMARKS);
        self.remarks.drain(..extra);
    }

    fn touch(&mut self, asked: &[ToolCall], results: &[CallResult]) {
        for (call, result) in asked.iter().zip(results) {
            if !matches!(result.settled, Settled::Output { .. }) {
                continue;
            }
            let Some(path) = path_of(call) else { continue };
            if EDITS.contains(&call.name.as_str()) {
                note(&mut self.edited, path);
            } else if READS.contains(&call.name.as_str()) {
                note(&mut self.read, path);
            }
        }
    }
}

/// Moves a path to the end of a list.
fn note(paths: &mut Vec<String>, path: String) {
    paths.retain(|known| *known != path);
    paths.push(path);
}

fn path_of(call: &ToolCall) -> Option<String> {
    let arguments: Value = serde_json::from_str(&call.arguments).ok()?;
    arguments.get("path")?.as_str().map(str::to_owned)
}

fn newest(all: &[String], most: usize) -> Vec<String> {
    all.iter().skip(all.len().saturating_sub(most)).cloned().collect()
}

fn newest_failed(failed: &[FailedCheck]) -> Vec<String> {
    let shown = failed.iter().skip(failed.len().saturating_sub(FAILED));
    shown
        .map(|FailedCheck { name, said }| {
            let from = said.ceil_char_boundary(said.len().saturating_sub(SAID_BYTES));
            let said = said.get(from..).unwrap_or_default().trim();
            format!("{name}, which ended with:\n  {}", said.replace('\n', "\n  "))
        })
        .collect()
}

fn todo(todo: &Todo) -> String {
    let Todo { title, status } = todo;
    format!("[{status}] {title}")
}

fn section(title: &str, lines: &[String]) -> Option<String> {
    (!lines.is_empty()).then(|| format!("{title}:\n- {}", lines.join("\n- ")))
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests;
