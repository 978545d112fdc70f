//! How servers say that a prompt does not fit, and which window they name.

/// Wordings in lower case, each seen at the server named beside it.
const WORDINGS: &[&str] = &[
    "prompt is too long",                     // Anthropic, Amazon Bedrock
    "exceed context limit",                   // Anthropic, with the output cap counted in
    "request_too_large",                      // Anthropic, 413
    "maximum context length",                 // OpenAI, vLLM, OpenRouter, Mistral
    "context_length_exceeded",                // OpenAI and its kin
    "exceeds the context window",             // OpenAI, newer models
    "exceeds the available context size",     // llama.cpp
    "exceed_context_size_error",              // llama.cpp
    "maximum number of tokens allowed",       // Gemini
    "maximum prompt length",                  // xAI
    "reduce the length of the messages",      // Groq
    "input is too long for requested model",  // Amazon Bedrock
    "greater than the context length",        // LM Studio
    "context window exceeds limit",           // MiniMax
    "exceeded model token limit",             // Moonshot
    "exceeds the limit of",                   // GitHub Copilot
    "longer than the model's context length", // SGLang
];

/// Whether a refusal means that the prompt is too long. A limit of tokens *a minute*
/// is another matter, and comes as 429.
pub(crate) fn is_overflow(words: &str) -> bool {
    let words = words.to_lowercase();
    WORDINGS.iter().any(|wording| words.contains(wording))
}

/// The window in tokens, where the words name it.
pub(crate) fn stated_window(words: &str) -> Option<u64> {
    const BEFORE: &[&str] = &[
        "maximum context length is ",
        "context length of only ",
        "maximum number of tokens allowed (",
        "maximum prompt length is ",
        "exceeds the limit of ",
        "available context size (",
        "context limit: ", // "… exceed context limit: 190000 + 20000 > 200000"
        " tokens > ",      // "prompt is too long: 210000 tokens > 200000 maximum"
    ];
    let lower = words.to_lowercase();
    BEFORE.iter().find_map(|before| {
        let rest = &lower[lower.find(before)? + before.len()..];
        let rest = match before {
            &"context limit: " => rest.split_once("> ")?.1,
            _ => rest,
        };
        number(rest)
    })
}

/// A number at the start of a text, written with or without commas.
fn number(text: &str) -> Option<u64> {
    let digits: String = text
        .chars()
        .take_while(|c| c.is_ascii_digit() || *c == ',')
        .filter(char::is_ascii_digit)
        .collect();
    digits.parse().ok()
}
