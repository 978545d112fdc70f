//! `cargo xtask requirements`: for each requirement the tests that name it.

use std::collections::{BTreeMap, BTreeSet};
use std::io::Write as _;
use std::path::Path;

use anyhow::{Context as _, bail};

use crate::repository;

/// Options of `cargo xtask requirements`.
#[derive(clap::Args)]
pub struct Args {
    /// Print only requirements that no test names.
    #[arg(long)]
    missing: bool,
    /// Print only ids that begin with this, for example `LIFE` or `LIFE-0`.
    #[arg(long, default_value = "")]
    area: String,
}

/// Prints the table.
///
/// # Errors
/// When a source file names an id that docs/requirements.md does not list.
pub fn run(args: &Args) -> anyhow::Result<()> {
    let known = known()?;
    let proofs = proofs(&known)?;
    let mut out = std::io::stdout().lock();
    for id in known.iter().filter(|id| id.starts_with(&args.area)) {
        let tests = proofs.get(id).map(Vec::as_slice).unwrap_or_default();
        if args.missing && !tests.is_empty() {
            continue;
        }
        writeln!(out, "{id}")?;
        for test in tests {
            writeln!(out, "  {test}")?;
        }
    }
    writeln!(out, "{} of {} requirements are named by a test", proofs.len(), known.len())?;
    Ok(())
}

/// Fails when any tracked file names an id that does not exist.
pub fn check() -> anyhow::Result<()> {
    proofs(&known()?).map(drop)
}

/// The ids that docs/requirements.md lists.
fn known() -> anyhow::Result<BTreeSet<String>> {
    let path = repository::root().join("docs/requirements.md");
    let text = std::fs::read_to_string(&path)
        .with_context(|| format!("failed to read {}", path.display()))?;
    Ok(text
        .lines()
        .filter_map(|line| line.strip_prefix("- `")?.split_once('`'))
        .map(|(id, _)| id.to_owned())
        .collect())
}

/// Test names by requirement id.
fn proofs(known: &BTreeSet<String>) -> anyhow::Result<BTreeMap<String, Vec<String>>> {
    let areas: BTreeSet<&str> = known.iter().filter_map(|id| Some(id.split_once('-')?.0)).collect();
    let mut proofs: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mut unknown = Vec::new();
    for file in repository::tracked_files()? {
        if !matches!(file.extension().and_then(|e| e.to_str()), Some("rs" | "ts" | "md" | "yaml")) {
            continue;
        }
        let text = std::fs::read_to_string(repository::root().join(&file))
            .with_context(|| format!("failed to read {}", file.display()))?;
        for (number, line) in text.lines().enumerate() {
            for id in ids(line, &areas).into_iter().filter(|id| !known.contains(id)) {
                unknown.push(format!("{}:{}: {id}", file.display(), number + 1));
            }
        }
        if file.extension().is_some_and(|e| e == "rs") {
            for (id, test) in tests(&file, &text, &areas) {
                proofs.entry(id).or_default().push(test);
            }
        }
    }
    if !unknown.is_empty() {
        bail!("ids that docs/requirements.md does not list:\n{}", unknown.join("\n"));
    }
    Ok(proofs)
}

/// Pairs of requirement id and `file::test` in one Rust file. An id belongs to a
/// test when it stands in the comment right above it or in its name.
fn tests(file: &Path, text: &str, areas: &BTreeSet<&str>) -> Vec<(String, String)> {
    let mut found = Vec::new();
    let mut pending = BTreeSet::new();
    let mut is_test = false;
    for line in text.lines().map(str::trim_start) {
        if line.starts_with("//") {
            pending.extend(ids(line, areas));
        } else if line.starts_with("#[") {
            is_test |= ["#[test]", "#[tokio::test", "#[rstest"].iter().any(|a| line.starts_with(a));
        } else if let Some(name) = function_name(line) {
            if is_test {
                pending.extend(ids_in_name(name, areas));
                let proof = format!("{}::{name}", file.display());
                found.extend(pending.iter().map(|id| (id.clone(), proof.clone())));
            }
            pending.clear();
            is_test = false;
        } else {
            pending.clear();
        }
    }
    found
}

fn function_name(line: &str) -> Option<&str> {
    let line = line.strip_prefix("pub ").unwrap_or(line);
    let line = line.strip_prefix("async ").unwrap_or(line);
    let name = line.strip_prefix("fn ")?;
    Some(&name[..name.find(['(', '<'])?])
}

/// Ids such as `LIFE-09`, and ranges such as `KERN-25..27`, in a line of text.
fn ids(line: &str, areas: &BTreeSet<&str>) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for (at, _) in line.match_indices('-') {
        let area: String = line[..at]
            .chars()
            .rev()
            .take_while(char::is_ascii_uppercase)
            .collect::<Vec<_>>()
            .into_iter()
            .rev()
            .collect();
        let rest = &line[at + 1..];
        let digits = rest.chars().take_while(char::is_ascii_digit).count();
        if !areas.contains(area.as_str()) || digits != 2 {
            continue;
        }
        let first = &rest[..2];
        found.insert(format!("{area}-{first}"));
        if let Some(last) = rest[2..].strip_prefix("..").and_then(|r| r.get(..2))
            && let (Ok(first), Ok(last)) = (first.parse::<u8>(), last.parse::<u8>())
        {
            found.extend((first..=last).map(|n| format!("{area}-{n:02}")));
        }
    }
    found
}

/// Ids in a test's name: `life_09_start_deletes…`.
fn ids_in_name(name: &str, areas: &BTreeSet<&str>) -> BTreeSet<String> {
    let words: Vec<&str> = name.split('_').collect();
    words
        .windows(2)
        .filter(|pair| pair[1].len() == 2 && pair[1].bytes().all(|b| b.is_ascii_digit()))
        .map(|pair| (pair[0].to_ascii_uppercase(), pair[1]))
        .filter(|(area, _)| areas.contains(area.as_str()))
        .map(|(area, number)| format!("{area}-{number}"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn areas() -> BTreeSet<&'static str> {
        BTreeSet::from(["LIFE", "KERN"])
    }

    #[test]
    fn ids_and_ranges_are_found_in_comments() {
        let found = ids("// LIFE-09, KERN-25..27; not UTF-16 nor LIFE-123", &areas());
        let expected = ["KERN-25", "KERN-26", "KERN-27", "LIFE-09"].map(str::to_owned);
        assert_eq!(found, BTreeSet::from(expected));
    }

    #[test]
    fn an_id_belongs_to_the_test_below_it_and_to_nothing_else() {
        let text = "/// LIFE-02\n#[tokio::test]\nasync fn a_start_makes_a_deployment() {\n    // LIFE-03\n    work();\n}\n#[test]\nfn kern_01_a_run_ends() {}\n/// LIFE-04\nfn no_test() {}\n";
        let found = tests(Path::new("a.rs"), text, &areas());
        let expected = vec![
            ("LIFE-02".to_owned(), "a.rs::a_start_makes_a_deployment".to_owned()),
            ("KERN-01".to_owned(), "a.rs::kern_01_a_run_ends".to_owned()),
        ];
        assert_eq!(found, expected);
    }
}
