//! Programs that run other programs, and what they run.

use super::options::{self, Argument, Spec};

/// What a command runs beneath itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Inner<'a> {
    /// Nothing that can be told from its arguments.
    Nothing,
    /// Exactly this command (`env`, `time`).
    Command {
        /// Program and arguments.
        argv: Vec<String>,
        /// Variables set for it.
        sets: Vec<(&'a str, &'a str)>,
        /// Folder it runs in, if it is another one.
        folder: Option<&'a str>,
    },
    /// A package manager of another name or version (`corepack pnpm@9 …`).
    Manager(Vec<String>),
    /// A program of a package, which need not be on anybody's list (`npx`, `pnpm exec`).
    Package {
        /// Program and arguments.
        argv: Vec<String>,
        /// Packages that were named besides.
        packages: Vec<&'a str>,
        /// Whether every option was understood.
        is_clear: bool,
    },
    /// A tool of the Go module (`go tool`).
    GoTool(Vec<String>),
}

/// Looks one level into a command; an error where what would run cannot be told.
pub fn inner(argv: &[String]) -> Result<Inner<'_>, String> {
    let Some((program, rest)) = argv.split_first() else { return Ok(Inner::Nothing) };
    match program.as_str() {
        "env" => env(rest),
        "time" => time(rest),
        "npx" => package(program, rest, NPM),
        "pnpx" => package(program, rest, PNPM),
        "npm" => npm(rest),
        "pnpm" => pnpm(rest),
        "yarn" => yarn(rest),
        "corepack" => Ok(corepack(rest)),
        "go" => Ok(go(rest)),
        _ => Ok(Inner::Nothing),
    }
}

const NO_SHELL: &str = "there is no shell here: name program and arguments apart";

fn env(mut rest: &[String]) -> Result<Inner<'_>, String> {
    let mut folder = None;
    let mut sets = Vec::new();
    while let Some((word, after)) = rest.split_first() {
        let Some(option) = word.strip_prefix('-') else { break };
        rest = after;
        match option {
            "-" => break,
            "" | "-ignore-environment" => return Err(emptied(word)),
            "-null" | "-debug" => {}
            "-unset" => {
                kept(rest.first().map_or("", String::as_str))?;
                rest = rest.get(1..).unwrap_or_default();
            }
            "-chdir" => {
                folder = rest.first().map(String::as_str);
                rest = rest.get(1..).unwrap_or_default();
            }
            _ if option.starts_with("-unset=") => kept(option.trim_start_matches("-unset="))?,
            _ if option.starts_with("-chdir=") => folder = word.split_once('=').map(|(_, dir)| dir),
            _ if option.starts_with('-') => {
                return Err(format!("env {word} cannot be looked through: leave it out"));
            }
            _ => env_letters(word, option, &mut rest, &mut folder)?,
        }
    }
    while let Some((word, after)) = rest.split_first() {
        let Some(set) = word.split_once('=') else { break };
        sets.push(set);
        rest = after;
    }
    if rest.is_empty() {
        return Ok(Inner::Nothing); // prints the environment
    }
    Ok(Inner::Command { argv: rest.to_vec(), sets, folder })
}

/// Commands keep what says whose they are: those that outlive a killed harness are found
/// by it and ended.
fn emptied(word: &str) -> String {
    format!("env {word} takes HOME and TMPDIR away: leave it out")
}

fn kept(name: &str) -> Result<(), String> {
    if ["HOME", "TMPDIR"].contains(&name) {
        return Err(format!("{name} cannot be unset: leave it as it is"));
    }
    Ok(())
}

fn env_letters<'a>(
    word: &'a str,
    option: &'a str,
    rest: &mut &'a [String],
    folder: &mut Option<&'a str>,
) -> Result<(), String> {
    for (at, letter) in option.char_indices() {
        match letter {
            'i' => return Err(emptied(word)),
            '0' | 'v' => {}
            'u' | 'C' => {
                let glued = option.get(at + 1..).filter(|value| !value.is_empty());
                let value = glued.or_else(|| {
                    let (next, left) = rest.split_first()?;
                    *rest = left;
                    Some(next)
                });
                if letter == 'C' {
                    *folder = value;
                } else {
                    kept(value.unwrap_or_default())?;
                }
                return Ok(());
            }
            'S' => return Err(format!("env -S splits a text into words; {NO_SHELL}")),
            _ => return Err(format!("env {word} cannot be looked through: leave it out")),
        }
    }
    Ok(())
}

fn time(mut rest: &[String]) -> Result<Inner<'_>, String> {
    while let Some((word, after)) = rest.split_first() {
        if !word.starts_with('-') {
            break;
        }
        rest = after;
        match word.as_str() {
            "--" => break,
            "-f" | "-o" | "--format" | "--output" => rest = rest.get(1..).unwrap_or_default(),
            "-a" | "-p" | "-q" | "-v" | "--append" | "--portability" | "--quiet" | "--verbose" => {}
            _ if word.starts_with("--format=") || word.starts_with("--output=") => {}
            _ => return Err(format!("time {word} cannot be looked through: leave it out")),
        }
    }
    if rest.is_empty() {
        return Ok(Inner::Nothing);
    }
    Ok(Inner::Command { argv: rest.to_vec(), sets: Vec::new(), folder: None })
}

/// Options of the npm family that say nothing about what runs.
const PLAIN: &[&str] = &[
    "-y",
    "--yes",
    "--no",
    "--no-install",
    "-q",
    "--quiet",
    "-s",
    "--silent",
    "--offline",
    "--prefer-offline",
    "--workspaces",
    "--include-workspace-root",
    "-r",
    "--recursive",
    "--parallel",
    "--no-bail",
    "--stream",
    "--workspace-root",
];
/// Options by which a text goes to a shell.
const SHELL: &[&str] = &["-c", "--call", "--cal", "--shell-mode"];
const NPM: Spec = Spec {
    valued: &[
        "--package",
        "--call",
        "--workspace",
        "--registry",
        "--cache",
        "--userconfig",
        "--prefix",
        "--loglevel",
    ],
    letters: "pcwC",
};
const PNPM: Spec = Spec {
    valued: &["--package", "--filter", "--dir", "--registry", "--reporter", "-F"],
    letters: "CF",
};

/// `npx [options] program …`, and what is written like it: options end at the first
/// word, which is the program.
fn package<'a>(program: &str, rest: &'a [String], spec: Spec) -> Result<Inner<'a>, String> {
    let all = options::read(rest, spec);
    let mut packages = Vec::new();
    let mut is_clear = true;
    for argument in &all.before {
        match argument {
            Argument::Word(word) => {
                let argv = from(rest, word).to_vec();
                return Ok(Inner::Package { argv, packages, is_clear });
            }
            _ if SHELL.iter().any(|shell| argument.is(shell)) => {
                return Err(format!("{program} -c runs a shell; {NO_SHELL}"));
            }
            Argument::Option { value, .. } | Argument::Letter { value, .. } => {
                if argument.is("-p") || argument.is("--package") {
                    packages.extend(*value);
                } else if value.is_none() {
                    is_clear &= PLAIN.iter().any(|plain| argument.is(plain));
                }
            }
        }
    }
    if all.after.is_empty() {
        return Ok(Inner::Nothing);
    }
    Ok(Inner::Package { argv: all.after.to_vec(), packages, is_clear })
}

/// The arguments from this word of them on.
fn from<'a>(rest: &'a [String], word: &str) -> &'a [String] {
    let at = rest.iter().position(|one| std::ptr::eq(one.as_str(), word));
    at.and_then(|at| rest.get(at..)).unwrap_or_default()
}

/// The first word that is no option, and what comes after it; an error where any option
/// before `--` hands a text to a shell.
fn subcommand<'a>(
    program: &str,
    rest: &'a [String],
    spec: Spec,
) -> Result<Option<(&'a str, &'a [String])>, String> {
    let read = options::read(rest, spec);
    let Some(word) = read.words().first().copied() else { return Ok(None) };
    let runs = ["exec", "x", "dlx"].contains(&word);
    if runs && read.any(SHELL).is_some() {
        return Err(format!("{program} {word} -c runs a shell; {NO_SHELL}"));
    }
    Ok(Some((word, from(rest, word).get(1..).unwrap_or_default())))
}

fn npm(rest: &[String]) -> Result<Inner<'_>, String> {
    match subcommand("npm", rest, NPM)? {
        Some(("exec" | "x", after)) => {
            let mut inner = package("npm exec", after, NPM)?;
            // Up to -- npm takes every option for its own, also behind the program.
            let read = options::read(after, NPM);
            let words = read.before.iter().skip_while(|one| !matches!(one, Argument::Word(_)));
            if let Inner::Package { is_clear, .. } = &mut inner {
                *is_clear &= words.skip(1).all(|one| matches!(one, Argument::Word(_)));
            }
            Ok(inner)
        }
        Some(("explore", after)) => {
            let argv = options::read(after, NPM).after.to_vec();
            if argv.is_empty() {
                return Err(format!("npm explore opens a shell; {NO_SHELL}"));
            }
            Ok(Inner::Package { argv, packages: Vec::new(), is_clear: false })
        }
        _ => Ok(Inner::Nothing),
    }
}

fn pnpm(rest: &[String]) -> Result<Inner<'_>, String> {
    match subcommand("pnpm", rest, PNPM)? {
        Some((word @ ("exec" | "dlx"), after)) => package(&format!("pnpm {word}"), after, PNPM),
        _ => Ok(Inner::Nothing),
    }
}

fn yarn(rest: &[String]) -> Result<Inner<'_>, String> {
    match subcommand("yarn", rest, PNPM)? {
        Some((word @ ("exec" | "dlx"), after)) => package(&format!("yarn {word}"), after, PNPM),
        _ => Ok(Inner::Nothing),
    }
}

fn corepack(rest: &[String]) -> Inner<'_> {
    let Some((first, after)) = rest.split_first() else { return Inner::Nothing };
    let name = first.split('@').next().unwrap_or(first);
    if !["npm", "npx", "pnpm", "pnpx", "yarn", "yarnpkg"].contains(&name) {
        return Inner::Nothing;
    }
    let name = if name == "yarnpkg" { "yarn" } else { name };
    let argv = std::iter::once(name.to_owned()).chain(after.iter().cloned()).collect();
    Inner::Manager(argv)
}

fn go(rest: &[String]) -> Inner<'_> {
    let rest = after_folder(rest);
    let Some(("tool", after)) = rest.split_first().map(|(word, after)| (word.as_str(), after))
    else {
        return Inner::Nothing;
    };
    let options = after.iter().take_while(|word| word.starts_with('-')).count();
    let argv = after.get(options..).unwrap_or_default().to_vec();
    if argv.is_empty() { Inner::Nothing } else { Inner::GoTool(argv) }
}

/// The arguments of `go` after `-C folder`, which must come first.
fn after_folder(rest: &[String]) -> &[String] {
    match rest.first().map(String::as_str) {
        Some("-C" | "--C") => rest.get(2..).unwrap_or_default(),
        Some(word) if word.starts_with("-C=") => rest.get(1..).unwrap_or_default(),
        _ => rest,
    }
}
