//! Tokens, stop reasons and errors as Anthropic writes them.

use serde::Deserialize;

use crate::message::{StopReason, Usage};

/// Anthropic's fields are disjoint already. Each is a total: a later one replaces.
#[derive(Debug, Deserialize)]
#[expect(clippy::struct_field_names, reason = "the names of the wire")]
pub(super) struct WireUsage {
    input_tokens: Option<u64>,
    output_tokens: Option<u64>,
    cache_read_input_tokens: Option<u64>,
    cache_creation_input_tokens: Option<u64>,
}

impl WireUsage {
    pub(super) fn replace_in(self, usage: &mut Usage) {
        let Self {
            input_tokens,
            output_tokens,
            cache_read_input_tokens,
            cache_creation_input_tokens,
        } = self;
        let set = |field: &mut u64, total: Option<u64>| *field = total.unwrap_or(*field);
        set(&mut usage.input_tokens, input_tokens);
        set(&mut usage.output_tokens, output_tokens);
        set(&mut usage.cache_read_tokens, cache_read_input_tokens);
        set(&mut usage.cache_write_tokens, cache_creation_input_tokens);
    }
}

/// An empty word is none.
pub(super) fn stop_reason(word: &str) -> Option<StopReason> {
    Some(match word {
        "" => return None,
        "end_turn" | "stop_sequence" => StopReason::EndTurn,
        "tool_use" => StopReason::ToolUse,
        "max_tokens" => StopReason::MaxTokens,
        "refusal" => StopReason::Refusal,
        other => StopReason::Other(other.to_owned()),
    })
}
