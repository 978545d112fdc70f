//! Keeps a provider's key out of what a provider says back (BIND-11): some repeat it
//! in the words of a refusal.

use bytes::Bytes;
use secrecy::{ExposeSecret as _, SecretString};

/// Shorter ones are placeholders for servers that want none (`ollama`), and common
/// words must not be struck out of an answer. Keys of providers are longer.
const SHORTEST_KEY: usize = 20;

/// Strikes one key out of a body, whatever its chunks are. Bytes that may be the
/// start of the key wait for the next chunk; all others pass at once.
pub(crate) struct Redactor {
    key: Option<SecretString>,
    held: Vec<u8>,
}

impl Redactor {
    pub(crate) fn new(key: Option<SecretString>) -> Self {
        let key = key.filter(|key| key.expose_secret().len() >= SHORTEST_KEY);
        Self { key, held: Vec::new() }
    }

    /// What of `chunk`, and of what was held back, may pass.
    pub(crate) fn pass(&mut self, chunk: Bytes) -> Bytes {
        let Some(key) = &self.key else { return chunk };
        let key = key.expose_secret().as_bytes();
        if self.held.is_empty() && !contains_start(&chunk, key) {
            return chunk;
        }
        let mut bytes = std::mem::take(&mut self.held);
        bytes.extend_from_slice(&chunk);
        strike_out(&mut bytes, key);
        self.held = bytes.split_off(bytes.len() - length_of_start_at_end(&bytes, key));
        bytes.into()
    }

    /// What is left when the body has ended.
    pub(crate) fn end(&mut self) -> Bytes {
        std::mem::take(&mut self.held).into()
    }

    /// Whether a header's value must not pass.
    pub(crate) fn hides(&self, value: &[u8]) -> bool {
        let key = self.key.as_ref().map(|key| key.expose_secret().as_bytes());
        key.is_some_and(|key| value.windows(key.len()).any(|window| window == key))
    }
}

/// Whether the key, or its start at the end, is in these bytes.
fn contains_start(bytes: &[u8], key: &[u8]) -> bool {
    bytes.windows(key.len()).any(|window| window == key) || length_of_start_at_end(bytes, key) > 0
}

/// Replaces each whole key by as many stars, so that lengths stay as stated.
fn strike_out(bytes: &mut [u8], key: &[u8]) {
    let mut from = 0;
    while let Some(found) = bytes[from..].windows(key.len()).position(|window| window == key) {
        let start = from + found;
        bytes[start..start + key.len()].fill(b'*');
        from = start + key.len();
    }
}

fn length_of_start_at_end(bytes: &[u8], key: &[u8]) -> usize {
    let longest = bytes.len().min(key.len() - 1);
    (1..=longest).rev().find(|length| bytes.ends_with(&key[..*length])).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use proptest::prelude::*;

    use super::*;

    const KEY: &str = "sk-planted-0123456789-planted";

    fn passed(key: &str, chunks: &[&[u8]]) -> Vec<Vec<u8>> {
        let mut redactor = Redactor::new(Some(key.into()));
        let mut all: Vec<Vec<u8>> = chunks
            .iter()
            .map(|chunk| redactor.pass(Bytes::copy_from_slice(chunk)).into())
            .collect();
        all.push(redactor.end().into());
        all
    }

    #[test]
    fn only_what_may_be_the_key_is_held_back() {
        let out = passed(KEY, &[b"data: ok\n\n", b"tail s", b"ilent"]);
        assert_eq!(out, [&b"data: ok\n\n"[..], b"tail ", b"silent", b""]);
    }

    #[test]
    fn a_placeholder_key_strikes_nothing_out() {
        assert_eq!(passed("ollama", &[b"ollama"]), [&b"ollama"[..], b""]);
    }

    proptest! {
        /// BIND-11
        #[test]
        fn a_key_never_passes_however_it_is_cut(
            before in "[a-z-]{0,20}",
            after in "[a-z-]{0,20}",
            size in 1_usize..40,
            times in 1_usize..4,
        ) {
            let body = format!("{before}{}{after}", KEY.repeat(times));
            let chunks: Vec<&[u8]> = body.as_bytes().chunks(size).collect();
            let out = passed(KEY, &chunks).concat();
            let stars = "*".repeat(KEY.len() * times);
            prop_assert_eq!(String::from_utf8(out).unwrap(), format!("{before}{stars}{after}"));
        }
    }
}
