//! Documents that stay true: links that lead somewhere, settings that are the code's,
//! quoted code that is the code.

use std::collections::{BTreeMap, BTreeSet};
use std::path::{Component, Path, PathBuf};

use anyhow::{Context as _, bail};

use crate::repository;

/// The document that lists every environment variable of the programs.
const SETTINGS: &str = "docs/settings.md";
/// What the names of our own variables begin with.
const PREFIX: &str = "FOUNDRY_";
/// Says above a block which file it quotes, by its path from the root.
const QUOTED: &str = "<!-- from: ";

/// Fails when a link of a Markdown file leads to no file or heading of the repository,
/// when docs/settings.md and the variables of the code differ, or when a quoted piece of
/// a source file stands in it no more.
///
/// # Errors
/// Every such place, one a line.
pub fn links() -> anyhow::Result<()> {
    let files: BTreeSet<PathBuf> = repository::tracked_files()?.into_iter().collect();
    let documents = read(files.iter().filter(|file| is(file, "md")))?;
    let sources = read(files.iter().filter(|file| is(file, "rs")))?;

    let headings = documents.iter().map(|(file, text)| (file.clone(), headings(text))).collect();
    let tree = Tree { files, headings };
    let mut faults: Vec<String> =
        documents.iter().flat_map(|(file, text)| tree.dead_links(file, text)).collect();
    let settings = documents.get(Path::new(SETTINGS)).map_or("", String::as_str);
    faults.extend(settings_faults(settings, sources.values().map(String::as_str)));
    for (file, text) in &documents {
        faults.extend(quotation_faults(file, text, &sources));
    }
    if faults.is_empty() {
        return Ok(());
    }
    bail!("{}", faults.join("\n"))
}

fn is(file: &Path, extension: &str) -> bool {
    file.extension().is_some_and(|it| it == extension)
}

fn read<'a>(files: impl Iterator<Item = &'a PathBuf>) -> anyhow::Result<BTreeMap<PathBuf, String>> {
    files
        .map(|file| {
            let text = std::fs::read_to_string(repository::root().join(file))
                .with_context(|| format!("failed to read {}", file.display()))?;
            Ok((file.clone(), text))
        })
        .collect()
}

/// What a link may lead to.
struct Tree {
    files: BTreeSet<PathBuf>,
    /// Anchors of each Markdown file.
    headings: BTreeMap<PathBuf, BTreeSet<String>>,
}

impl Tree {
    fn dead_links(&self, file: &Path, text: &str) -> Vec<String> {
        let dead = |(line, target): (usize, String)| {
            let why = self.why_dead(file, &target)?;
            Some(format!("{}:{line}: {target}: {why}", file.display()))
        };
        targets(text).into_iter().filter_map(dead).collect()
    }

    /// Why a link of `file` leads nowhere, if it does.
    fn why_dead(&self, file: &Path, target: &str) -> Option<&'static str> {
        if target.contains("://") || target.starts_with("mailto:") {
            return None;
        }
        let (path, anchor) = target.split_once('#').unwrap_or((target, ""));
        let Some(found) = resolve(file, path) else {
            return Some("leads out of the repository");
        };
        // Git knows no folders: one is there when a file in it is.
        if !self.files.iter().any(|known| known.starts_with(&found)) {
            return Some("there is no such file");
        }
        let known = self.headings.get(&found)?;
        (!anchor.is_empty() && !known.contains(anchor)).then_some("there is no such heading")
    }
}

/// The path a link means, from the root; none when it climbs above it.
fn resolve(file: &Path, target: &str) -> Option<PathBuf> {
    if target.is_empty() {
        return Some(file.to_path_buf());
    }
    let from = if target.starts_with('/') { Path::new("") } else { file.parent()? };
    let mut path = PathBuf::new();
    for part in from.join(target.trim_start_matches('/')).components() {
        match part {
            Component::Normal(name) => path.push(name),
            Component::ParentDir if !path.pop() => return None,
            Component::ParentDir | Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(path)
}

/// Lines of prose with their numbers: code is left out, in blocks and between backticks.
fn prose(text: &str) -> impl Iterator<Item = (usize, String)> + '_ {
    let mut in_code = false;
    text.lines().zip(1..).filter_map(move |(line, number)| {
        let fence = line.trim_start();
        if fence.starts_with("```") || fence.starts_with("~~~") {
            in_code = !in_code;
            return None;
        }
        // What stands between backticks is every second piece.
        (!in_code).then(|| (number, line.split('`').step_by(2).collect::<Vec<_>>().join("`")))
    })
}

/// Where the links of a text lead, with their lines.
fn targets(text: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    for (number, line) in prose(text) {
        let inline = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
        let defined = line.strip_prefix('[').and_then(|rest| Some(rest.split_once("]: ")?.1));
        // A title may follow, after a blank.
        let target = |link: &str| {
            let word = link.split_whitespace().next().unwrap_or_default();
            word.trim_start_matches('<').trim_end_matches('>').to_owned()
        };
        found.extend(inline.chain(defined).map(|link| (number, target(link))));
    }
    found
}

/// The anchors of a text's headings, as GitHub and GitLab spell them.
fn headings(text: &str) -> BTreeSet<String> {
    let mut in_code = false;
    text.lines()
        .filter(|line| {
            in_code ^= line.trim_start().starts_with("```");
            !in_code
        })
        .filter_map(|line| line.strip_prefix('#')?.trim_start_matches('#').strip_prefix(' '))
        .map(anchor)
        .collect()
}

fn anchor(heading: &str) -> String {
    heading
        .trim()
        .to_lowercase()
        .chars()
        .filter(|c| c.is_alphanumeric() || matches!(c, ' ' | '-' | '_'))
        .map(|c| if c == ' ' { '-' } else { c })
        .collect()
}

/// Quoted blocks whose text is not in their file.
fn quotation_faults(file: &Path, text: &str, sources: &BTreeMap<PathBuf, String>) -> Vec<String> {
    let why = |source: &str, block: &str| match sources.get(Path::new(source)) {
        None => Some("there is no such source file"),
        Some(_) if block.is_empty() => Some("no block follows"),
        Some(text) if text.contains(block) => None,
        Some(_) => Some("the block below is not in that file"),
    };
    let quotations = text.lines().enumerate().filter_map(|(number, line)| {
        let source = line.strip_prefix(QUOTED)?.strip_suffix(" -->")?;
        Some((number + 1, source, block(text.lines().skip(number + 1))))
    });
    quotations
        .filter_map(|(line, source, block)| {
            Some(format!("{}:{line}: {source}: {}", file.display(), why(source, &block)?))
        })
        .collect()
}

/// The text of the block that begins with the first of these lines.
fn block<'a>(mut lines: impl Iterator<Item = &'a str>) -> String {
    if !lines.next().is_some_and(|line| line.starts_with("```")) {
        return String::new();
    }
    let lines = lines.take_while(|line| !line.starts_with("```"));
    lines.fold(String::new(), |all, line| format!("{all}{line}\n"))
}

/// Variables that are documented and of no code, or settings of a program that are not
/// documented.
fn settings_faults<'a>(document: &str, sources: impl Iterator<Item = &'a str>) -> Vec<String> {
    let documented = variables(document, "`");
    let (mut known, mut settings) = (BTreeSet::new(), BTreeSet::new());
    for source in sources {
        known.extend(variables(source, "\""));
        settings.extend(variables(source, "env = \""));
    }
    let gone = documented
        .difference(&known)
        .map(|name| format!("{SETTINGS}: {name} is in no source; take it out"));
    let missing = settings
        .difference(&documented)
        .map(|name| format!("{SETTINGS}: {name} is missing; say what it means"));
    gone.chain(missing).collect()
}

/// Our variables whose whole name stands between `opening` and the mark it ends with.
fn variables(text: &str, opening: &str) -> BTreeSet<String> {
    let closing = opening.chars().next_back();
    let in_name = |c: char| c.is_ascii_uppercase() || c.is_ascii_digit() || c == '_';
    text.match_indices(opening)
        .filter_map(|(at, _)| {
            let rest = &text[at + opening.len()..];
            let name = &rest[..rest.find(|c| !in_name(c))?];
            let is_whole = rest[name.len()..].chars().next() == closing;
            (is_whole && name.starts_with(PREFIX)).then(|| name.to_owned())
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    fn tree() -> Tree {
        let files = ["README.md", "docs/api.md", "examples/models/openai.yaml"];
        Tree {
            files: files.map(PathBuf::from).into(),
            headings: [
                ("README.md".into(), headings("# Foundry\n")),
                ("docs/api.md".into(), headings("# API\n## `409`: who owns it?\n")),
            ]
            .into(),
        }
    }

    fn dead(text: &str) -> Vec<String> {
        tree().dead_links(Path::new("docs/api.md"), text)
    }

    #[test]
    fn links_to_files_folders_headings_and_other_sites_are_alive() {
        let alive = "[a](../README.md) [b](../examples/models/) [c](#409-who-owns-it)\n\
            [d](https://example.org/x.md) ![e](../README.md#foundry \"a title\") [f](/README.md)\n\
            [g]: ../README.md\n";
        assert_eq!(dead(alive), [""; 0]);
    }

    #[test]
    fn a_dead_link_is_named_with_its_line_and_what_is_wrong() {
        let text = "# API\n[a](models.md) and [b](../../elsewhere.md)\n[c](../README.md#gone)\n";
        assert_eq!(
            dead(text),
            [
                "docs/api.md:2: models.md: there is no such file",
                "docs/api.md:2: ../../elsewhere.md: leads out of the repository",
                "docs/api.md:3: ../README.md#gone: there is no such heading",
            ]
        );
    }

    #[test]
    fn code_holds_no_links() {
        assert_eq!(dead("```sh\n[a](b)\n```\nIn `x[0](y)` there is none.\n"), [""; 0]);
    }

    #[test]
    fn quoted_code_must_be_in_its_file() {
        let sources = [(PathBuf::from("a.rs"), "fn a() {}\n\nfn b() {}\n".to_owned())].into();
        let faults = |text: &str| quotation_faults(Path::new("docs/a.md"), text, &sources);
        assert_eq!(faults("<!-- from: a.rs -->\n```rust\nfn b() {}\n```\n"), [""; 0]);
        assert_eq!(
            faults("<!-- from: a.rs -->\n```rust\nfn c() {}\n```\n"),
            ["docs/a.md:1: a.rs: the block below is not in that file"]
        );
        assert_eq!(
            faults("# A\n<!-- from: a.rs -->\n\n<!-- from: b.rs -->\n```rust\n```\n"),
            [
                "docs/a.md:2: a.rs: no block follows",
                "docs/a.md:4: b.rs: there is no such source file",
            ]
        );
    }

    #[test]
    fn a_documented_variable_must_be_in_the_code() {
        let code = "std::env::var(\"FOUNDRY_HERE\")";
        assert_eq!(settings_faults("`FOUNDRY_HERE`", [code].into_iter()), [""; 0]);
        assert_eq!(
            settings_faults("`FOUNDRY_GONE`", [code].into_iter()),
            ["docs/settings.md: FOUNDRY_GONE is in no source; take it out"]
        );
    }

    #[test]
    fn every_variable_of_a_command_line_must_be_documented() {
        let code = "#[arg(long, env = \"FOUNDRY_PORT\")]\n#[arg(env = \"PATH\")]";
        assert_eq!(settings_faults("| `FOUNDRY_PORT` | 80 |", [code].into_iter()), [""; 0]);
        assert_eq!(
            settings_faults("FOUNDRY_PORT without its marks", [code].into_iter()),
            ["docs/settings.md: FOUNDRY_PORT is missing; say what it means"]
        );
    }
}
