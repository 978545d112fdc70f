//! What a call is about, as far as its arguments tell without knowing the tool.

use std::fmt;

use serde::de::{Deserialize, Deserializer, IgnoredAny, MapAccess, Visitor};
use serde_json::Value;

/// Names under which tools take a file, the likelier first.
const FILE_KEYS: [&str; 5] = ["path", "file_path", "file", "filename", "file_name"];

/// Names that tell what else a call is about, the likelier first.
const OTHER_KEYS: [&str; 9] =
    ["command", "query", "pattern", "url", "uri", "name", "title", "id", "skill"];

/// What a call is about.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Target {
    /// The file it names.
    pub(crate) file: Option<String>,
    /// A command, a query, an id.
    pub(crate) other: Option<String>,
}

impl Target {
    /// Reads it out of arguments; those that cannot be read tell nothing.
    pub(crate) fn of(arguments: &str) -> Self {
        serde_json::from_str(arguments).unwrap_or_default()
    }

    /// The file, else what there is.
    pub(crate) fn any(self) -> Option<String> {
        self.file.or(self.other)
    }
}

impl<'de> Deserialize<'de> for Target {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_map(ByKey)
    }
}

struct ByKey;

impl<'de> Visitor<'de> for ByKey {
    type Value = Target;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("arguments")
    }

    /// What is not asked for is skipped without being built: a file's text may be in it.
    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Target, A::Error> {
        let (mut file, mut other) = (Best::default(), Best::default());
        while let Some(key) = map.next_key::<String>()? {
            let rank = |keys: &[&str]| keys.iter().position(|known| *known == key);
            if let Some(rank) = rank(&FILE_KEYS) {
                file.offer(rank, map.next_value()?);
            } else if let Some(rank) = rank(&OTHER_KEYS) {
                other.offer(rank, map.next_value()?);
            } else {
                map.next_value::<IgnoredAny>()?;
            }
        }
        Ok(Target { file: file.text(), other: other.text() })
    }
}

#[derive(Default)]
struct Best(Option<(usize, String)>);

impl Best {
    fn offer(&mut self, rank: usize, value: Value) {
        let Value::String(text) = value else { return };
        if !text.trim().is_empty() && self.0.as_ref().is_none_or(|(best, _)| rank < *best) {
            self.0 = Some((rank, text));
        }
    }

    fn text(self) -> Option<String> {
        self.0.map(|(_, text)| text)
    }
}
