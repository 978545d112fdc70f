//! What of git's settings may be set: what changes how git shows and merges, and nothing
//! that names a program, a person, a place or another setting.

use super::AUTHOR;
use crate::commands::options::{self, Argument, Spec};

/// Settings that may be set, in lower case; a `*` at the end stands for anything.
const ALLOWED: &[&str] = &[
    "advice.*",
    "apply.ignorewhitespace",
    "apply.whitespace",
    "blame.*",
    "color.*",
    "column.*",
    "commit.cleanup",
    "commit.gpgsign",
    "commit.status",
    "commit.verbose",
    "core.abbrev",
    "core.autocrlf",
    "core.bigfilethreshold",
    "core.commentchar",
    "core.eol",
    "core.filemode",
    "core.ignorecase",
    "core.longpaths",
    "core.precomposeunicode",
    "core.preloadindex",
    "core.quotepath",
    "core.safecrlf",
    "core.untrackedcache",
    "core.whitespace",
    "diff.algorithm",
    "diff.colormoved",
    "diff.colormovedws",
    "diff.context",
    "diff.ignoresubmodules",
    "diff.indentheuristic",
    "diff.interhunkcontext",
    "diff.mnemonicprefix",
    "diff.noprefix",
    "diff.renamelimit",
    "diff.renames",
    "diff.statgraphwidth",
    "diff.submodule",
    "diff.wordregex",
    "fetch.prune",
    "format.pretty",
    "gc.auto",
    "gc.autodetach",
    "grep.column",
    "grep.extendedregexp",
    "grep.linenumber",
    "grep.patterntype",
    "i18n.*",
    "init.defaultbranch",
    "log.*",
    "maintenance.auto",
    "merge.conflictstyle",
    "merge.directoryrenames",
    "merge.ff",
    "merge.renamelimit",
    "merge.renames",
    "merge.stat",
    "merge.verbosity",
    "pull.ff",
    "pull.rebase",
    "rebase.abbreviatecommands",
    "rebase.autosquash",
    "rebase.autostash",
    "rebase.stat",
    "rebase.updaterefs",
    "rerere.autoupdate",
    "rerere.enabled",
    "revert.reference",
    "showbranch.*",
    "stash.*",
    "status.*",
    "submodule.recurse",
    "tag.gpgsign",
    "tag.sort",
    "versionsort.*",
];

/// Settings that name a program, which may be set to one that does nothing.
const PROGRAMS: &[&str] = &["core.pager", "pager.*", "core.editor", "sequence.editor"];
const HARMLESS: &[&str] = &["cat", "true", "false", ":", ""];

/// Whether `name=value` of `git -c` may be set.
pub fn setting(setting: &str) -> Result<(), String> {
    let (key, value) = setting.split_once('=').unwrap_or((setting, "true"));
    set(key, value)
}

fn set(key: &str, value: &str) -> Result<(), String> {
    let lower = key.to_ascii_lowercase();
    let is = |allowed: &&str| match allowed.strip_suffix('*') {
        Some(beginning) => lower.starts_with(beginning),
        None => lower == *allowed,
    };
    if ALLOWED.iter().any(&is) || (PROGRAMS.iter().any(is) && HARMLESS.contains(&value)) {
        return Ok(());
    }
    let why = if ["user.", "author.", "committer."].iter().any(|one| lower.starts_with(one)) {
        AUTHOR
    } else {
        "git's settings stay as they are where they name programs, places or remotes"
    };
    Err(format!("the setting {key} of git is not allowed: {why}"))
}

const SPEC: Spec = Spec {
    valued: &["--file", "--blob", "--type", "--default", "--comment", "--value", "--url"],
    letters: "ft",
};
/// Actions that only read.
const READS: &[&str] = &[
    "--get",
    "--get-all",
    "--get-regexp",
    "--get-urlmatch",
    "--get-color",
    "--get-colorbool",
    "--list",
    "-l",
];
/// Beginnings of options that say where a setting is written; git takes any of them.
const PLACES: &[&str] = &["global", "system", "file", "blob"];

/// Whether `git config` may run with these arguments.
pub fn command(rest: &[String]) -> Result<(), String> {
    // Options end at the first word, except behind a word that names an action.
    let (options, words) = split(rest);
    let action = words.first().map_or("", String::as_str);
    let (more, words) = match action {
        "get" | "list" => return Ok(()),
        "set" | "unset" => split(words.get(1..).unwrap_or_default()),
        "edit" | "rename-section" | "remove-section" => {
            return Err(refused(action));
        }
        _ => (Vec::new(), words),
    };
    let mut is_elsewhere = false;
    let mut unsets = action == "unset";
    for option in options.iter().chain(&more) {
        if READS.iter().any(|read| option.is(read)) {
            return Ok(());
        }
        let name = match option {
            Argument::Option { name, .. } => name.trim_start_matches('-'),
            Argument::Letter { letter: 'f', .. } => "file",
            Argument::Letter { letter: 'e', .. } => "edit",
            Argument::Letter { .. } | Argument::Word(_) => continue,
        };
        let begins = |whole: &str| !name.is_empty() && whole.starts_with(name);
        if begins("edit") || begins("rename-section") || begins("remove-section") {
            return Err(refused(name));
        }
        is_elsewhere |= PLACES.iter().any(|place| begins(place));
        unsets |= begins("unset") || begins("unset-all");
    }
    let (key, value) = match words {
        [key] if unsets => (key, ""),
        [] | [_] => return Ok(()), // says how it is used, or reads
        [key, value, ..] => (key, value.as_str()),
    };
    if is_elsewhere {
        return Err("git config may set only what is the clone's own: leave out --global, \
                    --system and --file"
            .to_owned());
    }
    set(key, value)
}

fn refused(action: &str) -> String {
    format!("git config {action} is not allowed: set single settings")
}

/// Options, and everything from the first word on.
fn split(rest: &[String]) -> (Vec<Argument<'_>>, &[String]) {
    let read = options::read(rest, SPEC);
    let is_word = |argument: &Argument<'_>| matches!(argument, Argument::Word(_));
    match read.before.iter().position(is_word) {
        None => (read.before, read.after),
        Some(at) => {
            let Some(Argument::Word(word)) = read.before.get(at) else { return (Vec::new(), rest) };
            let from = rest.iter().position(|one| std::ptr::eq(one.as_str(), *word));
            let words = from.and_then(|from| rest.get(from..)).unwrap_or_default();
            (read.before.get(..at).unwrap_or_default().to_vec(), words)
        }
    }
}
