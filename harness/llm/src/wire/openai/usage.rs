//! Tokens as OpenAI and its kin write them.

use serde::Deserialize;

use crate::message::Usage;
use crate::wire::json::Count;

/// OpenAI counts cached tokens among the prompt tokens; ours are disjoint.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct WireUsage {
    prompt_tokens: Count,
    completion_tokens: Count,
    total_tokens: Count,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
    /// `DeepSeek`'s name.
    prompt_cache_hit_tokens: Count,
    /// Moonshot's name.
    cached_tokens: Count,
    /// `LiteLLM`'s names for models of Anthropic.
    cache_read_input_tokens: Count,
    cache_creation_input_tokens: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_field_names, reason = "the names of the wire")]
struct PromptDetails {
    cached_tokens: Count,
    /// `OpenRouter`'s name.
    cache_write_tokens: Count,
    /// `LiteLLM`'s name.
    cache_creation_tokens: Count,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct CompletionDetails {
    reasoning_tokens: Count,
}

impl WireUsage {
    /// Totals: the last ones hold (BIND-05). An object without any number says nothing.
    pub(super) fn replace_in(self, usage: &mut Usage) {
        let Self {
            prompt_tokens: Count(prompt),
            completion_tokens: Count(completion),
            total_tokens: Count(total),
            prompt_tokens_details,
            completion_tokens_details,
            prompt_cache_hit_tokens,
            cached_tokens,
            cache_read_input_tokens,
            cache_creation_input_tokens,
        } = self;
        if prompt.is_none() && completion.is_none() {
            return;
        }
        let details = prompt_tokens_details.unwrap_or_default();
        let read = first([
            details.cached_tokens,
            prompt_cache_hit_tokens,
            cached_tokens,
            cache_read_input_tokens,
        ]);
        let written = first([
            details.cache_write_tokens,
            details.cache_creation_tokens,
            cache_creation_input_tokens,
        ]);
        let prompt = prompt.unwrap_or(0);
        // Some count reasoning into the total and not into the completion.
        let output = completion.unwrap_or(0).max(total.unwrap_or(0).saturating_sub(prompt));
        let reasoning = completion_tokens_details.unwrap_or_default().reasoning_tokens;
        *usage = Usage {
            input_tokens: prompt.saturating_sub(read).saturating_sub(written),
            output_tokens: output,
            cache_read_tokens: read,
            cache_write_tokens: written,
            reasoning_tokens: reasoning.0.unwrap_or(0),
        };
    }
}

/// The first number that is there and says something.
fn first<const N: usize>(counts: [Count; N]) -> u64 {
    counts.into_iter().filter_map(|count| count.0).find(|count| *count > 0).unwrap_or(0)
}
