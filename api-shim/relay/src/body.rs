//! The request body: read for its model, changed in nothing else.

use std::ops::Range;

use bytes::{Bytes, BytesMut};
use foundry_llm::Wire;
use serde::{Deserialize, Deserializer};
use serde_json::value::RawValue;

/// A body that is no request for a model.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum BadBody {
    #[error("the request body is not a JSON object with one string field model: {0}")]
    Unreadable(String),
    #[error("the request body is not UTF-8")]
    NotUtf8,
}

/// The fields of a request that the relay looks at, where they stand.
#[derive(Deserialize)]
struct Fields<'a> {
    #[serde(borrow)]
    model: &'a RawValue,
    #[serde(borrow)]
    stream: Option<&'a RawValue>,
    #[serde(borrow, default, deserialize_with = "present")]
    stream_options: Option<&'a RawValue>,
}

/// A field that is there, even as null: it must not be written a second time.
fn present<'de, D: Deserializer<'de>>(from: D) -> Result<Option<&'de RawValue>, D::Error> {
    <&RawValue>::deserialize(from).map(Some)
}

/// A caller's request body.
#[derive(Debug)]
pub(crate) struct Body {
    bytes: Bytes,
    /// The model asked for.
    pub(crate) model: String,
    model_at: Range<usize>,
    usage_option: Option<Edit>,
}

/// Bytes to put in place of others.
#[derive(Debug)]
struct Edit {
    at: Range<usize>,
    text: &'static str,
}

impl Body {
    pub(crate) fn read(bytes: Bytes, wire: Wire) -> Result<Self, BadBody> {
        let text = std::str::from_utf8(&bytes).map_err(|_| BadBody::NotUtf8)?;
        let unreadable = |error: serde_json::Error| BadBody::Unreadable(error.to_string());
        let fields: Fields<'_> = serde_json::from_str(text).map_err(unreadable)?;
        let model = serde_json::from_str(fields.model.get()).map_err(unreadable)?;
        let model_at = place(text, fields.model);
        let usage_option = match wire {
            Wire::OpenAi => usage_option(text, &fields),
            Wire::Anthropic => None,
        };
        Ok(Self { bytes, model, model_at, usage_option })
    }

    pub(crate) fn len(&self) -> usize {
        self.bytes.len()
    }

    /// The body with the provider's own name of the model, and, in a streamed call of
    /// the OpenAI form, with the wish for usage if the caller has none of its own.
    /// Every other byte is the caller's: a provider's prompt cache depends on it.
    pub(crate) fn with_model(&self, upstream_model: &str) -> Bytes {
        let model = serde_json::Value::from(upstream_model).to_string();
        let mut edits = vec![(self.model_at.clone(), model.as_str())];
        if let Some(Edit { at, text }) = &self.usage_option {
            edits.push((at.clone(), text));
        }
        edits.sort_by_key(|(at, _)| at.start);
        let mut written = BytesMut::with_capacity(self.bytes.len() + 64);
        let mut copied = 0;
        for (at, text) in edits {
            written.extend_from_slice(&self.bytes[copied..at.start]);
            written.extend_from_slice(text.as_bytes());
            copied = at.end;
        }
        written.extend_from_slice(&self.bytes[copied..]);
        written.freeze()
    }
}

/// Where a field's value stands in the text it was read from.
fn place(text: &str, value: &RawValue) -> Range<usize> {
    let start = value.get().as_ptr().addr() - text.as_ptr().addr();
    start..start + value.get().len()
}

/// The edit that makes a streamed answer end with its usage; none where the caller
/// says itself whether it wants that.
fn usage_option(text: &str, fields: &Fields<'_>) -> Option<Edit> {
    #[derive(Deserialize)]
    struct Options<'a> {
        #[serde(borrow, default, deserialize_with = "present")]
        include_usage: Option<&'a RawValue>,
    }
    if fields.stream?.get() != "true" {
        return None;
    }
    let Some(options) = fields.stream_options else {
        let end = text.trim_end().len() - 1;
        let text = r#","stream_options":{"include_usage":true}"#;
        return Some(Edit { at: end..end, text });
    };
    let at = place(text, options);
    if options.get() == "null" {
        return Some(Edit { at, text: r#"{"include_usage":true}"# });
    }
    match serde_json::from_str::<Options<'_>>(options.get()) {
        Ok(Options { include_usage: None }) => {
            let inside = at.start + 1;
            let empty = options.get()[1..].trim_start().starts_with('}');
            let text = if empty { r#""include_usage":true"# } else { r#""include_usage":true,"# };
            Some(Edit { at: inside..inside, text })
        }
        // The caller's own choice, or something for the provider to refuse.
        Ok(_) | Err(_) => None,
    }
}

#[cfg(test)]
mod tests;
