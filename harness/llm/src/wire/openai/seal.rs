//! What a provider wants back beside a call it made, unchanged: Gemini signs its thoughts
//! there, and refuses every later turn of a tool loop without.
//!
//! It is kept as an opaque block of reasoning, for it goes back under the same rules:
//! only in the run and to the model that made it (KERN-40).

use std::borrow::Cow;

use serde::{Deserialize, Serialize};
use serde_json::value::RawValue;

use crate::message::Reasoning;

/// The content of such a block.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Seal<'a> {
    /// Id of the call.
    #[serde(borrow)]
    call: Cow<'a, str>,
    #[serde(borrow)]
    extra_content: &'a RawValue,
}

/// The block that keeps a call's extra content.
pub(super) fn of(call: &str, extra_content: &str) -> Option<Reasoning> {
    let extra_content = serde_json::from_str::<&RawValue>(extra_content).ok()?;
    let seal = Seal { call: Cow::Borrowed(call), extra_content };
    Some(Reasoning::Redacted { data: serde_json::to_string(&seal).ok()? })
}

/// The seals among a message's reasoning. What another wire redacted is none.
pub(super) fn among(reasoning: &[Reasoning]) -> Vec<Seal<'_>> {
    reasoning.iter().filter_map(opened).collect()
}

fn opened(block: &Reasoning) -> Option<Seal<'_>> {
    match block {
        Reasoning::Redacted { data } => serde_json::from_str(data).ok(),
        Reasoning::Thinking { .. } | Reasoning::Text { .. } => None,
    }
}

/// What goes back beside a call.
pub(super) fn for_call<'a>(seals: &[Seal<'a>], id: &str) -> Option<Extra<'a>> {
    seals.iter().find(|seal| seal.call == id).map(|seal| Extra::Kept(seal.extra_content))
}

/// Extra content as it is sent.
#[derive(Serialize)]
#[serde(untagged)]
pub(super) enum Extra<'a> {
    /// As it came.
    Kept(&'a RawValue),
    /// In place of a signature that is gone.
    Excuse { google: Excuse },
}

/// The word with which Google lets an unsigned call pass.
#[derive(Serialize)]
pub(super) struct Excuse {
    thought_signature: &'static str,
}

/// For the first call of a message that lost its signature.
pub(super) const EXCUSE: Extra<'static> =
    Extra::Excuse { google: Excuse { thought_signature: "skip_thought_signature_validator" } };
