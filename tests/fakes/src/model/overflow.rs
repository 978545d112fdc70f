//! A prompt that is too long, as servers word it, and a window that is enforced.

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::captured::Wire;

/// Whose words say that a prompt is too long. The form of the body is that server's own,
/// whatever the wire.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Overflow {
    /// The wire's own provider.
    #[default]
    Native,
    /// Anthropic, where prompt and output cap together are too much.
    WithCap,
    /// Anthropic's 413 for a body of too many bytes.
    TooLarge,
    /// llama.cpp's server.
    LlamaCpp,
    /// Ollama, which quotes its runner's JSON inside its own.
    Ollama,
    /// vLLM.
    Vllm,
    /// An older vLLM, without an `error` around the words.
    VllmBare,
    /// OpenAI's newer wording, without a number.
    Window,
    /// `OpenRouter`.
    OpenRouter,
    /// Mistral.
    Mistral,
    /// Groq.
    Groq,
    /// Amazon Bedrock.
    Bedrock,
    /// Gemini by its OpenAI-compatible form, which puts the error into a list.
    Gemini,
    /// LM Studio.
    LmStudio,
    /// xAI.
    Xai,
    /// Moonshot.
    Moonshot,
    /// `SGLang`.
    Sglang,
}

/// A small model's window: what a scripted overflow states for a request that would fit it.
const SMALL: (u64, u64) = (9001, 8192);

/// Tokens of a prompt that a script calls too long, and the window that it does not fit: the
/// true count and a little less, so that what is shortened then fits.
pub(super) fn stated(tokens: u64) -> (u64, u64) {
    let (least, window) = SMALL;
    if tokens < least { SMALL } else { (tokens, (tokens - tokens / 16).max(window)) }
}

impl Overflow {
    /// All wordings.
    pub const ALL: [Self; 17] = [
        Self::Native,
        Self::WithCap,
        Self::TooLarge,
        Self::LlamaCpp,
        Self::Ollama,
        Self::Vllm,
        Self::VllmBare,
        Self::Window,
        Self::OpenRouter,
        Self::Mistral,
        Self::Groq,
        Self::Bedrock,
        Self::Gemini,
        Self::LmStudio,
        Self::Xai,
        Self::Moonshot,
        Self::Sglang,
    ];

    pub(super) fn status(self) -> u16 {
        if self == Self::TooLarge { 413 } else { 400 }
    }

    /// The body of the refusal.
    pub(super) fn body(self, wire: Wire, tokens: u64, window: u64) -> Value {
        match (self, wire) {
            (Self::Native, Wire::Anthropic) => anthropic(
                "invalid_request_error",
                &format!("prompt is too long: {tokens} tokens > {window} maximum"),
            ),
            (Self::Native, Wire::OpenAi) => openai(&format!(
                "This model's maximum context length is {window} tokens. However, your messages \
                 resulted in {tokens} tokens. Please reduce the length of the messages."
            )),
            (Self::WithCap, _) => anthropic(
                "invalid_request_error",
                &format!(
                    "input length and `max_tokens` exceed context limit: {tokens} + 1024 > \
                     {window}, decrease input length or `max_tokens` and try again"
                ),
            ),
            (Self::TooLarge, _) => {
                anthropic("request_too_large", "Request exceeds the maximum size")
            }
            (Self::LlamaCpp, _) => llama_cpp(tokens, window),
            (Self::Ollama, _) => json!({"error": {
                "message": llama_cpp(tokens, window).to_string(),
                "type": "invalid_request_error", "param": null, "code": null,
            }}),
            (Self::Vllm, _) => json!({"error": vllm(&vllm_words(tokens, window))}),
            (Self::VllmBare, _) => vllm(&vllm_words(tokens, window)),
            (Self::Window, _) => openai(
                "Your input exceeds the context window of this model. Please adjust your input \
                 and try again.",
            ),
            (Self::OpenRouter, _) => json!({"error": {"code": 400, "message": format!(
                "This endpoint's maximum context length is {window} tokens. However, you \
                 requested about {tokens} tokens ({tokens} of text input). Please reduce the \
                 length of either one, or use the \"middle-out\" transform to compress your \
                 prompt automatically."
            )}}),
            (Self::Mistral, _) => {
                let words = format!(
                    "Prompt contains {tokens} tokens and 0 draft tokens, too large for model \
                     with {window} maximum context length"
                );
                json!({"object": "error", "message": words, "type": "invalid_request_prompt",
                    "param": null, "code": "3051"})
            }
            (Self::Groq, _) => openai("Please reduce the length of the messages or completion."),
            (Self::Bedrock, _) => json!({"message": "Input is too long for requested model."}),
            (Self::Gemini, _) => json!([{"error": {
                "code": 400, "status": "INVALID_ARGUMENT", "message": format!(
                    "The input token count ({tokens}) exceeds the maximum number of tokens \
                     allowed ({window})."
                ),
            }}]),
            (Self::LmStudio, _) => json!({"error": format!(
                "Trying to keep the first {tokens} tokens when context the overflows. However, \
                 the model is loaded with context length of only {window} tokens, which is not \
                 enough. Try to load the model with a larger context length, or provide a \
                 shorter input"
            )}),
            (Self::Xai, _) => json!({
                "code": "Client specified an invalid argument", "error": format!(
                    "This model's maximum prompt length is {window} but the request contains \
                     {tokens} tokens."
                ),
            }),
            (Self::Moonshot, _) => json!({"error": {
                "type": "invalid_request_error", "message": format!(
                    "Invalid request: Your request exceeded model token limit: {window} \
                     (requested: {tokens})"
                ),
            }}),
            (Self::Sglang, _) => vllm(&format!(
                "The input ({tokens} tokens) is longer than the model's context length \
                 ({window} tokens)."
            )),
        }
    }
}

fn anthropic(kind: &str, words: &str) -> Value {
    json!({
        "type": "error", "error": {"type": kind, "message": words}, "request_id": "req_scripted",
    })
}

fn openai(words: &str) -> Value {
    json!({"error": {
        "message": words, "type": "invalid_request_error", "param": "messages",
        "code": "context_length_exceeded",
    }})
}

fn llama_cpp(tokens: u64, window: u64) -> Value {
    json!({"error": {
        "code": 400, "type": "exceed_context_size_error", "n_prompt_tokens": tokens,
        "n_ctx": window, "message": format!(
            "request ({tokens} tokens) exceeds the available context size ({window} tokens), \
             try increasing it"
        ),
    }})
}

fn vllm(words: &str) -> Value {
    json!({
        "object": "error", "message": words, "type": "BadRequestError", "param": null,
        "code": 400,
    })
}

fn vllm_words(tokens: u64, window: u64) -> String {
    format!(
        "This model's maximum context length is {window} tokens. However, you requested {tokens} \
         tokens in the messages. Please reduce the length of the messages."
    )
}

/// A window that is enforced, and what comes of a prompt above it. A token is four bytes of
/// the request's body.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Window {
    pub(super) tokens: u64,
    pub(super) above: Above,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Above {
    Refused(Overflow),
    CutSilently,
    EmptyWithLength,
}

impl Window {
    /// So many tokens; a longer prompt is refused in the words of the wire's own provider.
    pub fn new(tokens: u64) -> Self {
        Self { tokens, above: Above::Refused(Overflow::Native) }
    }

    /// Refuses in these words.
    #[must_use]
    pub fn says(mut self, wording: Overflow) -> Self {
        self.above = Above::Refused(wording);
        self
    }

    /// Says nothing: the prompt is cut, the answer is as ever, and the usage tells of no more
    /// tokens than the window has.
    #[must_use]
    pub fn cuts_silently(mut self) -> Self {
        self.above = Above::CutSilently;
        self
    }

    /// Answers nothing, for a stop reason the output cap: no token of the window is left.
    #[must_use]
    pub fn empty_with_length(mut self) -> Self {
        self.above = Above::EmptyWithLength;
        self
    }
}
