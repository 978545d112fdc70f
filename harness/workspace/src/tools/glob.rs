//! `glob`

use std::ffi::OsStr;
use std::path::PathBuf;

use foundry_kernel::Effect;
use globset::{GlobBuilder, GlobMatcher};
use serde::Deserialize;

use super::{Job, is_left_out, only_permitted};
use crate::locate::Last;
use crate::walk::{Cancel, Kind, LeftOut, Walk};
use crate::{Error, Workspace, shown};

/// Files shown.
const MOST_SHOWN: usize = 1_000;
/// Bytes of them.
const MOST_BYTES: usize = 40_000;

pub struct Glob;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    pattern: String,
}

impl Job for Glob {
    const NAME: &'static str = "glob";
    const DESCRIPTION: &'static str = "Find files by pattern. ** stands for any number of folders; .git and node_modules are left out.";
    const SCHEMA: &'static str = r#"{"type": "object", "additionalProperties": false, "required": ["pattern"], "properties": {
        "pattern": {"type": "string", "minLength": 1, "description": "For example src/**/*.rs."}}}"#;
    const EFFECT: Effect = Effect::Read;

    type Arguments = Arguments;

    fn run(
        &self,
        workspace: &Workspace,
        Arguments { pattern }: Arguments,
        cancel: &Cancel,
    ) -> Result<String, Error> {
        let pattern = relative(workspace, &pattern);
        let hits = find(workspace, pattern, cancel)?;
        if hits.paths.is_empty() && !pattern.contains('/') {
            let deeper = format!("**/{pattern}");
            let deeper_hits = find(workspace, &deeper, cancel)?;
            if !deeper_hits.paths.is_empty() {
                let note =
                    format!("[no file in the root matches {pattern}; these match {deeper}]\n");
                return Ok(note + &deeper_hits.words());
            }
        }
        if hits.paths.is_empty() {
            return Ok(format!("no file matches {pattern}{}", hits.notes));
        }
        Ok(hits.words())
    }
}

struct Hits {
    paths: Vec<PathBuf>,
    notes: String,
}

impl Hits {
    fn words(&self) -> String {
        let lines: Vec<String> = self.paths.iter().map(|path| shown::path(path)).collect();
        lines.join("\n") + &self.notes
    }
}

fn find(workspace: &Workspace, pattern: &str, cancel: &Cancel) -> Result<Hits, Error> {
    let matcher = matcher(pattern)?;
    let base = base(pattern);
    if base.split('/').any(|name| is_left_out(OsStr::new(name))) {
        let notes = "\n[node_modules is left out: use list_dir and read_file there]".to_owned();
        return Ok(Hits { paths: Vec::new(), notes });
    }
    let start = match workspace.locate(&base, Last::Follow) {
        Ok(start) => start,
        Err(Error::NotFound { .. } | Error::NotAFolder { .. }) => {
            return Ok(Hits { paths: Vec::new(), notes: String::new() });
        }
        Err(error) => return Err(error),
    };
    let mut hits = Hits { paths: Vec::new(), notes: only_permitted(workspace, &start) };
    if !start.is_folder() {
        return Ok(hits);
    }
    // A link on the way to the first folder: what is found is shown, and matched, by the
    // path that was asked for.
    let asked = PathBuf::from(&base);
    let mut walk = Walk::new(workspace, &start, cancel)?.skipping(is_left_out);
    let mut bytes = 0;
    while let Some(found) = walk.step()? {
        if !matches!(found.kind, Kind::File | Kind::Link) {
            continue;
        }
        let beneath = found.path.strip_prefix(start.path()).unwrap_or(&found.path);
        let path = asked.join(beneath);
        if !matcher.is_match(&path) {
            continue;
        }
        bytes += path.as_os_str().len() + 1;
        if hits.paths.len() == MOST_SHOWN || bytes > MOST_BYTES {
            let shown = hits.paths.len();
            shown::push(
                &mut hits.notes,
                format_args!("\n[the first {shown} files; more match: narrow the pattern]"),
            );
            break;
        }
        hits.paths.push(path);
    }
    hits.notes += &ignored(walk.left_out());
    Ok(hits)
}

fn ignored(left_out: &LeftOut) -> String {
    let mut words = left_out.words();
    if left_out.ignored > 0 {
        shown::push(
            &mut words,
            format_args!(
                "\n[left out: {} by .gitignore; a pattern that begins with their folder finds them]",
                shown::count(left_out.ignored, "path")
            ),
        );
    }
    words
}

fn matcher(pattern: &str) -> Result<GlobMatcher, Error> {
    GlobBuilder::new(pattern)
        .literal_separator(true)
        .empty_alternates(true)
        .build()
        .map(|glob| glob.compile_matcher())
        .map_err(|error| Error::Refused(format!("{pattern} is not a pattern: {error}")))
}

/// The pattern from the root of the clone.
fn relative<'a>(workspace: &Workspace, pattern: &'a str) -> &'a str {
    let beneath = workspace
        .roots()
        .iter()
        .find_map(|root| pattern.strip_prefix(root.to_str()?)?.strip_prefix('/'));
    let mut pattern = beneath.unwrap_or(pattern);
    while let Some(rest) = pattern.strip_prefix("./") {
        pattern = rest.trim_start_matches('/');
    }
    pattern
}

/// The folder in which every match lies: the components before the first wildcard.
fn base(pattern: &str) -> String {
    let is_plain = |name: &&str| !name.contains(['*', '?', '[', ']', '{', '}', '\\']);
    let names: Vec<&str> = pattern.split('/').collect();
    let (_, folders) = names.split_last().unwrap_or((&"", &[]));
    let folders: Vec<&str> = folders.iter().copied().take_while(|name| is_plain(name)).collect();
    // A pattern that begins with a slash keeps it, and is refused as outside.
    if folders == [""] { "/".to_owned() } else { folders.join("/") }
}
