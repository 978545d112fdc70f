//! Keeps secrets out of words.

use std::fmt;

use secrecy::{ExposeSecret as _, SecretString};

/// Shorter values are too common to be a secret, and words would lose their sense.
const SHORTEST: usize = 6;

/// What must not be said, and what is said in its place.
#[derive(Clone, Default)]
pub(crate) struct Redactor {
    replacements: Vec<(SecretString, String)>,
}

impl Redactor {
    /// Never to be said: the value, and the part behind a scheme such as `Bearer`.
    pub(crate) fn hide(&mut self, secret: &SecretString) {
        let value = secret.expose_secret().trim();
        self.replace(value, "***");
        if let Some((_, credential)) = value.split_once(' ') {
            self.replace(credential.trim(), "***");
        }
    }

    /// To be said otherwise, such as a URL with credentials in it.
    pub(crate) fn replace(&mut self, value: &str, by: &str) {
        if value.len() >= SHORTEST && value != by {
            self.replacements.push((value.to_owned().into(), by.to_owned()));
            // The longest first: a part must not spoil the whole.
            self.replacements
                .sort_by_key(|(value, _)| std::cmp::Reverse(value.expose_secret().len()));
        }
    }

    /// The words without secrets.
    pub(crate) fn clean(&self, words: &str) -> String {
        self.replacements
            .iter()
            .fold(words.to_owned(), |words, (value, by)| words.replace(value.expose_secret(), by))
    }
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("secrets", &self.replacements.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;

    use super::*;

    #[test]
    fn a_secret_is_never_said_with_or_without_its_scheme() {
        let mut redactor = Redactor::default();
        redactor.hide(&"Bearer ak_0123456789".to_owned().into());
        let words = redactor.clean("refused \"Bearer ak_0123456789\"; token ak_0123456789 is old");
        assert_eq!(words, "refused \"***\"; token *** is old");
        assert!(!format!("{redactor:?}").contains("ak_"));
    }

    #[test]
    fn a_value_too_short_to_be_a_secret_leaves_words_alone() {
        let mut redactor = Redactor::default();
        redactor.hide(&"1".to_owned().into());
        assert_eq!(redactor.clean("1 of 10"), "1 of 10");
    }
}
