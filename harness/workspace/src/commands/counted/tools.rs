//! Tools of packages, run by `npx` and its like (CODE-21).

use super::{Judgement, counts, hollow, hollow_option, with_option};

/// Tools that check, and the packages they come in.
const TOOLS: &[(&str, &[&str])] = &[
    ("tsc", &["typescript"]),
    ("eslint", &["eslint"]),
    ("vitest", &["vitest"]),
    ("jest", &["jest"]),
    ("playwright", &["playwright", "@playwright/test"]),
];

/// A program of a package.
pub fn judge(argv: &[String], packages: &[&str], is_clear: bool) -> Judgement {
    let Some((program, arguments)) = argv.split_first() else { return Judgement::NoCheck };
    let name = without_version(program);
    let Some((name, from)) = TOOLS.iter().find(|(tool, _)| *tool == name) else {
        return Judgement::NoCheck;
    };
    if let Some(package) = packages.iter().find(|package| !from.contains(&without_version(package)))
    {
        return hollow(format!("{package} is not the package of {name}: leave it out"));
    }
    if !is_clear {
        return hollow(format!("it is not clear what runs: write npx {name} and its arguments"));
    }
    let first = arguments.iter().find(|word| !word.starts_with('-')).map_or("", String::as_str);
    let more: &[&str] = match *name {
        "tsc" => &[
            "-v",
            "--all",
            "--listFilesOnly",
            "--noCheck",
            "--dry",
            "-d",
            "--clean",
            "--watch",
            "-w",
        ],
        "eslint" => &["-v", "--stdin"],
        "vitest" => &["-v", "--dangerouslyIgnoreUnhandledErrors", "--standalone", "--mergeReports"],
        "jest" => {
            &["-v", "-o", "--onlyChanged", "--onlyFailures", "-f", "--lastCommit", "--changedSince"]
        }
        _ => &["-V", "--last-failed", "--only-changed"],
    };
    if let Some(option) = hollow_option(arguments, more) {
        return with_option(name, option);
    }
    match (*name, first) {
        ("vitest", "list" | "init" | "bench") => Judgement::NoCheck,
        ("playwright", command) if command != "test" => Judgement::NoCheck,
        _ => counts(*name),
    }
}

/// A package or program without the version behind it.
fn without_version(package: &str) -> &str {
    match package.rfind('@') {
        Some(at) if at > 0 => package.get(..at).unwrap_or(package),
        _ => package,
    }
}
