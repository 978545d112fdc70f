//! Tokens as Anthropic writes them.

use serde::Deserialize;

use crate::message::Usage;
use crate::wire::json::Count;

/// Anthropic's fields are disjoint already. Each is a total: a later one replaces.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_field_names, reason = "the names of the wire")]
pub(super) struct WireUsage {
    input_tokens: Count,
    output_tokens: Count,
    cache_read_input_tokens: Count,
    cache_creation_input_tokens: Count,
}

impl WireUsage {
    /// BIND-05
    pub(super) fn replace_in(self, usage: &mut Usage) {
        let Self {
            input_tokens,
            output_tokens,
            cache_read_input_tokens,
            cache_creation_input_tokens,
        } = self;
        // Gateways fill in nothing where they know nothing; no true total shrinks to it.
        let set = |field: &mut u64, total: Count| {
            *field = total.0.filter(|total| *total > 0).unwrap_or(*field);
        };
        set(&mut usage.input_tokens, input_tokens);
        set(&mut usage.output_tokens, output_tokens);
        set(&mut usage.cache_read_tokens, cache_read_input_tokens);
        set(&mut usage.cache_write_tokens, cache_creation_input_tokens);
    }
}
