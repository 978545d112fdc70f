//! Documents whose commands are typed as they stand.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::{Command, Stdio};

use pretty_assertions::assert_eq;

/// Says above a block that its commands are not run here, and why.
const NOT_RUN: &str = "<!-- not run: ";

/// Types every command of a document into a shell, after the lines that the demo gives
/// for another terminal.
pub fn its_commands_work_in_a_demo(document: &str, demo_said: &str, scratch: &Path) {
    let text = fs::read_to_string(testenv::workspace_root().join(document)).unwrap();
    let commands = commands(&text);
    assert!(!commands.is_empty(), "{document} has no commands");

    // A failed request fails the script.
    let mut script = "set -e\ncurl() { command curl --fail-with-body \"$@\"; }\n".to_owned();
    script.push_str(&other_terminal(demo_said));
    for command in commands {
        let shown = command.replace('\'', r"'\''");
        write!(script, "\nprintf '%s\\n' '$ {shown}'\n{command}\n").unwrap();
    }
    let folder = scratch.join("another terminal");
    fs::create_dir_all(&folder).unwrap();
    let file = folder.join("script");
    fs::write(&file, script).unwrap();
    let typed =
        Command::new("sh").arg(&file).current_dir(&folder).stdin(Stdio::null()).output().unwrap();
    let printed = [typed.stdout, typed.stderr].concat();
    assert!(typed.status.success(), "{document}: {}", String::from_utf8_lossy(&printed));
}

/// The commands of its console blocks, with their continued lines.
fn commands(document: &str) -> Vec<String> {
    let mut commands: Vec<String> = Vec::new();
    let (mut in_block, mut above) = (false, "");
    for line in document.lines() {
        if let Some(fence) = line.strip_prefix("```") {
            in_block = !in_block && fence == "console" && !above.starts_with(NOT_RUN);
        } else if in_block {
            if let Some(command) = line.strip_prefix("$ ") {
                commands.push(command.to_owned());
            } else if let Some(command) = commands.last_mut().filter(|it| it.ends_with('\\')) {
                command.push('\n');
                command.push_str(line);
            }
        }
        above = line;
    }
    commands
}

/// What the demo says to type into another terminal before anything else.
fn other_terminal(demo_said: &str) -> String {
    let (_, after) = demo_said.split_once("In another terminal:\n\n").unwrap();
    let lines = after.lines().take_while(|line| line.starts_with("  "));
    lines.fold(String::new(), |all, line| format!("{all}{}\n", &line[2..]))
}

#[test]
fn commands_are_those_of_console_blocks_that_are_to_be_run() {
    let document = "$ no\n```console\n$ one \\\n    | two\nprinted\n$ three\n```\n\
        <!-- not run: why -->\n```console\n$ no\n```\n```yaml\n$ no\n```\n```console\n$ four\n```\n";
    assert_eq!(commands(document), ["one \\\n    | two", "three", "four"]);
}

#[test]
fn lines_for_another_terminal_end_at_the_first_blank_one() {
    let said = "… In another terminal:\n\n  a=1\n  b=$(c \\\n    d)\n\nThen:\n\n  e\n";
    assert_eq!(other_terminal(said), "a=1\nb=$(c \\\n  d)\n");
}
