//! How much a schema, or a value, is: what a stranger's server sends must not take more
//! than a bounded time to be looked at.

use std::collections::BTreeMap;

use serde_json::Value;

use super::SchemaError;

/// Bytes of one schema.
const MOST_BYTES: usize = 256 << 10;
/// Depth of one schema.
const DEEPEST: usize = 64;
/// Sub-schemas of one schema, each counted as often as it is referred to.
const MOST_PARTS: u64 = 100_000;
/// Patterns of one schema, each counted as often as it is referred to.
const MOST_PATTERNS: u64 = 100;
/// Depth of one schema with its references followed. Whoever reads it goes as deep, and
/// has a stack to go on.
const DEEPEST_UNFOLDED: usize = 256;
/// Ways through a schema that contains itself.
const MOST_WAYS: u64 = 1_000_000;

/// Keywords that refer to another part.
const REFERENCES: [&str; 3] = ["$ref", "$dynamicRef", "$recursiveRef"];
/// Keywords that name a part.
const NAMES: [&str; 4] = ["$anchor", "$dynamicAnchor", "$id", "id"];

/// What a schema comes to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Size {
    /// Places where it contains itself, each counted as often as it is referred to.
    recursions: u64,
}

impl Size {
    /// Measures a schema; says what is too much, or what it refers to in vain.
    pub(super) fn of(schema: &Value) -> Result<Self, SchemaError> {
        let too_large = |what: String| Err(SchemaError::TooLarge(what));
        if !is_within_depth(schema, DEEPEST) {
            return too_large(format!("it is nested more than {DEEPEST} deep: nest less"));
        }
        let bytes = json_bytes(schema);
        if bytes > MOST_BYTES {
            return too_large(format!(
                "it has {bytes} bytes, and {MOST_BYTES} are the most: cut it"
            ));
        }
        let (named, known) = (BTreeMap::new(), BTreeMap::new());
        let mut walk = Walk { root: schema, named, known, depth: 0 };
        walk.name(schema)?;
        let Count { parts, patterns, recursions, depth: _ } = walk.count(schema)?;
        if parts > MOST_PARTS {
            return too_large(format!("its references unfold to more than {MOST_PARTS} parts"));
        }
        if patterns > MOST_PATTERNS {
            return too_large(format!("it has more than {MOST_PATTERNS} patterns"));
        }
        Ok(Self { recursions })
    }

    /// Deepest arguments that can be held against it in bounded time: each level of them
    /// may be gone through once for each place where the schema contains itself.
    #[cfg_attr(
        not(feature = "whole-schemas"),
        expect(dead_code, reason = "only the whole validator asks")
    )]
    pub(super) fn deepest_arguments(self) -> usize {
        let Self { recursions } = self;
        if recursions == 0 {
            return usize::MAX;
        }
        let mut ways: u64 = 1;
        let levels = (0..DEEPEST).take_while(|_| {
            ways = ways.saturating_mul(recursions.saturating_add(1));
            ways <= MOST_WAYS
        });
        levels.count().max(1)
    }
}

#[derive(Clone, Copy, Default)]
struct Count {
    parts: u64,
    patterns: u64,
    recursions: u64,
    /// Of the deepest part.
    depth: usize,
}

impl Count {
    const PART: Self = Self { parts: 1, patterns: 0, recursions: 0, depth: 1 };
    const ITSELF: Self = Self { parts: 1, patterns: 0, recursions: 1, depth: 1 };

    fn and(self, more: Self) -> Self {
        let Self { parts, patterns, recursions, depth } = self;
        Self {
            parts: parts.saturating_add(more.parts),
            patterns: patterns.saturating_add(more.patterns),
            recursions: recursions.saturating_add(more.recursions),
            depth: depth.max(more.depth),
        }
    }
}

/// How many patterns this one keyword brings.
fn patterns_of(keyword: &str, value: &Value) -> u64 {
    match (keyword, value) {
        ("pattern", Value::String(_)) => 1,
        ("patternProperties", Value::Object(patterns)) => patterns.len() as u64,
        (_, _) => 0,
    }
}

/// Counts parts, following references inside the schema. What is data and no schema, as a
/// default, is counted like the rest: to a reader it may be named like either.
struct Walk<'a> {
    root: &'a Value,
    /// Parts that have a name.
    named: BTreeMap<&'a str, &'a Value>,
    /// What is behind each reference; none while it is being counted.
    known: BTreeMap<&'a str, Option<Count>>,
    /// How deep it is now, references followed.
    depth: usize,
}

impl<'a> Walk<'a> {
    fn name(&mut self, value: &'a Value) -> Result<(), SchemaError> {
        match value {
            Value::Object(object) => {
                for keyword in NAMES {
                    if let Some(Value::String(name)) = object.get(keyword) {
                        self.name_one(keyword, name, value)?;
                    }
                }
                object.values().try_for_each(|value| self.name(value))
            }
            Value::Array(items) => items.iter().try_for_each(|item| self.name(item)),
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(()),
        }
    }

    /// A part with an address of its own would be the ground for references below it, and
    /// of two parts with one name nobody knows which is meant.
    fn name_one(
        &mut self,
        keyword: &str,
        name: &'a str,
        part: &'a Value,
    ) -> Result<(), SchemaError> {
        let name = match (keyword, name.strip_prefix('#')) {
            ("$anchor" | "$dynamicAnchor", _) => name,
            ("$id" | "id", Some(name)) => name,
            _ if std::ptr::eq(part, self.root) || (keyword == "id" && !self.is_draft_4()) => {
                return Ok(());
            }
            _ => {
                return Err(SchemaError::NotASchema(format!(
                    "a part of it has the address {name:?}: take that {keyword} away"
                )));
            }
        };
        match self.named.insert(name, part) {
            Some(other) if !std::ptr::eq(other, part) => Err(SchemaError::NotASchema(format!(
                "two parts of it are named {name:?}: name one of them otherwise"
            ))),
            Some(_) | None => Ok(()),
        }
    }

    /// Draft 4 says `id` where later ones say `$id`, and `id` is then nothing.
    fn is_draft_4(&self) -> bool {
        let draft = self.root.get("$schema").and_then(Value::as_str);
        draft.is_some_and(|draft| draft.contains("draft-04"))
    }

    fn count(&mut self, value: &'a Value) -> Result<Count, SchemaError> {
        self.depth += 1;
        if self.depth > DEEPEST_UNFOLDED {
            return Err(too_deep());
        }
        let inside = self.count_inside(value)?;
        self.depth -= 1;
        Ok(Count { depth: inside.depth.saturating_add(1), ..inside })
    }

    fn count_inside(&mut self, value: &'a Value) -> Result<Count, SchemaError> {
        match value {
            Value::Object(object) => {
                let mut count = Count::PART;
                for (keyword, value) in object {
                    let patterns = patterns_of(keyword, value);
                    count = count.and(Count { patterns, ..Count::default() });
                    count = count.and(match value {
                        Value::String(target) if REFERENCES.contains(&keyword.as_str()) => {
                            self.behind(target)?
                        }
                        value => self.count(value)?,
                    });
                }
                Ok(count)
            }
            Value::Array(items) => {
                items.iter().try_fold(Count::PART, |count, item| Ok(count.and(self.count(item)?)))
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => Ok(Count::PART),
        }
    }

    fn behind(&mut self, target: &'a str) -> Result<Count, SchemaError> {
        if target == "#" {
            return Ok(Count::ITSELF);
        }
        let count = match self.known.get(target) {
            Some(Some(count)) => *count,
            Some(None) => return Ok(Count::ITSELF),
            None => {
                let part = self.part(target)?;
                self.known.insert(target, None);
                let count = self.count(part)?;
                self.known.insert(target, Some(count));
                count
            }
        };
        // What was counted from elsewhere may be deeper from here.
        if self.depth.saturating_add(count.depth) > DEEPEST_UNFOLDED {
            return Err(too_deep());
        }
        Ok(count)
    }

    fn part(&self, target: &str) -> Result<&'a Value, SchemaError> {
        let inside = target.strip_prefix('#').and_then(|name| match name.strip_prefix('/') {
            Some(_) => self.root.pointer(&unescaped(name)),
            None => self.named.get(name).copied(),
        });
        inside.ok_or_else(|| {
            SchemaError::NotASchema(format!(
                "it refers to {target:?}, which is not in it, and nothing is fetched: \
                 put that part under $defs and refer to it by #/$defs/…"
            ))
        })
    }
}

fn too_deep() -> SchemaError {
    SchemaError::TooLarge(format!(
        "its references lead more than {DEEPEST_UNFOLDED} deep: nest less"
    ))
}

/// A pointer as it stands in a URI, without its percent signs.
fn unescaped(pointer: &str) -> String {
    let mut bytes = Vec::with_capacity(pointer.len());
    let mut rest = pointer.as_bytes();
    while let Some((byte, after)) = rest.split_first() {
        let digits = (*byte == b'%').then(|| after.get(..2)).flatten();
        let digits = digits.filter(|digits| digits.iter().all(u8::is_ascii_hexdigit));
        let code = digits.and_then(|digits| std::str::from_utf8(digits).ok());
        if let Some(byte) = code.and_then(|code| u8::from_str_radix(code, 16).ok()) {
            bytes.push(byte);
            rest = &after[2..];
        } else {
            bytes.push(*byte);
            rest = after;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Whether a value is nested no deeper; looks no deeper than that.
pub(crate) fn is_within_depth(value: &Value, deepest: usize) -> bool {
    let within = |value| match deepest.checked_sub(1) {
        Some(deepest) => is_within_depth(value, deepest),
        None => false,
    };
    match value {
        Value::Array(items) => items.iter().all(within),
        Value::Object(fields) => fields.values().all(within),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => true,
    }
}

/// Bytes of a value as JSON, near enough: escapes are not counted.
pub(crate) fn json_bytes(value: &Value) -> usize {
    match value {
        Value::Null | Value::Bool(_) => 4,
        Value::Number(number) => number.to_string().len(),
        Value::String(text) => text.len() + 2,
        Value::Array(items) => 2 + items.iter().map(|item| json_bytes(item) + 1).sum::<usize>(),
        Value::Object(fields) => {
            2 + fields.iter().map(|(name, value)| name.len() + 4 + json_bytes(value)).sum::<usize>()
        }
    }
}
