//! Targets of `make` (CODE-20).

use super::{Judgement, counts, hollow, is_local};

/// Targets that are checks.
const TARGETS: &[&str] = &["test", "lint", "lint-new", "check", "check-static"];

/// Options with which a failing target still fails; any other one is not taken.
const LONG: &[&str] = &[
    "--silent",
    "--quiet",
    "--keep-going",
    "--no-keep-going",
    "--stop",
    "--always-make",
    "--print-directory",
    "--no-print-directory",
    "--no-builtin-rules",
    "--no-builtin-variables",
    "--trace",
    "--warn-undefined-variables",
    "--jobs",
    "--load-average",
    "--output-sync",
    "--no-silent",
];
const LETTERS: &str = "skSBwrRd";
/// Letters whose value is the rest of their word.
const NUMBERED: &str = "jlO";

/// `make …`
pub fn judge(arguments: &[String]) -> Judgement {
    let mut targets = Vec::new();
    let mut flaw = None;
    let mut rest = arguments;
    while let Some((word, after)) = rest.split_first() {
        rest = after;
        if let Some((name, glued)) = folder_or_file(word) {
            let place = glued.or_else(|| {
                let (place, left) = after.split_first()?;
                rest = left;
                Some(place)
            });
            if !place.is_some_and(|place| place != "-" && is_local(place)) {
                flaw = flaw.or(Some(format!("{name} leads out of the folder")));
            }
        } else if word.starts_with("--") {
            let name = word.split('=').next().unwrap_or(word);
            if !LONG.contains(&name) {
                flaw = flaw.or(Some(format!("{name} may keep it from failing")));
            }
        } else if let Some(letters) = word.strip_prefix('-') {
            let plain = letters.split(|one| NUMBERED.contains(one)).next().unwrap_or(letters);
            let is_numbered = plain.len() < letters.len();
            let number = letters.get(plain.len() + 1..).unwrap_or_default();
            let is_clear = plain.chars().all(|one| LETTERS.contains(one))
                && (!is_numbered || number.chars().all(|one| one.is_ascii_alphanumeric()));
            if letters.is_empty() || !is_clear {
                flaw = flaw.or(Some(format!("{word} may keep it from failing")));
            }
            // -j 4
            if is_numbered
                && number.is_empty()
                && rest.first().is_some_and(|next| next.parse::<f64>().is_ok())
            {
                rest = rest.get(1..).unwrap_or_default();
            }
        } else if let Some((name, _)) = word.split_once('=') {
            flaw = flaw.or(Some(format!("{name}=… may change what it does")));
        } else {
            targets.push(word.as_str());
        }
    }
    let kept: Vec<&str> =
        targets.iter().copied().filter(|target| TARGETS.contains(target)).collect();
    match (kept.as_slice(), flaw) {
        ([], _) => Judgement::NoCheck,
        (_, Some(why)) => hollow(format!("{why}: run make with the target alone")),
        (kept, None) => counts(format!("make {}", kept.join(" "))),
    }
}

/// `-C folder`, `-f file` and their long forms, with a value in the same word.
fn folder_or_file(word: &str) -> Option<(&'static str, Option<&str>)> {
    for (letter, long, longer) in
        [("-C", "--directory", "--directory"), ("-f", "--file", "--makefile")]
    {
        if word == letter || word == long || word == longer {
            return Some((letter, None));
        }
        for long in [long, longer] {
            if let Some(value) = word.strip_prefix(long).and_then(|rest| rest.strip_prefix('=')) {
                return Some((letter, Some(value)));
            }
        }
        if let Some(value) = word.strip_prefix(letter) {
            return Some((letter, Some(value)));
        }
    }
    None
}
