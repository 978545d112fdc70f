//! The text of a request, shared by all who look at it.

use std::fmt;
use std::ops::Deref;
use std::sync::Arc;

/// A request's body, byte for byte. Clones share it.
#[derive(Clone, PartialEq, Eq)]
pub struct Text(Arc<str>);

impl Text {
    pub(super) fn new(text: impl Into<Arc<str>>) -> Self {
        Self(text.into())
    }
}

impl Deref for Text {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&**self, f)
    }
}

impl fmt::Display for Text {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self)
    }
}

impl PartialEq<str> for Text {
    fn eq(&self, other: &str) -> bool {
        &**self == other
    }
}

impl PartialEq<&str> for Text {
    fn eq(&self, other: &&str) -> bool {
        &**self == *other
    }
}

impl PartialEq<String> for Text {
    fn eq(&self, other: &String) -> bool {
        &**self == other.as_str()
    }
}
