//! Tokens and stop reasons as OpenAI writes them.

use serde::Deserialize;

use crate::message::{StopReason, Usage};

/// OpenAI counts cached tokens among the prompt tokens; ours are disjoint.
#[derive(Debug, Deserialize)]
pub(super) struct WireUsage {
    prompt_tokens: Option<u64>,
    completion_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
}

#[derive(Debug, Default, Deserialize)]
struct PromptDetails {
    cached_tokens: Option<u64>,
}

#[derive(Debug, Default, Deserialize)]
struct CompletionDetails {
    reasoning_tokens: Option<u64>,
}

impl From<WireUsage> for Usage {
    fn from(wire: WireUsage) -> Self {
        let cached = wire.prompt_tokens_details.and_then(|all| all.cached_tokens).unwrap_or(0);
        Self {
            input_tokens: wire.prompt_tokens.unwrap_or(0).saturating_sub(cached),
            output_tokens: wire.completion_tokens.unwrap_or(0),
            cache_read_tokens: cached,
            cache_write_tokens: 0,
            reasoning_tokens: wire
                .completion_tokens_details
                .and_then(|all| all.reasoning_tokens)
                .unwrap_or(0),
        }
    }
}

/// An empty word is none: some compatible servers write it into every chunk.
pub(super) fn stop_reason(word: &str) -> Option<StopReason> {
    Some(match word {
        "" => return None,
        "stop" => StopReason::EndTurn,
        "tool_calls" | "function_call" => StopReason::ToolUse,
        "length" => StopReason::MaxTokens,
        "content_filter" => StopReason::Refusal,
        other => StopReason::Other(other.to_owned()),
    })
}
