//! Schemas beyond the plain ones, by a whole validator of every draft.

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, PatternOptions, ValidationError, Validator};
use serde_json::{Map, Value};

use super::SchemaError;
use super::cost::{self, Size};
use crate::policy::truncate::prefix;

/// Bytes that one compiled pattern may take, and as much again for matching.
const PATTERN_BYTES: usize = 1 << 20;
/// Steps back that one match may take; patterns with look-around can take very many.
const PATTERN_STEPS: usize = 100_000;
/// Bytes of what a validator says that the model reads.
const SAID_BYTES: usize = 300;

pub(super) struct Whole {
    validator: Validator,
    /// Deepest arguments that are looked at.
    deepest: usize,
}

impl Whole {
    pub(super) fn of(schema: &Value, size: Size) -> Result<Self, SchemaError> {
        let patterns = PatternOptions::fancy_regex()
            .backtrack_limit(PATTERN_STEPS)
            .size_limit(PATTERN_BYTES)
            .dfa_size_limit(PATTERN_BYTES);
        let mut options = jsonschema::options().offline().with_pattern_options(patterns);
        if schema.get("$schema").is_none() {
            // Said once, so that no other draft is made ready to find out.
            options = options.with_draft(Draft::Draft202012);
        }
        let validator = options.build(schema).map_err(|error| not_a_schema(&error))?;
        Ok(Self { validator, deepest: size.deepest_arguments() })
    }

    pub(super) fn mismatch(&self, arguments: &Map<String, Value>) -> Option<String> {
        let arguments = Value::Object(arguments.clone());
        if !cost::is_within_depth(&arguments, self.deepest) {
            return Some(format!(
                "they are nested more than {} deep, and a schema that contains itself is \
                 checked no deeper: nest less",
                self.deepest
            ));
        }
        self.validator.validate(&arguments).err().map(|error| told(&error))
    }
}

fn not_a_schema(error: &ValidationError<'_>) -> SchemaError {
    let at = match error.instance_path().as_str() {
        "" => String::new(),
        path => format!("at {path}, "),
    };
    let said = error.to_string();
    SchemaError::NotASchema(format!(
        "{at}{}: make it a JSON Schema that refers to nothing outside itself",
        prefix(&said, SAID_BYTES)
    ))
}

/// One error in words, pointing at the field. The value is not repeated: the model has
/// it, and it may be megabytes.
fn told(error: &ValidationError<'_>) -> String {
    let error = nearest(error);
    let said = error.masked_with("the value").to_string();
    let said = prefix(&said, SAID_BYTES);
    match error.instance_path().as_str() {
        "" => said.to_owned(),
        path => format!("at {path}, {said}"),
    }
}

/// Of alternatives that all fail, what the one nearest to fitting has against the value.
fn nearest<'a, 'i>(error: &'a ValidationError<'i>) -> &'a ValidationError<'i> {
    match error.kind() {
        ValidationErrorKind::AnyOf { context } | ValidationErrorKind::OneOfNotValid { context } => {
            let tried = context.iter().filter(|errors| !errors.is_empty());
            // An alternative that gets deeper into the value was the one meant.
            let depth = |errors: &&Vec<ValidationError<'static>>| {
                errors.iter().map(|error| error.instance_path().as_str().matches('/').count()).max()
            };
            match tried.max_by_key(depth).and_then(|errors| errors.first()) {
                Some(meant) if meant.instance_path() != error.instance_path() => nearest(meant),
                Some(_) | None => error,
            }
        }
        _ => error,
    }
}
