//! Scripts of a package, run by npm, pnpm or yarn (CODE-21).

use super::{Judgement, counts, hollow, hollow_option, is_local, with_option};

/// Scripts that are checks.
const SCRIPTS: &[&str] = &["test", "lint", "check", "verify", "typecheck", "build"];

/// Options that say where, and take a value.
const FOLDERS: &[&str] = &["--prefix", "--dir", "--cwd", "-C"];
/// Options that say which packages or how loud, and take a value.
const VALUED: &[&str] = &[
    "--workspace",
    "-w",
    "--loglevel",
    "--filter",
    "-F",
    "--workspace-concurrency",
    "--reporter",
    "--cache",
    "--registry",
];
/// Options that say neither.
const PLAIN: &[&str] = &[
    "--silent",
    "-s",
    "--quiet",
    "-q",
    "-d",
    "--verbose",
    "--workspaces",
    "-ws",
    "--include-workspace-root",
    "--foreground-scripts",
    "--no-color",
    "--color",
    "--no-fund",
    "--no-audit",
    "--offline",
    "--prefer-offline",
    "--recursive",
    "-r",
    "--parallel",
    "--stream",
    "--no-bail",
    "--bail",
    "--sequential",
    "--aggregate-output",
    "--report-summary",
    "--fail-if-no-match",
    "--no-update-notifier",
    "--workspace-root",
    "--no-sort",
    "--sort",
];

/// `npm …`, `pnpm …` or `yarn …`
pub fn judge(manager: &str, arguments: &[String]) -> Judgement {
    // pnpm's -w is a switch.
    let valued: Vec<&str> =
        VALUED.iter().copied().filter(|one| !(manager == "pnpm" && *one == "-w")).collect();
    let mut flaw = None;
    let mut rest = arguments;
    let mut words: Vec<&str> = Vec::new();
    // Options before the script are the manager's; what follows it is the script's, and
    // with npm the manager's as well.
    while let Some((word, after)) = rest.split_first() {
        if script(manager, &words).is_some() {
            break;
        }
        rest = after;
        if !word.starts_with('-') {
            words.push(word);
            continue;
        }
        let (name, glued) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word.as_str(), None),
        };
        let is_folder = FOLDERS.contains(&name);
        let value = match glued {
            Some(value) => Some(value),
            None if is_folder || valued.contains(&name) || name == "--script-shell" => {
                rest = after.get(1..).unwrap_or_default();
                after.first().map(String::as_str)
            }
            None => None,
        };
        if is_folder {
            if !value.is_some_and(is_local) {
                flaw = flaw.or(Some("it runs in another folder: give it as `path`".to_owned()));
            }
        } else if !(valued.contains(&name) || is_plain(manager, name)) {
            flaw = flaw.or(Some(format!("{name} may keep it from checking: leave it out")));
        }
    }
    let Some(script) = script(manager, &words) else { return Judgement::NoCheck };
    if !SCRIPTS.contains(&script) {
        return Judgement::NoCheck;
    }
    if let Some(why) = flaw {
        return hollow(why);
    }
    if let Some(option) = hollow_option(rest, &["--script-shell", "--ignore-scripts"]) {
        return with_option(&format!("{manager} {script}"), option);
    }
    // npm takes a beginning of an option for it.
    let is_begun = |word: &&String| {
        let name = word.split('=').next().unwrap_or(word);
        name.len() > 4 && ("--if-present".starts_with(name) || "--script-shell".starts_with(name))
    };
    if let Some(option) = rest.iter().find(is_begun) {
        return with_option(&format!("{manager} {script}"), option);
    }
    counts(format!("{manager} {script}"))
}

fn is_plain(manager: &str, option: &str) -> bool {
    PLAIN.contains(&option) || (manager == "pnpm" && option == "-w")
}

/// The script that these words name.
fn script<'a>(manager: &str, words: &[&'a str]) -> Option<&'a str> {
    match (manager, words) {
        (_, ["test"]) | ("npm" | "pnpm", ["t" | "tst"]) => Some("test"),
        (_, ["run", script])
        | ("npm" | "pnpm", ["run-script", script])
        | ("yarn", ["workspace", _, "run", script]) => Some(script),
        // yarn's own check looks at its lock file.
        ("yarn", ["check"]) => None,
        ("pnpm" | "yarn", [script]) | ("yarn", ["workspace", _, script])
            if SCRIPTS.contains(script) =>
        {
            Some(script)
        }
        _ => None,
    }
}
