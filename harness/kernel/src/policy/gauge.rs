//! How full the model's window is: an estimate by bytes, corrected by what providers report.

use foundry_llm::Usage;
use serde::{Deserialize, Serialize};

/// Window in tokens where nobody says otherwise (CODE-39).
pub const DEFAULT_WINDOW: u64 = 128_000;

/// Bytes of one token before any usage was reported (CODE-39).
const BYTES_PER_TOKEN: u64 = 4;

/// How many tokens at that rate a report is weighed against: a short prompt, of which much
/// is the provider's own frame, says little about the bytes that come next.
const PRIOR_TOKENS: u64 = 2_000;

/// The sparsest text there is, as runs of blanks: a report of fewer tokens is no count.
const MOST_BYTES_PER_TOKEN: u64 = 16;

/// Tokens that a provider adds to a prompt by itself.
const FRAME_TOKENS: u64 = 5_000;

/// Translates bytes of a request into tokens of a window.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Gauge {
    window: u64,
    known: Option<Known>,
}

/// A request of which the provider said how many tokens it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Known {
    bytes: u64,
    tokens: u64,
}

impl Gauge {
    /// A gauge for a window in tokens.
    pub(crate) fn new(window: u64) -> Self {
        Self { window, known: None }
    }

    /// The window in tokens.
    pub(crate) fn window(&self) -> u64 {
        self.window
    }

    /// Takes a provider's word for a smaller window. A larger one changes nothing: the
    /// setting may hold the window down on purpose.
    pub(crate) fn lower(&mut self, stated: u64) {
        self.window = self.window.min(stated);
    }

    /// Learns from the usage of a request of this size. A provider that reports nothing,
    /// or what cannot be, is not believed further than it can be true.
    pub(crate) fn calibrate(&mut self, bytes: u64, usage: Usage) {
        let Usage {
            input_tokens,
            output_tokens: _,
            cache_read_tokens,
            cache_write_tokens,
            reasoning_tokens: _,
        } = usage;
        let tokens =
            input_tokens.saturating_add(cache_read_tokens).saturating_add(cache_write_tokens);
        if tokens > 0 && bytes > 0 {
            let (least, most) = (bytes / MOST_BYTES_PER_TOKEN, bytes.saturating_add(FRAME_TOKENS));
            self.known = Some(Known { bytes, tokens: tokens.clamp(least.max(1), most) });
        }
    }

    /// About how many tokens a request of this size is: the last reported count, and what
    /// came since at the rate that it showed.
    pub(crate) fn tokens(&self, bytes: u64) -> u64 {
        match self.known {
            None => bytes / BYTES_PER_TOKEN,
            Some(Known { bytes: known, tokens }) if bytes < known => scale(bytes, tokens, known),
            Some(Known { bytes: known, tokens }) => {
                let (per_bytes, per_tokens) = weighed(known, tokens);
                tokens.saturating_add(scale(bytes - known, per_tokens, per_bytes))
            }
        }
    }

    /// About how many bytes make so many tokens: the other way about.
    pub(crate) fn bytes(&self, tokens: u64) -> u64 {
        match self.known {
            None => tokens.saturating_mul(BYTES_PER_TOKEN),
            Some(Known { bytes, tokens: known }) if tokens < known => scale(tokens, bytes, known),
            Some(Known { bytes, tokens: known }) => {
                let (per_bytes, per_tokens) = weighed(bytes, known);
                bytes.saturating_add(scale(tokens - known, per_bytes, per_tokens))
            }
        }
    }

    /// How much of the window a request of this size fills, in per cent, at most 100.
    pub(crate) fn percent(&self, bytes: u64) -> u8 {
        let percent = scale(self.tokens(bytes), 100, self.window.max(1));
        u8::try_from(percent.min(100)).unwrap_or(100)
    }
}

/// The reported rate, weighed against the usual one.
fn weighed(bytes: u64, tokens: u64) -> (u64, u64) {
    let bytes = bytes.saturating_add(PRIOR_TOKENS * BYTES_PER_TOKEN);
    (bytes, tokens.saturating_add(PRIOR_TOKENS))
}

/// `amount * numerator / denominator`, without overflow.
fn scale(amount: u64, numerator: u64, denominator: u64) -> u64 {
    let scaled = u128::from(amount) * u128::from(numerator) / u128::from(denominator.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests;
