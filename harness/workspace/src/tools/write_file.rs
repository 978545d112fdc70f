//! `write_file`

use cap_std::fs::Metadata;
use foundry_kernel::Effect;
use serde::Deserialize;

use super::edit_file::{refuse_link, unwritable};
use super::replace::replace;
use super::{Job, load, too_large, writable};
use crate::locate::{Last, Place};
use crate::text::{Ending, Endings, Form, NotText, Text};
use crate::walk::Cancel;
use crate::{Change, EditLog, Error, Workspace, shown};

pub struct WriteFile(pub EditLog);

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Arguments {
    path: String,
    content: String,
}

impl Job for WriteFile {
    const NAME: &'static str = "write_file";
    const DESCRIPTION: &'static str =
        "Write a whole file; folders are made. For a change to part of a file use edit_file.";
    const SCHEMA: &'static str = r#"{"type": "object", "additionalProperties": false, "required": ["path", "content"], "properties": {
        "path": {"type": "string", "minLength": 1, "description": "File, from the root of the clone."},
        "content": {"type": "string", "description": "The whole new content."}}}"#;
    const EFFECT: Effect = Effect::Write;

    type Arguments = Arguments;

    fn run(
        &self,
        workspace: &Workspace,
        Arguments { path, content }: Arguments,
        _: &Cancel,
    ) -> Result<String, Error> {
        if path.ends_with('/') {
            return Err(Error::NotAPath { path, why: "a file's name does not end with /" });
        }
        let place = workspace.locate(&path, Last::Make)?;
        writable(workspace, &place)?;
        refuse_link(&place)?;
        let Some((before, raw, old)) = existing(&place)? else {
            replace(&place, content.as_bytes(), None)?;
            self.0.record(place.path(), Change::Created);
            let lines = shown::count(content.lines().count(), "line");
            return Ok(format!("made {} with {lines}", place.shown()));
        };
        let new = in_the_form_of(&old, &content);
        let written = old.form.encode(new.as_bytes());
        let written = written.map_err(|why| unwritable(&place.shown(), old.form, why))?;
        if written == raw {
            return Ok(format!("{} already says this: nothing was changed", place.shown()));
        }
        replace(&place, &written, Some(&before))?;
        self.0.record(place.path(), Change::Changed);
        let diff = shown::diff(&old.readable(), &new);
        Ok(format!("wrote {}\n{diff}", place.shown()))
    }
}

/// What is there already.
fn existing(place: &Place) -> Result<Option<(Metadata, Vec<u8>, Text)>, Error> {
    let path = place.shown();
    if place.found().is_none() && !place.is_folder() {
        return Ok(None);
    }
    let (file, before) = place.open_file("name a file in it")?;
    let Some(raw) = load(file, &path)? else { return Err(too_large(&path)) };
    let text = Text::decode(raw.clone()).map_err(|NotText| Error::Binary { path })?;
    Ok(Some((before, raw, text)))
}

/// The content as the file that it replaces would say it.
fn in_the_form_of(old: &Text, content: &str) -> String {
    let content = match old.form {
        Form::Utf8 | Form::DamagedUtf8 | Form::Legacy(_) => content,
        Form::MarkedUtf8 | Form::Utf16Le | Form::Utf16Be => {
            content.strip_prefix('\u{feff}').unwrap_or(content)
        }
    };
    let is_plain = Endings::of(content.as_bytes()).crlf == 0;
    match Endings::of(&old.bytes).usual() {
        Ending::CrLf if is_plain => content.replace('\n', "\r\n"),
        Ending::CrLf | Ending::Lf => content.to_owned(),
    }
}
