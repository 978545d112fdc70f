//! A small real project: a Node module with a real failing test.

use std::path::Path;
use std::process::Command;

use fakes::model::Reply;
use serde_json::json;

/// The defect, and what mends it.
pub const WRONG: &str = "`Hello${name}`";
pub const RIGHT: &str = "`Hello, ${name}!`";

/// Writes the project's files.
pub fn lay(folder: &Path) {
    let files = [
        ("greet.js", format!("export function greet(name) {{\n  return {WRONG};\n}}\n")),
        (
            "greet.test.js",
            "import { test } from 'node:test';\nimport assert from 'node:assert';\n\
             import { greet } from './greet.js';\n\n\
             test('greets by name', () => {\n  assert.equal(greet('Ann'), 'Hello, Ann!');\n});\n"
                .to_owned(),
        ),
        ("package.json", "{ \"name\": \"greeting\", \"type\": \"module\" }\n".to_owned()),
        ("README.md", "# Greeting\n\nGreets people.\n".to_owned()),
    ];
    for (name, content) in files {
        std::fs::write(folder.join(name), content).unwrap();
    }
}

/// Makes a repository of it, with one commit on `main` by its owner.
pub fn commit(folder: &Path) {
    for arguments in [
        &["init", "--quiet", "--initial-branch=main"][..],
        &["config", "user.name", "Ann Owner"],
        &["config", "user.email", "ann@example.com"],
        &["add", "--all"],
        &["commit", "--quiet", "--message", "Begin"],
    ] {
        git(folder, arguments);
    }
}

/// Runs git there and gives what it says.
#[track_caller]
pub fn git(folder: &Path, arguments: &[&str]) -> String {
    let output = Command::new("git")
        .current_dir(folder)
        .env("GIT_CONFIG_NOSYSTEM", "1")
        .env("GIT_CONFIG_GLOBAL", "/dev/null")
        .args(arguments)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    assert!(output.status.success(), "git {arguments:?}: {said} {output:?}");
    said
}

/// A call of `run_command`.
pub fn run(command: &[&str]) -> Reply {
    Reply::call("run_command", json!({ "command": command }))
}

pub fn plan(markdown: &str) -> Reply {
    Reply::call("save_coding_plan", json!({ "markdown": markdown }))
}

/// The edit that mends the project.
pub fn mend() -> Reply {
    edit(WRONG, RIGHT)
}

pub fn edit(old: &str, new: &str) -> Reply {
    let arguments = json!({ "path": "greet.js", "old_text": old, "new_text": new });
    Reply::call("edit_file", arguments)
}

/// The project's own check.
pub fn check() -> Reply {
    run(&["node", "--test"])
}

pub fn add() -> Reply {
    run(&["git", "add", "--all"])
}

pub fn commit_work() -> Reply {
    run(&["git", "commit", "--message", "Greet with comma and exclamation mark"])
}

pub fn finish(outcome: &str) -> Reply {
    Reply::call("finish", json!({ "outcome": outcome, "summary": "It greets properly." }))
}
