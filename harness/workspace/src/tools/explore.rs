//! `explore`

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use foundry_kernel::Effect;
use serde::Deserialize;

use super::{Job, is_left_out, load, only_permitted, outline, root};
use crate::locate::Last;
use crate::text::Text;
use crate::walk::{Cancel, Kind, Walk};
use crate::{Error, Workspace, shown};

/// Files looked at.
const MOST_FILES: usize = 20_000;
/// Files read for what they define, and the largest of them.
const MOST_READ: usize = 300;
const LARGEST_READ: u64 = 512 << 10;
/// Files named in one folder.
const MOST_IN_FOLDER: usize = 40;
/// Bytes after which folders are only counted, and after which they are not named.
const FULL: usize = 14_000;
const OVERFULL: usize = 18_000;

pub struct Explore;

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    #[serde(default = "root")]
    path: String,
}

impl Job for Explore {
    const NAME: &'static str = "explore";
    const DESCRIPTION: &'static str =
        "Get an overview of a part of the clone: its folders, files and what they define.";
    const SCHEMA: &'static str = r#"{"type": "object", "additionalProperties": false, "properties": {
        "path": {"type": "string", "default": ".", "description": "Folder to explore."}}}"#;
    const EFFECT: Effect = Effect::Read;

    type Arguments = Arguments;

    fn run(
        &self,
        workspace: &Workspace,
        Arguments { path }: Arguments,
        cancel: &Cancel,
    ) -> Result<String, Error> {
        let place = workspace.locate(&path, Last::Follow)?;
        if !place.is_folder() {
            place.open_file("")?; // says what is wrong with it
            let defined = defined(workspace, place.path(), usize::MAX).unwrap_or_default();
            let what = if defined.is_empty() { "nothing that is known here" } else { &defined };
            return Ok(format!("{} defines {what}", place.shown()));
        }
        let mut folders: BTreeMap<PathBuf, Vec<PathBuf>> = BTreeMap::new();
        folders.insert(place.path().to_owned(), Vec::new());
        let mut walk = Walk::new(workspace, &place, cancel)?.skipping(is_left_out);
        let mut files = 0;
        while files < MOST_FILES
            && let Some(found) = walk.step()?
        {
            match found.kind {
                Kind::Folder => _ = folders.entry(found.path).or_default(),
                Kind::File | Kind::Link => {
                    files += 1;
                    let folder = found.path.parent().unwrap_or(Path::new("")).to_owned();
                    folders.entry(folder).or_default().push(found.path);
                }
                Kind::Other => {}
            }
        }
        let mut text = summary(&place.shown(), &folders, files);
        if files == MOST_FILES {
            text += "\n[stopped: there are more files; explore a folder further down]";
        }
        text += &walk.left_out().words();
        text += &only_permitted(workspace, &place);
        Ok(text + &map(workspace, folders, cancel)?)
    }
}

fn summary(path: &str, folders: &BTreeMap<PathBuf, Vec<PathBuf>>, files: usize) -> String {
    let mut kinds: BTreeMap<&str, usize> = BTreeMap::new();
    for file in folders.values().flatten() {
        let kind = file.extension().and_then(|extension| extension.to_str()).unwrap_or("other");
        *kinds.entry(kind).or_default() += 1;
    }
    let mut kinds: Vec<(&str, usize)> = kinds.into_iter().collect();
    kinds.sort_by_key(|(kind, number)| (usize::MAX - number, *kind));
    let kinds: Vec<String> =
        kinds.iter().take(8).map(|(kind, number)| format!("{number} {kind}")).collect();
    let folders = shown::count(folders.len() - 1, "folder");
    format!("{path}: {}, {folders} ({})", shown::count(files, "file"), kinds.join(", "))
}

/// Folders from the top down, each with its files and what they define.
fn map(
    workspace: &Workspace,
    folders: BTreeMap<PathBuf, Vec<PathBuf>>,
    cancel: &Cancel,
) -> Result<String, Error> {
    let mut folders: Vec<(PathBuf, Vec<PathBuf>)> =
        folders.into_iter().filter(|(_, files)| !files.is_empty()).collect();
    folders.sort_by_key(|(path, _)| path.components().count());
    let mut text = String::new();
    let mut read = 0;
    for (at, (path, files)) in folders.iter().enumerate() {
        if cancel.is_cancelled() {
            return Err(Error::Cancelled);
        }
        let path = shown::path(path);
        if text.len() > OVERFULL {
            let left = shown::count(folders.len() - at, "folder");
            shown::push(&mut text, format_args!("\n[{left} more: explore one of the folders]"));
            break;
        }
        if text.len() > FULL {
            shown::push(
                &mut text,
                format_args!("\n{path}/ ({})", shown::count(files.len(), "file")),
            );
            continue;
        }
        shown::push(&mut text, format_args!("\n{path}/"));
        let mut plain = Vec::new();
        for file in files.iter().take(MOST_IN_FOLDER) {
            let name = shown::name(file.file_name().unwrap_or_default());
            let room = FULL.saturating_sub(text.len()).clamp(80, 400);
            let defined = if read < MOST_READ { defined(workspace, file, room) } else { None };
            match defined {
                Some(defined) => {
                    read += 1;
                    shown::push(&mut text, format_args!("\n  {name}: {defined}"));
                }
                None => plain.push(name),
            }
        }
        if !plain.is_empty() {
            shown::push(&mut text, format_args!("\n  {}", plain.join(", ")));
        }
        if files.len() > MOST_IN_FOLDER {
            shown::push(
                &mut text,
                format_args!("\n  [{} more files]", files.len() - MOST_IN_FOLDER),
            );
        }
    }
    Ok(text)
}

/// What a file defines, in about so many bytes; none when it defines nothing, or cannot
/// be read.
fn defined(workspace: &Workspace, path: &Path, room: usize) -> Option<String> {
    let language = outline::language(path)?;
    let place = workspace.locate(path.to_str()?, Last::Keep).ok()?;
    let (file, found) = place.open_file("").ok()?;
    if found.len() > LARGEST_READ {
        return None;
    }
    let raw = load(file, "").ok()??;
    let text = Text::decode(raw).ok()?;
    let definitions = outline::definitions(&text.readable(), language);
    let mut words = String::new();
    for (at, definition) in definitions.iter().enumerate() {
        if words.len() > room {
            shown::push(&mut words, format_args!(" … {} more", definitions.len() - at));
            break;
        }
        if at > 0 {
            words += ", ";
        }
        words += definition;
    }
    (!words.is_empty()).then_some(words)
}
