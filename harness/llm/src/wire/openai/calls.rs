//! Tool calls that come in pieces, numbered well, badly or not at all.

use std::borrow::Cow;

use serde::Deserialize;
use serde_json::value::RawValue;

use super::seal;
use crate::delta::{Delta, Viewer};
use crate::error::LlmError;
use crate::message::{Reasoning, ToolCall};
use crate::wire::json::{Count, MAX_PARTS, Text, filled, said};

/// How calls come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Come {
    /// Each in as many pieces as there are.
    InPieces,
    /// Each in one, so that no two are the same call.
    Whole,
}

/// A piece of a call.
#[derive(Debug, Deserialize)]
pub(super) struct CallPiece<'a> {
    #[serde(default)]
    index: Count,
    #[serde(borrow)]
    id: Option<Text<'a>>,
    #[serde(borrow)]
    function: Option<FunctionPiece<'a>>,
    /// What the provider wants back beside the call.
    #[serde(borrow)]
    extra_content: Option<&'a RawValue>,
}

/// The function that a piece names or goes on with.
#[derive(Debug, Default, Deserialize)]
pub(super) struct FunctionPiece<'a> {
    #[serde(borrow)]
    name: Option<Text<'a>>,
    /// A text, or (Ollama and others) the object itself.
    #[serde(borrow)]
    arguments: Option<&'a RawValue>,
}

/// The calls so far, in order of appearance.
#[derive(Debug, Default)]
pub(super) struct Calls {
    all: Vec<Call>,
    /// For the unescaped text of a piece.
    buffer: String,
}

#[derive(Debug)]
struct Call {
    /// The provider's number: it may leave gaps, and some give each call the same one.
    index: u64,
    id: String,
    name: String,
    arguments: String,
    extra: Option<String>,
    shown: bool,
}

/// What of a piece tells whose it is.
#[derive(Clone, Copy, Debug)]
struct Marks<'a> {
    index: Option<u64>,
    id: Option<&'a str>,
    name: Option<&'a str>,
    arguments: Option<&'a str>,
}

impl Calls {
    /// Takes a piece in.
    pub(super) fn extend(
        &mut self,
        piece: CallPiece<'_>,
        how: Come,
        viewer: &mut Viewer<'_>,
    ) -> Result<(), LlmError> {
        let CallPiece { index: Count(index), id, function, extra_content } = piece;
        let FunctionPiece { name, arguments } = function.unwrap_or_default();
        let (id, name) = (filled(id), filled(name));
        let mut buffer = std::mem::take(&mut self.buffer);
        let arguments = arguments.map(|raw| text_of(raw, &mut buffer)).transpose()?;
        let arguments = arguments.filter(|text| !text.is_empty());
        if id.is_none() && name.is_none() && arguments.is_none() {
            return Ok(()); // some servers announce a call and make none
        }
        let marks = Marks { index, id: id.as_deref(), name: name.as_deref(), arguments };
        let place = self.place(marks, how);
        if place >= MAX_PARTS {
            return Err(LlmError::broken(&format!("the reply has more than {MAX_PARTS} calls")));
        }
        if place == self.all.len() {
            let after_last = || self.all.last().map_or(0, |last| last.index.saturating_add(1));
            self.all.push(Call::new(index.unwrap_or_else(after_last)));
        }
        let call = &mut self.all[place];
        call.extend(place, id, name, arguments, viewer);
        if let Some(extra) = extra_content.filter(|_| call.extra.is_none()) {
            call.extra = Some(extra.get().to_owned());
        }
        self.buffer = buffer;
        Ok(())
    }

    /// Which call a piece belongs to, or the place behind the last one.
    fn place(&self, marks: Marks<'_>, how: Come) -> usize {
        let by_id = |id: &str| self.all.iter().rposition(|call| call.id == id);
        let known = match (how, marks.index) {
            (Come::Whole, _) => marks.id.and_then(by_id),
            (Come::InPieces, Some(index)) => self.all.iter().rposition(|call| call.index == index),
            // For servers that number nothing, what has no id goes on with the last call.
            (Come::InPieces, None) => match marks.id {
                Some(id) => by_id(id),
                None => self.all.len().checked_sub(1),
            },
        };
        match known {
            Some(place) if !self.all[place].is_another(marks) => place,
            Some(_) | None => self.all.len(),
        }
    }

    /// The calls in the model's order, and what must go back beside them.
    pub(super) fn finish(self) -> (Vec<ToolCall>, Vec<Reasoning>) {
        let mut calls = self.all;
        for (place, call) in calls.iter_mut().enumerate() {
            call.id = call_id(std::mem::take(&mut call.id), place);
        }
        calls.sort_by_key(|call| call.index); // stable: equal numbers stay as they came
        let seals = calls.iter().filter_map(|call| seal::of(&call.id, call.extra.as_deref()?));
        let seals = seals.collect();
        let made =
            calls.into_iter().map(|Call { index: _, id, name, arguments, extra: _, shown: _ }| {
                ToolCall { id, name, arguments }
            });
        (made.collect(), seals)
    }
}

impl Call {
    fn new(index: u64) -> Self {
        Self {
            index,
            id: String::new(),
            name: String::new(),
            arguments: String::new(),
            extra: None,
            shown: false,
        }
    }

    /// Whether a piece with this one's number is another call all the same. Gemini numbers
    /// each of several calls 0. A new id alone says nothing, for some servers make one up
    /// for each piece; a name beside it, when this call could be whole, does. Without ids,
    /// a name does where arguments begin anew behind whole ones.
    fn is_another(&self, marks: Marks<'_>) -> bool {
        let Marks { index: _, id, name, arguments } = marks;
        if name.is_none() {
            return false;
        }
        let begins = |text: &str| text.trim_start().starts_with('{');
        match id {
            Some(id) => {
                !self.id.is_empty()
                    && self.id != id
                    && (self.arguments.is_empty() || self.has_whole_arguments())
            }
            None => arguments.is_some_and(begins) && self.has_whole_arguments(),
        }
    }

    fn has_whole_arguments(&self) -> bool {
        serde_json::from_str::<serde::de::IgnoredAny>(&self.arguments).is_ok()
    }

    fn extend(
        &mut self,
        place: usize,
        id: Option<Cow<'_, str>>,
        name: Option<Cow<'_, str>>,
        arguments: Option<&str>,
        viewer: &mut Viewer<'_>,
    ) {
        // Some servers repeat id and name with each piece: the first ones hold.
        if self.id.is_empty() {
            self.id = id.map(Cow::into_owned).unwrap_or_default();
        }
        if self.name.is_empty() {
            self.name = name.map(Cow::into_owned).unwrap_or_default();
        }
        let index = place as u64;
        if !self.shown && !self.name.is_empty() {
            self.shown = true;
            let id = Cow::Owned(call_id(self.id.clone(), place));
            viewer(Delta::Call { index, id, name: Cow::Borrowed(&self.name) });
        }
        if let Some(fragment) = arguments {
            self.arguments.push_str(fragment);
            viewer(Delta::Arguments { index, fragment: Cow::Borrowed(fragment) });
        }
    }
}

/// Arguments that are an object are taken as they stand.
fn text_of<'t>(raw: &'t RawValue, buffer: &'t mut String) -> Result<&'t str, LlmError> {
    if raw.get().starts_with('"') { said(raw, buffer) } else { Ok(raw.get()) }
}

/// The provider's id of a call, or one made from its place for servers without ids.
fn call_id(id: String, place: usize) -> String {
    if id.is_empty() { format!("call_{place}") } else { id }
}
