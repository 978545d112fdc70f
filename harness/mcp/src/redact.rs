//! Keeps secrets out of words.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::fmt;

use secrecy::{ExposeSecret as _, SecretString};

/// Shorter values are too common to be a secret, and words would lose their sense.
const SHORTEST: usize = 6;

/// In what a tool returned a shorter value is more often a word than a secret.
const SHORTEST_IN_RESULTS: usize = 8;

/// More of a server's words than this is a page, not a reason.
const WORDS_LIMIT: usize = 600;

/// Said in place of a secret.
const HIDDEN: &str = "***";

/// What may stand before a credential.
const SCHEMES: &[&str] = &["bearer", "basic", "token", "apikey", "digest"];

/// Where a value must not be said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Hide {
    /// In errors and logs: whoever reads them needs no value.
    InWords,
    /// In what tools return as well: it is a credential, and transcripts are kept.
    Everywhere,
}

#[derive(Clone)]
struct Replacement {
    value: SecretString,
    by: String,
    hide: Hide,
}

/// What must not be said, and what is said in its place.
#[derive(Clone, Default)]
pub(crate) struct Redactor {
    replacements: Vec<Replacement>,
}

impl Redactor {
    /// Never to be said: the value, in each form in which a server may repeat it.
    pub(crate) fn hide(&mut self, value: &str, hide: Hide) {
        let value = value.trim();
        self.add(value, HIDDEN, hide);
        if let Some((scheme, credential)) = value.split_once(' ') {
            let is_scheme = SCHEMES.contains(&scheme.to_ascii_lowercase().as_str());
            let hide = if is_scheme { hide } else { Hide::InWords };
            self.add(credential.trim(), HIDDEN, hide);
        }
        // The data of errors are told as JSON.
        let quoted = serde_json::Value::from(value).to_string();
        if let Some(inside) = quoted.get(1..quoted.len() - 1).filter(|inside| *inside != value) {
            self.add(inside, HIDDEN, hide);
            // Standard error is told by its lines.
            value.lines().for_each(|line| self.add(line.trim(), HIDDEN, Hide::InWords));
        }
    }

    /// To be said otherwise in words, such as a URL with credentials in it.
    pub(crate) fn replace(&mut self, value: &str, by: &str) {
        self.add(value, by, Hide::InWords);
    }

    fn add(&mut self, value: &str, by: &str, hide: Hide) {
        if value.len() < SHORTEST || value == by {
            return;
        }
        self.replacements.push(Replacement {
            value: value.to_owned().into(),
            by: by.to_owned(),
            hide,
        });
        // The longest first: a part must not spoil the whole.
        self.replacements.sort_by_key(|one| Reverse(one.value.expose_secret().len()));
    }

    /// The words without secrets.
    pub(crate) fn clean(&self, words: &str) -> String {
        let words = replaced(words.into(), self.replacements.iter());
        self.without_begun(&words).into_owned()
    }

    /// The same, shortly: the beginning, where the reason usually stands.
    pub(crate) fn short(&self, words: &str) -> String {
        // What is cut first may be cut in the middle of a secret, and then nobody knows it.
        let clean = self.clean(words.trim());
        match clean.char_indices().nth(WORDS_LIMIT) {
            Some((end, _)) => format!("{}…", &clean[..end]),
            None => clean,
        }
    }

    /// What a tool returned, without credentials.
    pub(crate) fn clean_result(&self, text: String) -> String {
        let kept_out = self.replacements.iter().filter(|one| {
            one.hide == Hide::Everywhere && one.value.expose_secret().len() >= SHORTEST_IN_RESULTS
        });
        replaced(text.into(), kept_out).into_owned()
    }

    /// The words without a secret whose beginning is their end: whoever gave them may have
    /// cut them there.
    fn without_begun<'a>(&self, words: &'a str) -> Cow<'a, str> {
        let secrets = self.replacements.iter().filter(|one| one.by == HIDDEN);
        let begun = secrets.filter_map(|one| begun(words, one.value.expose_secret())).max();
        match begun {
            Some(bytes) => format!("{}{HIDDEN}", &words[..words.len() - bytes]).into(),
            None => words.into(),
        }
    }
}

fn replaced<'a, 'b>(
    words: Cow<'a, str>,
    replacements: impl Iterator<Item = &'b Replacement>,
) -> Cow<'a, str> {
    replacements.fold(words, |words, Replacement { value, by, hide: _ }| {
        let value = value.expose_secret();
        // A result may have megabytes, and nearly always none of this.
        if words.contains(value) { words.replace(value, by).into() } else { words }
    })
}

/// How many bytes of a secret the words end with, where that is enough to tell.
fn begun(words: &str, secret: &str) -> Option<usize> {
    let longest = secret.len().saturating_sub(1).min(words.len());
    (SHORTEST..=longest)
        .rev()
        .find(|end| secret.get(..*end).is_some_and(|part| words.ends_with(part)))
}

impl fmt::Debug for Redactor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Redactor").field("secrets", &self.replacements.len()).finish()
    }
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use rstest::rstest;

    use super::*;

    fn hiding(value: &str, hide: Hide) -> Redactor {
        let mut redactor = Redactor::default();
        redactor.hide(value, hide);
        redactor
    }

    #[test]
    fn a_secret_is_never_said_with_or_without_its_scheme() {
        let redactor = hiding("Bearer ak_0123456789", Hide::InWords);
        let words = redactor.clean("refused \"Bearer ak_0123456789\"; token ak_0123456789 is old");
        assert_eq!(words, "refused \"***\"; token *** is old");
        assert!(!format!("{redactor:?}").contains("ak_"));
    }

    #[test]
    fn a_value_too_short_to_be_a_secret_leaves_words_alone() {
        assert_eq!(hiding("1", Hide::Everywhere).clean("1 of 10"), "1 of 10");
    }

    #[test]
    fn a_secret_of_lines_is_said_neither_by_a_line_nor_as_json() {
        let secret = "-----BEGIN KEY-----\nMIIEvQIBADAN\n-----END KEY-----";
        let redactor = hiding(secret, Hide::InWords);
        assert_eq!(redactor.clean("bad key | MIIEvQIBADAN | at 7"), "bad key | *** | at 7");
        let json = serde_json::json!({ "key": secret }).to_string();
        assert_eq!(redactor.clean(&json), r#"{"key":"***"}"#);
    }

    #[rstest]
    // Our own cut would fall into the secret.
    #[case(&format!("{} ak_0123456789abcdef", "x".repeat(590)), &format!("{} ***", "x".repeat(590)))]
    // Whoever gave the words cut them there.
    #[case("no such token: ak_0123456", "no such token: ***")]
    #[case("no such token: ak_01", "no such token: ak_01")]
    #[case("no such token: ak_0123456789abcdef", "no such token: ***")]
    fn a_secret_is_not_said_in_part_where_words_are_cut(#[case] words: &str, #[case] told: &str) {
        assert_eq!(hiding("ak_0123456789abcdef", Hide::InWords).short(words), told);
    }

    #[test]
    fn a_page_of_words_is_cut_at_a_character() {
        let cut = Redactor::default().short(&"ü".repeat(5_000));
        assert_eq!(cut.chars().count(), WORDS_LIMIT + 1);
    }

    #[rstest]
    #[case("ak_0123456789", Hide::Everywhere, "got ***")]
    #[case("ak_0123456789", Hide::InWords, "got ak_0123456789")]
    #[case("ak_0123", Hide::Everywhere, "got ak_0123")]
    fn a_result_keeps_all_but_credentials(
        #[case] value: &str,
        #[case] hide: Hide,
        #[case] told: &str,
    ) {
        assert_eq!(hiding(value, hide).clean_result(format!("got {value}")), told);
    }
}
