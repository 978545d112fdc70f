//! Whether arguments fit a tool's schema.
//!
//! A schema of plain keywords, as nearly every tool has, is judged by a few functions of
//! our own ([`plain`]); anything beyond goes to a whole JSON Schema validator ([`whole`]),
//! which takes milliseconds and megabytes to be made ready, so that neither an idle
//! harness nor a first request pays for it. Where both can judge, they judge alike. A
//! build without the feature `whole-schemas` knows the plain ones alone.

pub(crate) mod cost;
mod plain;
#[cfg(feature = "whole-schemas")]
mod whole;

use std::sync::OnceLock;

use foundry_llm::ToolSpec;
use serde_json::{Map, Value};

use super::truncate::prefix;
use cost::Size;
#[cfg(feature = "whole-schemas")]
use whole::Whole;

/// Bytes of what the model reads of a mismatch.
const SAID_BYTES: usize = 600;
/// Bytes of what stands around the parts of a tool in a request.
const FRAME_BYTES: usize = 45;

/// Why a schema cannot be used. Its text says what is wrong, where, and what to do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SchemaError {
    /// It describes something else than an object with the arguments.
    #[error("it describes {0}, and arguments are an object: make its type object")]
    NotAnObject(String),
    /// It is too much to be checked against.
    #[error("it is too large: {0}")]
    TooLarge(String),
    /// It is no JSON Schema.
    #[error("{0}")]
    NotASchema(String),
    /// It is more than this build can judge.
    #[cfg(not(feature = "whole-schemas"))]
    #[error(
        "it has more than plain keywords: build with the feature whole-schemas, or keep to them"
    )]
    NotPlain,
}

/// Whether a tool may have this schema: a JSON Schema of an object, of any draft that its
/// `$schema` names, bounded, and whole in itself: nothing it refers to is fetched.
pub fn check(schema: &Value) -> Result<(), SchemaError> {
    Checker::of(schema).map(|_| ())
}

/// The same as far as it costs nothing: a tool that is out of sight may have a thousand
/// neighbours, and its schema is looked at in full when it is found.
pub(crate) fn check_lightly(schema: &Value) -> Result<(), SchemaError> {
    size_of(schema).map(|_| ())
}

/// Whether a schema needs no validator beyond the kernel's own few functions: none is then
/// made ready, which takes milliseconds and megabytes. What a harness ships should need none.
pub fn is_plain(schema: &Value) -> bool {
    plain::covers(schema)
}

/// About how many bytes a tool takes in a request.
pub(crate) fn spec_bytes(spec: &ToolSpec) -> u64 {
    let ToolSpec { name, description, input_schema } = spec;
    (FRAME_BYTES + name.len() + description.len() + cost::json_bytes(input_schema)) as u64
}

/// A schema made ready once, when the first call needs it.
#[derive(Default)]
pub(crate) struct Compiled(OnceLock<Result<Checker, SchemaError>>);

impl Clone for Compiled {
    /// A copy of a tool may get another schema.
    fn clone(&self) -> Self {
        Self::default()
    }
}

impl Compiled {
    /// Makes the schema ready, unless it is.
    pub(crate) fn prepare(&self, schema: &Value) -> Result<(), SchemaError> {
        self.checker(schema).map(|_| ())
    }

    /// What does not fit, by its path, in words for the model; `None` when all does.
    pub(crate) fn mismatch(
        &self,
        schema: &Value,
        arguments: &Map<String, Value>,
    ) -> Option<String> {
        let found = match self.checker(schema) {
            Ok(checker) => checker.mismatch(schema, arguments)?,
            // Nothing can be known to fit what is no schema.
            Err(error) => format!("the schema cannot be used: {error}"),
        };
        // A name that nobody knows, or a list of what is allowed, may be of any length.
        Some(if found.len() > SAID_BYTES {
            format!("{}…", prefix(&found, SAID_BYTES))
        } else {
            found
        })
    }

    fn checker(&self, schema: &Value) -> Result<&Checker, SchemaError> {
        self.0.get_or_init(|| Checker::of(schema)).as_ref().map_err(Clone::clone)
    }
}

enum Checker {
    Plain,
    #[cfg(feature = "whole-schemas")]
    Whole(Box<Whole>),
}

impl Checker {
    fn of(schema: &Value) -> Result<Self, SchemaError> {
        let size = size_of(schema)?;
        if plain::covers(schema) {
            return Ok(Self::Plain);
        }
        Self::beyond_plain(schema, size)
    }

    #[cfg(feature = "whole-schemas")]
    fn beyond_plain(schema: &Value, size: Size) -> Result<Self, SchemaError> {
        Ok(Self::Whole(Box::new(Whole::of(schema, size)?)))
    }

    #[cfg(not(feature = "whole-schemas"))]
    fn beyond_plain(_schema: &Value, _size: Size) -> Result<Self, SchemaError> {
        Err(SchemaError::NotPlain)
    }

    fn mismatch(&self, schema: &Value, arguments: &Map<String, Value>) -> Option<String> {
        match self {
            Self::Plain => plain::mismatch(schema, arguments),
            #[cfg(feature = "whole-schemas")]
            Self::Whole(whole) => whole.mismatch(arguments),
        }
    }
}

fn size_of(schema: &Value) -> Result<Size, SchemaError> {
    if let Some(other) = plain::other_than_object(schema) {
        return Err(SchemaError::NotAnObject(other));
    }
    Size::of(schema)
}

#[cfg(test)]
mod tests;
