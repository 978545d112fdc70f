//! `edit_file`

use foundry_kernel::Effect;
use serde::Deserialize;

use super::replace::replace;
use super::{Job, load, too_large, writable};
use crate::locate::{Last, Place};
use crate::text::{Form, Miss, NotText, Text, Unwritable, Which, splice};
use crate::walk::Cancel;
use crate::{Change, EditLog, Error, Workspace, shown};

pub struct EditFile(pub EditLog);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    path: String,
    old_text: String,
    new_text: String,
    #[serde(default)]
    replace_all: bool,
}

impl Job for EditFile {
    const NAME: &'static str = "edit_file";
    const DESCRIPTION: &'static str = "Replace text in one file. old_text must match exactly, with indentation and trailing spaces, and occur once; otherwise nothing is changed and the error says where it occurs. Line endings, encoding and mode of the file are kept.";
    const SCHEMA: &'static str = r#"{"type": "object", "additionalProperties": false, "required": ["path", "old_text", "new_text"], "properties": {
        "path": {"type": "string", "minLength": 1, "description": "File, from the root of the clone."},
        "old_text": {"type": "string", "minLength": 1, "description": "Text to replace, as read_file shows it without the line numbers, with enough around it to occur once."},
        "new_text": {"type": "string", "description": "Text to put in its place; empty removes it."},
        "replace_all": {"type": "boolean", "default": false, "description": "Replace every occurrence."}}}"#;
    const EFFECT: Effect = Effect::Write;

    type Arguments = Arguments;

    fn run(
        &self,
        workspace: &Workspace,
        Arguments { path, old_text, new_text, replace_all }: Arguments,
        _: &Cancel,
    ) -> Result<String, Error> {
        let place = workspace.locate(&path, Last::Keep)?;
        let path = place.shown();
        writable(workspace, &place)?;
        refuse_link(&place)?;
        let (file, before) = place.open_file("name a file in it")?;
        let Some(raw) = load(file, &path)? else { return Err(too_large(&path)) };
        let text =
            Text::decode(raw.clone()).map_err(|NotText| Error::Binary { path: path.clone() })?;
        let form = text.form;
        let failed = |why| unwritable(&path, form, why);
        text.check_faithful(&raw).map_err(failed)?;
        let which = if replace_all { Which::All } else { Which::Only };
        let spliced =
            splice(&text.bytes, &old_text, &new_text, which).map_err(|miss| words(&path, miss))?;
        let content = form.encode(&spliced.bytes).map_err(failed)?;
        replace(&place, &content, Some(&before))?;
        self.0.record(place.path(), Change::Changed);
        let after = String::from_utf8_lossy(&spliced.bytes);
        let diff = shown::diff(&text.readable(), &after);
        let places = shown::count(spliced.places, "place");
        Ok(format!("changed {path} in {places}\n{diff}"))
    }
}

/// A link is not written through: what it leads to is another file, and a move would
/// put a file in the place of the link.
pub fn refuse_link(place: &Place) -> Result<(), Error> {
    let Some((folder, name)) = place.entry() else { return Ok(()) };
    if !place.found().is_some_and(cap_std::fs::Metadata::is_symlink) {
        return Ok(());
    }
    let path = place.shown();
    let target = folder.read_link_contents(name).map_err(Error::io("read the link", &path))?;
    Err(Error::IsALink { path, target: shown::path(&target) })
}

/// Why a text cannot be written back, for the model.
pub fn unwritable(path: &str, form: Form, why: Unwritable) -> Error {
    let encoding = form.name().unwrap_or("UTF-8");
    Error::Refused(match why {
        Unwritable::Character(character) => format!(
            "{path} is in {encoding}, which has no {character:?}: use a character that it has"
        ),
        Unwritable::Unfaithful => format!(
            "{path} is read as {encoding}, but not all of it is: an edit would change more than \
             was asked for, so none was made"
        ),
    })
}

fn words(path: &str, miss: Miss) -> Error {
    Error::Refused(match miss {
        Miss::Empty => "old_text is empty: use write_file to make a file".to_owned(),
        Miss::Same => "old_text and new_text are the same: nothing was changed".to_owned(),
        Miss::Nowhere(near) => {
            format!("old_text is not in {path}, so nothing was changed. {near}")
        }
        Miss::Several { places, lines } => {
            let shown: Vec<String> = lines.iter().map(ToString::to_string).collect();
            let more = if lines.len() < places { ", …" } else { "" };
            format!(
                "old_text is in {path} {places} times, at lines {}{more}, so nothing was changed: \
                 give more of the text around it, or replace_all",
                shown.join(", ")
            )
        }
    })
}
