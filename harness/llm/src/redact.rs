//! Takes a key out of words that others wrote (BIND-11): some servers repeat the key that
//! they refuse.

use secrecy::{ExposeSecret, SecretString};

/// Bytes from which on a key is a secret. Servers that want none are called with a word in
/// its place (`x`, `none`, `EMPTY`), and that word also stands where it means itself: taken
/// out of JSON it would leave none, and nothing of what the server said.
const LEAST: usize = 8;

const REDACTED: &str = "[redacted]";

/// Words for a person, without the key.
pub(crate) fn words(words: &str, secret: Option<&SecretString>) -> String {
    match key(secret) {
        Some(key) if key.len() < LEAST => without_word(words, key),
        Some(key) => words.replace(key, REDACTED),
        None => words.to_owned(),
    }
}

/// What is still to be read by a machine, without the key if that is a secret.
pub(crate) fn data(data: &str, secret: Option<&SecretString>) -> String {
    match key(secret).filter(|key| key.len() >= LEAST) {
        Some(key) => data.replace(key, REDACTED),
        None => data.to_owned(),
    }
}

fn key(secret: Option<&SecretString>) -> Option<&str> {
    secret.map(ExposeSecret::expose_secret).filter(|key| !key.is_empty())
}

/// A short key is taken out only where it stands alone.
fn without_word(words: &str, key: &str) -> String {
    let is_inside = |c: char| c.is_alphanumeric() || matches!(c, '_' | '-');
    let mut told = String::with_capacity(words.len());
    let mut end = 0;
    for (at, _) in words.match_indices(key) {
        let after = at + key.len();
        let around = [words[..at].chars().next_back(), words[after..].chars().next()];
        if !around.into_iter().flatten().any(is_inside) {
            told.push_str(&words[end..at]);
            told.push_str(REDACTED);
            end = after;
        }
    }
    told.push_str(&words[end..]);
    told
}

#[cfg(test)]
mod tests;
