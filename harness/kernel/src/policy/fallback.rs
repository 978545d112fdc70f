//! When another model takes over.

use foundry_llm::LlmError;

use super::ladder::{Capacity, Ladder, is_retryable};

/// The ladder of a run while another model stands by: capacity is waited out without limit
/// (KERN-21) only where nobody else can be asked.
pub(crate) fn ladder(ladder: Ladder, stands_by: bool) -> Ladder {
    let capacity = if stands_by { Capacity::Counted } else { ladder.capacity };
    Ladder { capacity, ..ladder }
}

/// The model that takes over after an error that the ladder gives up on: once a run, and
/// only where another model may do better (KERN-42). A request that is refused for what it
/// is, a wrong key or a spent budget would fail there too.
pub(crate) fn takes_over<'a>(
    error: &LlmError,
    fallback: Option<&'a str>,
    is_taken: bool,
) -> Option<&'a str> {
    fallback.filter(|_| !is_taken && is_retryable(error.kind))
}

#[cfg(test)]
mod tests;
