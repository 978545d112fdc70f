//! What a viewer may see while a reply is still on its way.

use std::borrow::Cow;

/// A piece of a reply that is still streaming, borrowed from what was just read: who
/// keeps one calls [`Delta::into_owned`].
///
/// Deltas are for viewers, who drop them when the call is retried. Only the
/// finished [`Reply`](crate::Reply) is ever kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta<'a> {
    /// More text.
    Text(Cow<'a, str>),
    /// More reasoning (KERN-38).
    Reasoning(Cow<'a, str>),
    /// A tool call begins.
    Call {
        /// Tells this call from the others of the reply.
        index: u64,
        /// The provider's id of the call.
        id: Cow<'a, str>,
        /// Name of the tool.
        name: Cow<'a, str>,
    },
    /// More of a call's arguments, which are not JSON until the reply is whole.
    Arguments {
        /// Index of the call, as in [`Delta::Call`].
        index: u64,
        /// The next piece.
        fragment: Cow<'a, str>,
    },
}

/// Where the pieces of a reply go.
pub type Viewer<'v> = dyn FnMut(Delta<'_>) + Send + 'v;

impl Delta<'_> {
    /// The same piece, to keep.
    pub fn into_owned(self) -> Delta<'static> {
        let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        match self {
            Self::Text(text) => Delta::Text(owned(text)),
            Self::Reasoning(text) => Delta::Reasoning(owned(text)),
            Self::Call { index, id, name } => {
                Delta::Call { index, id: owned(id), name: owned(name) }
            }
            Self::Arguments { index, fragment } => {
                Delta::Arguments { index, fragment: owned(fragment) }
            }
        }
    }
}
