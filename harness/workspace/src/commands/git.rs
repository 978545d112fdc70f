//! What of git may run.
//!
//! Everything that works in the clone may. Refused is what pushes (CODE-05), what would
//! write somebody else's name into a commit (CODE-04), what works in another repository,
//! and what runs a program that nobody sees: aliases, hooks, helpers, `--exec`. An alias
//! cannot hide behind a name of git's own, so only names of git's own are taken.

use super::options::{self, Spec};

mod config;

/// Commands of git that may run.
const KNOWN: &[&str] = &[
    "add",
    "annotate",
    "apply",
    "archive",
    "bisect",
    "blame",
    "branch",
    "bundle",
    "cat-file",
    "check-attr",
    "check-ignore",
    "check-mailmap",
    "check-ref-format",
    "checkout",
    "checkout-index",
    "cherry",
    "cherry-pick",
    "clean",
    "clone",
    "column",
    "commit",
    "commit-graph",
    "commit-tree",
    "config",
    "count-objects",
    "describe",
    "diff",
    "diff-files",
    "diff-index",
    "diff-tree",
    "fetch",
    "fmt-merge-msg",
    "for-each-ref",
    "format-patch",
    "fsck",
    "gc",
    "grep",
    "hash-object",
    "help",
    "index-pack",
    "init",
    "interpret-trailers",
    "log",
    "ls-files",
    "ls-remote",
    "ls-tree",
    "mailinfo",
    "mailsplit",
    "merge",
    "merge-base",
    "merge-file",
    "merge-tree",
    "mktree",
    "mv",
    "name-rev",
    "notes",
    "pack-objects",
    "pack-refs",
    "patch-id",
    "prune",
    "prune-packed",
    "pull",
    "range-diff",
    "read-tree",
    "rebase",
    "reflog",
    "remote",
    "repack",
    "rerere",
    "reset",
    "restore",
    "rev-list",
    "rev-parse",
    "revert",
    "rm",
    "shortlog",
    "show",
    "show-branch",
    "show-index",
    "show-ref",
    "sparse-checkout",
    "stage",
    "stash",
    "status",
    "stripspace",
    "submodule",
    "switch",
    "symbolic-ref",
    "tag",
    "unpack-file",
    "unpack-objects",
    "update-index",
    "update-ref",
    "update-server-info",
    "var",
    "verify-commit",
    "verify-pack",
    "verify-tag",
    "version",
    "worktree",
    "write-tree",
];

/// Options before the command that do nothing but what they say.
const PLAIN: &[&str] = &[
    "-p",
    "--paginate",
    "-P",
    "--no-pager",
    "--no-replace-objects",
    "--no-lazy-fetch",
    "--no-optional-locks",
    "--no-advice",
    "--literal-pathspecs",
    "--glob-pathspecs",
    "--noglob-pathspecs",
    "--icase-pathspecs",
    "--version",
    "-v",
    "--help",
    "-h",
    "--html-path",
    "--man-path",
    "--info-path",
];

/// Why a command of git is refused; the arguments are those after `git`.
pub fn check(mut rest: &[String]) -> Result<(), String> {
    while let Some((word, after)) = rest.split_first() {
        if !word.starts_with('-') {
            break;
        }
        rest = match word.as_str() {
            // Another folder of the clone, most likely; what may be done there is the same.
            "-C" => after.get(1..).unwrap_or_default(),
            "-c" => {
                config::setting(after.first().map_or("", String::as_str))?;
                after.get(1..).unwrap_or_default()
            }
            plain if PLAIN.contains(&plain) => after,
            other => {
                let name = other.split('=').next().unwrap_or(other);
                return Err(format!("git {name} is not allowed: git works in the clone as it is"));
            }
        };
    }
    let Some((command, rest)) = rest.split_first() else { return Ok(()) };
    if let Some(why) = refused(command) {
        return Err(why);
    }
    for word in rest {
        transport(word)?;
    }
    match command.as_str() {
        "bisect" => subcommand(command, rest, &["run", "view", "visualize"]),
        "submodule" => subcommand(command, rest, &["foreach"]),
        "remote" => remote(rest),
        "config" => config::command(rest),
        _ => rules(command, rest),
    }
}

fn refused(command: &str) -> Option<String> {
    if command == "push" {
        return Some("git push is not allowed here: use the tool git_push".to_owned());
    }
    if KNOWN.contains(&command) {
        return None;
    }
    let why = match command {
        "send-pack" | "http-push" | "send-email" | "svn" | "p4" | "imap-send" => {
            "it sends commits elsewhere: use the tool git_push"
        }
        "am" | "fast-import" | "mktag" | "filter-branch" => {
            "it can put somebody else's name into a commit: use git apply and git commit"
        }
        "replace" => "it shows another history than the one that is pushed",
        "difftool" | "mergetool" | "for-each-repo" | "hook" | "instaweb" | "gui" | "citool" => {
            "it runs other programs: run them on their own"
        }
        _ => "it is no command of git that is known here, and aliases are not run",
    };
    Some(format!("git {command} is not allowed: {why}"))
}

/// Addresses that run a program or leave the network aside.
fn transport(word: &str) -> Result<(), String> {
    let address = word.split_once('=').filter(|_| word.starts_with('-')).map_or(word, |(_, v)| v);
    let is_helper = address.split_once("::").is_some_and(|(name, _)| {
        !name.is_empty()
            && name.chars().all(|one| one.is_ascii_alphanumeric() || "+-.".contains(one))
            && ["ext", "fd", "file", "http", "https", "ftp", "ftps", "ssh"].contains(&name)
    });
    if is_helper || address.to_ascii_lowercase().starts_with("file:") {
        return Err(format!("the transport of {address} is not allowed"));
    }
    Ok(())
}

fn subcommand(command: &str, rest: &[String], refused: &[&str]) -> Result<(), String> {
    let first = rest.iter().find(|word| !word.starts_with('-')).map_or("", String::as_str);
    if refused.contains(&first) {
        return Err(format!(
            "git {command} {first} runs other programs, which is not allowed: run them on their own"
        ));
    }
    Ok(())
}

fn remote(rest: &[String]) -> Result<(), String> {
    let first = rest.iter().find(|word| !word.starts_with('-')).map_or("", String::as_str);
    if ["", "show", "get-url", "prune", "update"].contains(&first) {
        return Ok(());
    }
    Err(format!("git remote {first} is not allowed: the remotes stay as they were cloned"))
}

/// Options of one command that are refused.
struct Rule {
    command: &'static str,
    spec: Spec,
    /// Long ones, without dashes: git takes any beginning of them, too.
    long: &'static [&'static str],
    letters: &'static str,
    why: &'static str,
}

const AUTHOR: &str = "a commit carries the agent's own name and address";
const PROGRAM: &str = "it runs another program";
const ELSEWHERE: &str = "git works in the clone as it is";

const RULES: &[Rule] = &[
    Rule {
        command: "commit",
        spec: Spec {
            valued: &["--message", "--file", "--template", "--trailer", "--cleanup", "--date"],
            letters: "mFCct",
        },
        long: &["author", "reuse-message", "reedit-message"],
        letters: "Cc",
        why: AUTHOR,
    },
    Rule {
        command: "update-index",
        spec: Spec { valued: &["--cacheinfo", "--chmod", "--index-version"], letters: "" },
        long: &["assume-unchanged", "skip-worktree", "fsmonitor", "fsmonitor-valid"],
        letters: "",
        why: "git would no longer see what changes in a file",
    },
    Rule {
        command: "hash-object",
        spec: Spec { valued: &[], letters: "t" },
        long: &["literally"],
        letters: "t",
        why: AUTHOR,
    },
    Rule {
        command: "rebase",
        spec: Spec { valued: &["--onto", "--strategy", "--strategy-option"], letters: "xsXCS" },
        long: &["exec"],
        letters: "x",
        why: PROGRAM,
    },
    Rule {
        command: "grep",
        spec: Spec { valued: &["--max-count", "--threads"], letters: "efABCmO" },
        long: &["open-files-in-pager"],
        letters: "O",
        why: PROGRAM,
    },
    Rule {
        command: "archive",
        spec: Spec { valued: &["--format", "--prefix", "--output"], letters: "o" },
        long: &["remote", "exec"],
        letters: "",
        why: PROGRAM,
    },
    Rule {
        command: "clone",
        spec: Spec { valued: &["--branch", "--depth", "--origin", "--jobs"], letters: "objcu" },
        long: &["upload-pack", "config", "template", "separate-git-dir"],
        letters: "cu",
        why: PROGRAM,
    },
    Rule {
        command: "init",
        spec: Spec { valued: &["--initial-branch"], letters: "b" },
        long: &["template", "separate-git-dir"],
        letters: "",
        why: ELSEWHERE,
    },
    Rule {
        command: "fetch",
        spec: Spec { valued: &["--depth", "--refmap", "--jobs"], letters: "jo" },
        long: &["upload-pack"],
        letters: "",
        why: PROGRAM,
    },
    Rule {
        command: "pull",
        spec: Spec { valued: &["--depth", "--strategy", "--strategy-option"], letters: "sXjoS" },
        long: &["upload-pack"],
        letters: "",
        why: PROGRAM,
    },
    Rule {
        command: "ls-remote",
        spec: Spec { valued: &["--sort"], letters: "o" },
        long: &["upload-pack", "exec"],
        letters: "",
        why: PROGRAM,
    },
];

fn rules(command: &str, rest: &[String]) -> Result<(), String> {
    let Some(rule) = RULES.iter().find(|rule| rule.command == command) else { return Ok(()) };
    let read = options::read(rest, rule.spec);
    for argument in &read.before {
        let shown = match argument {
            options::Argument::Option { name, .. } => {
                let given = name.trim_start_matches('-');
                let is_refused =
                    given.len() > 1 && rule.long.iter().any(|one| one.starts_with(given));
                is_refused.then(|| (*name).to_owned())
            }
            options::Argument::Letter { letter, .. } => {
                rule.letters.contains(*letter).then(|| format!("-{letter}"))
            }
            options::Argument::Word(_) => None,
        };
        if let Some(shown) = shown {
            return Err(format!("git {command} {shown} is not allowed: {}", rule.why));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests;
