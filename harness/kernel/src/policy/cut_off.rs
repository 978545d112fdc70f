//! Arguments that are not whole are never run and never mended.

use foundry_llm::{StopReason, ToolCall};
use serde_json::{Map, Value};

use super::truncate::prefix;

/// Bytes of unreadable arguments that are shown back to the model.
const SHOWN_BYTES: usize = 400;

/// What a model reads of calls that came in a cut reply.
const OUTPUT_LIMIT: &str = "your reply was cut off by the output limit, so none of its calls was \
    run. Make the call again in a shorter reply";

/// The arguments of a call, or why it is not run, in words for the model.
///
/// A reply cut by the output limit runs none of its calls, whole as one may look: what
/// the model meant to do with the missing ones is not known. Other cut-offs are found
/// by parsing, for the label cannot be trusted. Empty arguments mean none.
pub(crate) fn arguments(stop: &StopReason, call: &ToolCall) -> Result<Map<String, Value>, String> {
    match stop {
        StopReason::MaxTokens => return Err(OUTPUT_LIMIT.to_owned()),
        StopReason::Refusal => return Err("the reply it was part of is a refusal".to_owned()),
        StopReason::EndTurn | StopReason::ToolUse | StopReason::Other(_) => {}
    }
    if call.arguments.trim().is_empty() {
        return Ok(Map::new());
    }
    let cause = match serde_json::from_str(&call.arguments) {
        Ok(Value::Object(arguments)) => return Ok(arguments),
        Ok(_) => "they are valid JSON but no object".to_owned(),
        Err(error) => error.to_string(),
    };
    let shown = prefix(&call.arguments, SHOWN_BYTES);
    Err(format!("the arguments are not a complete JSON object ({cause}). Received: {shown}"))
}

#[cfg(test)]
mod tests;
