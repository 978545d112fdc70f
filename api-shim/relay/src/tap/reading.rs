//! Numbers of tokens as the two wires write them.

use foundry_llm::Usage;
use serde_json::Value;

/// OpenAI counts cached tokens among the prompt's; ours are disjoint.
pub(super) fn openai(usage: &Value) -> Option<Usage> {
    let prompt = usage["prompt_tokens"].as_u64();
    let completion = usage["completion_tokens"].as_u64();
    if prompt.is_none() && completion.is_none() {
        return None;
    }
    let cached = usage["prompt_tokens_details"]["cached_tokens"].as_u64().unwrap_or(0);
    Some(Usage {
        input_tokens: prompt.unwrap_or(0).saturating_sub(cached),
        output_tokens: completion.unwrap_or(0),
        cache_read_tokens: cached,
        cache_write_tokens: 0,
        reasoning_tokens: usage["completion_tokens_details"]["reasoning_tokens"]
            .as_u64()
            .unwrap_or(0),
    })
}

/// Each of Anthropic's numbers is a total, and a later one replaces it. Says whether
/// there was any.
pub(super) fn anthropic(usage: &Value, into: &mut Usage) -> bool {
    let mut any = false;
    let mut set = |field: &mut u64, name: &str| {
        if let Some(total) = usage[name].as_u64() {
            *field = total;
            any = true;
        }
    };
    set(&mut into.input_tokens, "input_tokens");
    set(&mut into.output_tokens, "output_tokens");
    set(&mut into.cache_read_tokens, "cache_read_input_tokens");
    set(&mut into.cache_write_tokens, "cache_creation_input_tokens");
    any
}

/// Bytes that the model wrote, for a guess: every text but those that only name
/// things.
pub(super) fn text_bytes(value: &Value) -> u64 {
    match value {
        Value::String(text) => text.len() as u64,
        Value::Array(items) => items.iter().map(text_bytes).sum(),
        Value::Object(fields) => {
            let names_things = |name: &str| matches!(name, "type" | "role" | "id" | "signature");
            fields.iter().filter(|(name, _)| !names_things(name)).map(|(_, v)| text_bytes(v)).sum()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) => 0,
    }
}
