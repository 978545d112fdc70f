//! How servers say that a prompt does not fit, and which window they name.

/// Wordings in lower case, each seen at the server named beside it. All parts of one
/// must be there.
const WORDINGS: &[&[&str]] = &[
    &["prompt is too long"],             // Anthropic, Bedrock, Vertex, Fireworks
    &["exceed context limit"],           // Anthropic, with the output cap counted in
    &["request_too_large"],              // Anthropic, 413
    &["context_length_exceeded"],        // OpenAI and its kin
    &["string_above_max_length"],        // OpenAI, one huge message
    &["exceeds the context window"],     // OpenAI, newer models
    &["exceed the configured limit of"], // OpenAI, input beside output limit
    &["maximum context length"],         // OpenAI, vLLM, SGLang, OpenRouter, Mistral
    &["maximum model length"],           // vLLM, engine
    &["max_tokens must be at least 1, got -"], // vLLM, no room left for an answer
    &["exceeds the available context size"], // llama.cpp
    &["exceed_context_size_error"],      // llama.cpp
    &["prompt too long"],                // Ollama
    &["exceeded max context length"],    // Ollama
    &["input length exceeds", "context length"], // Ollama
    &["greater than the context length"], // LM Studio
    &["context the overflows"],          // LM Studio, sic
    &["context length of only"],         // LM Studio
    &["input token count", "exceeds the maximum"], // Gemini, Vertex
    &["maximum prompt length"],          // xAI
    &["reduce the length of the messages"], // Groq, Cerebras
    &["reduce the length of the input"], // Groq
    &["input is too long for requested model"], // Bedrock
    &["input is too long"],              // Bedrock, Cohere
    &["too large for model with"],       // Mistral
    &["token count of", "exceeds the limit of"], // GitHub Copilot
    &["context window exceeds limit"],   // MiniMax
    &["context window exceeded"],        // LiteLLM
    &["contextwindowexceedederror"],     // LiteLLM
    &["model_context_window_exceeded"],  // z.ai
    &["exceeded model token limit"],     // Moonshot
    &["longer than the model's context length"], // SGLang, Together
    &["maximum allowed input length"],   // OpenRouter's own hosts
    &["range of input length should be"], // DashScope
    &["`inputs` must have less than"],   // text-generation-inference
    &["max_new_tokens` must be <="],     // text-generation-inference, Together
    &["number of tokens in the prompt cannot exceed"], // Cohere
    &["token limit exceeded"],           // gateways
];

/// What a limit *in time* is called. It says nothing of the window, though it speaks of
/// tokens, and of too many.
const RATES: &[&str] = &[
    "per min",
    "per day",
    "per hour",
    "per second",
    "/min",
    "(tpm)",
    "(tpd)",
    "rate limit",
    "rate_limit",
    "ratelimit",
    "too many requests",
    "quota",
    "throttl",
    "please wait before",
];

/// Whether a refusal means that the prompt is too long.
pub(crate) fn is_overflow(words: &str) -> bool {
    let words = words.to_lowercase();
    let fits = |parts: &&[&str]| parts.iter().all(|part| words.contains(part));
    !is_rate(&words) && WORDINGS.iter().any(fits)
}

/// Whether the words are about a limit in time.
pub(crate) fn is_rate(words: &str) -> bool {
    let words = words.to_lowercase();
    RATES.iter().any(|rate| words.contains(rate))
}

/// The window in tokens, where the words name it.
pub(crate) fn stated_window(words: &str) -> Option<u64> {
    const BEFORE: &[&str] = &[
        "n_ctx ", // llama.cpp, in a field of its own
        "maximum context length is ",
        "maximum context length of ",
        "maximum context length (",
        "maximum context length: ",
        "model's context length (",
        "maximum model length of ",
        "context length of only ",
        "too large for model with ",
        "maximum number of tokens allowed (",
        "maximum prompt length is ",
        "maximum allowed input length of ",
        "configured limit of ",
        "exceeds the limit of ",
        "model token limit: ",
        "available context size (",
        "range of input length should be [1, ",
        "must have less than ",
        "max_new_tokens` must be <= ",
        "prompt cannot exceed ",
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
        number(rest).filter(|window| *window > 0)
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
