//! What a viewer may see while a reply is still on its way.

/// A piece of a reply that is still streaming.
///
/// Deltas are for viewers, who drop them when the call is retried. Only the
/// finished [`Reply`](crate::Reply) is ever kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Delta {
    /// More text.
    Text(String),
    /// More reasoning (KERN-38).
    Reasoning(String),
    /// A tool call begins.
    Call {
        /// The provider's index of this call or block.
        index: u64,
        /// The provider's id of the call.
        id: String,
        /// Name of the tool.
        name: String,
    },
    /// More of a call's arguments, which are not JSON until the reply is whole.
    Arguments {
        /// Index of the call, as in [`Delta::Call`].
        index: u64,
        /// The next piece.
        fragment: String,
    },
}
