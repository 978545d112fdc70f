//! What a script says of the server itself.

use serde::de::{DeserializeOwned, Error};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::model::overflow::{Overflow, Window};

/// Tokens, or tokens and what comes of more.
#[derive(Debug)]
pub(super) struct WindowPart(pub Window);

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct WindowFields {
    tokens: u64,
    overflow: Option<Value>,
}

impl<'de> Deserialize<'de> for WindowPart {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        if let Some(tokens) = value.as_u64() {
            return Ok(Self(Window::new(tokens)));
        }
        let WindowFields { tokens, overflow } = read(value)?;
        let window = Window::new(tokens);
        Ok(Self(match overflow {
            None => window,
            Some(word) if word == "silent" => window.cuts_silently(),
            Some(word) if word == "empty" => window.empty_with_length(),
            Some(word) => window.says(read::<Overflow, D::Error>(word)?),
        }))
    }
}

/// One thing, or a list of them. The error is that of the thing itself.
pub(super) fn one_or_many<'de, D, T>(deserializer: D) -> Result<Vec<T>, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned,
{
    match Value::deserialize(deserializer)? {
        Value::Array(many) => many.into_iter().map(read).collect(),
        one => Ok(vec![read(one)?]),
    }
}

fn read<T: DeserializeOwned, E: Error>(value: Value) -> Result<T, E> {
    serde_json::from_value(value).map_err(E::custom)
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum PrefixPart {
    #[default]
    Free,
    Strict,
}

#[derive(Clone, Copy, Debug, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum ChecksPart {
    #[default]
    First,
    Later,
}
