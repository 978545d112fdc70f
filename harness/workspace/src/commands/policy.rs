//! Whether a command may run.

use std::collections::BTreeSet;

use super::wrapped::{self, Inner};
use super::{base_name, git};

/// The programs that may run (CODE-12).
const STANDARD: &[&str] = &[
    "git",
    "rg",
    "jq",
    "go",
    "gofmt",
    "golangci-lint",
    "gopls",
    "node",
    "npm",
    "npx",
    "corepack",
    "pnpm",
    "python",
    "python3",
    "make",
    "gcc",
    "java", // tools
    "ls",
    "cat",
    "grep",
    "pwd",
    "echo",
    "head",
    "tail",
    "less",
    "more",
    "wc",
    "which",
    "whereis",
    "dir",
    "env",
    "printenv",
    "whoami",
    "date",
    "time",
    "uptime",
    "uname",
    "df",
    "du",
    "ps",
    "top",
    "htop",
    "man",
    "info", // inspection
];

/// The wrapper of the clone, which is no program of the machine (CODE-14).
pub const GRADLEW: &str = "gradlew";

/// Programs that run others, one within the other.
const DEEPEST: usize = 8;

/// Which commands may run for one agent.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    extra: BTreeSet<String>,
}

/// Why a command may not run, for the model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Refused(String);

impl Policy {
    /// The standard programs, and those that this agent has besides (CODE-09).
    pub fn new(extra_commands: &[String]) -> Self {
        Self { extra: extra_commands.iter().cloned().collect() }
    }

    /// Whether the command may run.
    pub fn check(&self, argv: &[String]) -> Result<(), Refused> {
        self.allow(argv, DEEPEST).map_err(Refused)
    }

    /// The programs that may run, for the model.
    pub fn programs(&self) -> Vec<&str> {
        let extra = self.extra.iter().map(String::as_str).filter(|name| !STANDARD.contains(name));
        STANDARD.iter().copied().chain([GRADLEW]).chain(extra).collect()
    }

    fn allow(&self, argv: &[String], depth: usize) -> Result<(), String> {
        let Some((program, arguments)) = argv.split_first() else {
            return Err("the command is empty: name a program and its arguments".to_owned());
        };
        if argv.iter().any(|word| word.contains('\0')) {
            return Err("a command cannot hold a NUL character".to_owned());
        }
        if let Some(why) = no_shell(program, arguments) {
            return Err(why);
        }
        let is_extra = self.extra.contains(program);
        if !is_extra && SHELLS.contains(&program.as_str()) {
            return Err(is_shell(program));
        }
        if !is_extra && !STANDARD.contains(&program.as_str()) && program != GRADLEW {
            return Err(format!(
                "{program:?} is not among the programs that may run: {}",
                self.programs().join(", ")
            ));
        }
        let Some(depth) = depth.checked_sub(1) else {
            return Err("too many programs that run each other: run the last one itself".to_owned());
        };
        self.look_through(argv, depth)?;
        match program.as_str() {
            "git" => git::check(arguments),
            "rg" => options(program, arguments, &["--pre", "--hostname-bin"]),
            "man" => options(program, arguments, &["-P", "--pager", "-H", "--html", "-C"]),
            "python" | "python3" | "node" | "make" | "go" | "java" => push_in_text(arguments),
            "npm" | "npx" | "pnpm" | "pnpx" | "yarn" | "corepack" => push_in_words(arguments),
            _ if is_extra => push_in_words(arguments).and_then(|()| push_in_text(arguments)),
            _ => Ok(()),
        }
    }

    fn look_through(&self, argv: &[String], depth: usize) -> Result<(), String> {
        match wrapped::inner(argv)? {
            Inner::Nothing => Ok(()),
            Inner::Command { argv, sets, folder: _ } => {
                for (name, value) in sets {
                    variable(name, value)?;
                }
                self.allow(&argv, depth)
            }
            Inner::Manager(argv) => match argv.first().map(String::as_str) {
                // A version of a program that need not be on the list itself.
                Some("yarn" | "pnpx") => {
                    self.look_through(&argv, depth)?;
                    push_in_words(&argv)
                }
                _ => self.allow(&argv, depth),
            },
            Inner::Package { argv, .. } | Inner::GoTool(argv) => {
                let name = argv.first().map_or("", |program| base_name(program));
                if SHELLS.contains(&name) {
                    return Err(is_shell(name));
                }
                // Programs of packages need not be on the list; those that are, are
                // looked at as if they ran on their own.
                if STANDARD.contains(&name) || ["yarn", "pnpx"].contains(&name) {
                    let rest = argv.get(1..).unwrap_or_default();
                    let argv: Vec<String> =
                        std::iter::once(name.to_owned()).chain(rest.iter().cloned()).collect();
                    return match name {
                        "yarn" | "pnpx" => self.look_through(&argv, depth),
                        _ => self.allow(&argv, depth),
                    };
                }
                push_in_text(&argv)
            }
        }
    }
}

const SHELLS: &[&str] = &[
    "sh",
    "bash",
    "zsh",
    "dash",
    "ash",
    "ksh",
    "mksh",
    "fish",
    "csh",
    "tcsh",
    "busybox",
    "pwsh",
    "powershell",
    "cmd",
];

fn is_shell(name: &str) -> String {
    format!("{name} is a shell, and there is none here: name program and arguments apart")
}

/// What only a shell could do (CODE-13).
fn no_shell(program: &str, arguments: &[String]) -> Option<String> {
    let instead = match program {
        "cd" | "pushd" | "popd" => "give the folder as `path`",
        "type" => "use which",
        "alias" | "unalias" => "write the command out",
        "history" => "the commands so far are in this conversation",
        "help" => "use man, or the program's own --help",
        "export" | "set" | "unset" => "use env NAME=value program",
        "source" | "." | "eval" | "exec" | "exit" | "if" | "for" | "while" | "test" | "[" => {
            "run one program at a time"
        }
        _ => return operators(program, arguments),
    };
    Some(format!("{program:?} is not a command: there is no shell here; {instead}"))
}

fn operators(program: &str, arguments: &[String]) -> Option<String> {
    if arguments.is_empty() && program.contains(char::is_whitespace) {
        let words: Vec<&str> = program.split_whitespace().collect();
        return Some(format!(
            "{program:?} is one word: give program and arguments apart, as {words:?}"
        ));
    }
    if program.contains('/') {
        return Some(format!(
            "{program:?} is a path: programs are named without one, and {GRADLEW} is the clone's \
             own wrapper"
        ));
    }
    // As an argument of its own behind another one, and not as the value of an option.
    let is_operator = |word: &str| {
        ["&&", "||", "|", ";", ">", ">>", "<", "<<", "2>", "2>&1", "&>", "&"].contains(&word)
    };
    let operator = arguments.windows(2).find(
        |pair| matches!(pair, [before, word] if is_operator(word) && !before.starts_with('-')),
    )?;
    let operator = operator.last()?;
    Some(format!(
        "{operator:?} would be an argument of {program}, for there is no shell here: run each \
         command on its own"
    ))
}

fn options(program: &str, arguments: &[String], refused: &[&str]) -> Result<(), String> {
    for word in arguments.iter().take_while(|word| *word != "--") {
        let name = word.split('=').next().unwrap_or(word);
        let is_refused = |one: &&&str| {
            if one.starts_with("--") {
                // Any beginning of a long option is taken for it.
                name.len() > 3 && one.starts_with(name)
            } else {
                let letter = one.trim_start_matches('-');
                word.starts_with('-') && !word.starts_with("--") && word.contains(letter)
            }
        };
        if let Some(option) = refused.iter().find(is_refused) {
            return Err(format!("{program} {option} is not allowed: it runs another program"));
        }
    }
    Ok(())
}

/// Variables that change what runs, or who it is.
fn variable(name: &str, value: &str) -> Result<(), String> {
    let lower = name.to_ascii_lowercase().replace('-', "_");
    let names_program =
        ["pager", "manpager", "editor", "visual", "browser", "lessopen", "lessclose"];
    let is_refused = match lower.as_str() {
        "git_pager" | "git_editor" | "git_sequence_editor" => {
            !["cat", "true", ":", ""].contains(&value)
        }
        "git_optional_locks" | "git_terminal_prompt" | "git_merge_autoedit" => false,
        one if one.starts_with("git_trace") => false,
        "path" | "home" | "tmpdir" | "xdg_config_home" | "bash_env" | "env" | "shell" => true,
        one if ["git_", "ld_", "dyld_", "ssh_"].iter().any(|start| one.starts_with(start)) => true,
        one if names_program.contains(&one) => !["cat", "true", ":", ""].contains(&value),
        one if one.starts_with("npm_config_") => {
            ["call", "script_shell", "shell", "userconfig", "globalconfig"]
                .contains(&one.trim_start_matches("npm_config_"))
        }
        _ => false,
    };
    if is_refused {
        return Err(format!(
            "the variable {name} is not allowed: it changes what runs, or as whom"
        ));
    }
    Ok(())
}

/// `git` as a word of its own, and what follows it.
fn push_in_words(argv: &[String]) -> Result<(), String> {
    for (at, word) in argv.iter().enumerate() {
        if base_name(word) == "git" {
            git::check(argv.get(at + 1..).unwrap_or_default())?;
        }
    }
    Ok(())
}

/// Words between `git` and `push` in a text that spells out a command.
const APART: usize = 6;

/// `git push` spelt out within an argument: `['git', 'push']`, `git -C x push`.
fn push_in_text(arguments: &[String]) -> Result<(), String> {
    for text in arguments {
        let words: Vec<&str> = text
            .split(|one: char| !(one.is_alphanumeric() || "-_./".contains(one)))
            .filter(|word| !word.is_empty())
            .collect();
        for (at, word) in words.iter().enumerate() {
            let next = words.get(at + 1..).unwrap_or_default();
            let pushes = next.iter().take(APART).any(|word| ["push", "send-pack"].contains(word));
            if base_name(word) == "git" && pushes {
                return Err("git push is not allowed here: use the tool git_push".to_owned());
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
