//! What of a configuration must not be said.

use std::collections::BTreeMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use url::{Url, form_urlencoded};

use crate::redact::{Hide, Redactor};

/// Whether what is called so is a credential. The last word of a name decides: a
/// `TOKEN_FILE` is a path, and `AUTHOR` a person.
pub(super) fn is_credential(name: &str) -> bool {
    const ENDINGS: &[&str] = &[
        "KEY",
        "TOKEN",
        "SECRET",
        "PASSWORD",
        "PASSWD",
        "PASSPHRASE",
        "AUTHORIZATION",
        "CREDENTIAL",
        "COOKIE",
    ];
    const WORDS: &[&str] = &["PASS", "PAT", "AUTH", "DSN"];
    let name = name.to_ascii_uppercase();
    let is_number = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    let mut words = name.rsplit(|letter: char| !letter.is_ascii_alphanumeric());
    words.find(|word| !is_number(word)).is_some_and(|last| {
        WORDS.contains(&last) || ENDINGS.iter().any(|ending| last.ends_with(ending))
    })
}

/// Whether a value was kept out of the file, or is called like one that should be.
pub(super) fn is_secret(variable: &str, text: &str) -> bool {
    const PARTS: &[&str] = &["KEY", "TOKEN", "SECRET", "PASS", "AUTH", "CREDENTIAL", "COOKIE"];
    let variable = variable.to_ascii_uppercase();
    text.contains("${")
        || is_credential(&variable)
        || PARTS.iter().any(|part| variable.contains(part))
}

/// How far a secret variable is kept: by its own name, and by those it is filled in from.
pub(super) fn hide_of(variable: &str, text: &str) -> Hide {
    let mut sources = text.split("${").skip(1).filter_map(|rest| rest.split(['}', ':']).next());
    if is_credential(variable) || sources.any(is_credential) {
        Hide::Everywhere
    } else {
        Hide::InWords
    }
}

/// Hides what a child's environment says by its names, and credentials in URLs such as that
/// of a proxy, which may be the host's own.
pub(super) fn hide_environment(redactor: &mut Redactor, environment: &BTreeMap<String, String>) {
    for (name, value) in environment {
        if is_credential(name) {
            redactor.hide(value, Hide::Everywhere);
        }
        if let Ok(url) = Url::parse(value) {
            hide_user(redactor, &url);
        }
    }
}

/// Hides all that a server's own URL carries beside its place.
pub(super) fn hide_url(redactor: &mut Redactor, url: &Url) {
    hide_user(redactor, url);
    let hide_of = |name: &str| {
        if is_credential(name) { Hide::Everywhere } else { Hide::InWords }
    };
    for (name, value) in url.query_pairs() {
        redactor.hide(&value, hide_of(&name));
    }
    for (name, raw) in url.query().into_iter().flat_map(pairs) {
        redactor.hide(raw, hide_of(name));
    }
    redactor.hide(url.fragment().unwrap_or_default(), Hide::InWords);
}

/// Name and value as they stand in a query.
fn pairs(query: &str) -> impl Iterator<Item = (&str, &str)> {
    query.split('&').map(|pair| pair.split_once('=').unwrap_or((pair, pair)))
}

/// Hides user and password as they stand in a URL, as they are meant, and as they are sent.
fn hide_user(redactor: &mut Redactor, url: &Url) {
    let (user, password) = (url.username(), url.password());
    if user.is_empty() && password.is_none() {
        return;
    }
    // A user without a password is a token.
    let hide = if password.is_some() { Hide::InWords } else { Hide::Everywhere };
    let (meant_user, meant_password) = (decoded(user), decoded(password.unwrap_or_default()));
    let sent = STANDARD.encode(format!("{meant_user}:{meant_password}"));
    redactor.hide(user, hide);
    redactor.hide(&meant_user, hide);
    redactor.hide(password.unwrap_or_default(), Hide::Everywhere);
    redactor.hide(&meant_password, Hide::Everywhere);
    redactor.hide(&sent, Hide::Everywhere);
}

/// The text with its `%40` and the like read. A form's signs mean nothing in it.
fn decoded(text: &str) -> String {
    let text = text.replace('+', "%2B").replace('&', "%26").replace('=', "%3D");
    form_urlencoded::parse(text.as_bytes()).map(|(name, _)| name.into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case("GITHUB_TOKEN", true)]
    #[case("AWS_SECRET_ACCESS_KEY", true)]
    #[case("OPENAI_API_KEY_2", true)]
    #[case("x-api-key", true)]
    #[case("apikey", true)]
    #[case("Authorization", true)]
    #[case("GITHUB_PAT", true)]
    #[case("TOKEN_FILE", false)]
    #[case("GIT_AUTHOR_NAME", false)]
    #[case("SSH_AUTH_SOCK", false)]
    #[case("x-everdict-agent-id", false)]
    #[case("PATH", false)]
    #[case("", false)]
    fn a_name_says_whether_it_is_a_credential(#[case] name: &str, #[case] is: bool) {
        assert_eq!(is_credential(name), is);
    }

    /// BIND-11
    #[rstest]
    #[case("sent p@ss&word+1=x")]
    #[case("sent p%40ss&word+1%3Dx")]
    #[case("sent Basic YW5uLWxlZTpwQHNzJndvcmQrMT14")]
    fn a_password_of_a_url_is_hidden_in_each_form(#[case] words: &str) {
        let url = Url::parse("https://ann-lee:p%40ss&word+1=x@x.test/mcp").unwrap();
        let mut redactor = Redactor::default();
        hide_url(&mut redactor, &url);
        let told = redactor.clean_result(words.to_owned());
        assert!(["sent ***", "sent Basic ***"].contains(&told.as_str()), "{told}");
    }

    /// BIND-11
    #[test]
    fn a_query_that_is_a_key_is_hidden_in_results_and_the_rest_in_words() {
        let url = Url::parse("https://x.test/mcp?project=northwind&api_key=ak%2B0123456").unwrap();
        let mut redactor = Redactor::default();
        hide_url(&mut redactor, &url);
        let words = "northwind ak+0123456 ak%2B0123456";
        assert_eq!(redactor.clean(words), "*** *** ***");
        assert_eq!(redactor.clean_result(words.to_owned()), "northwind *** ***");
    }

    /// BIND-11
    #[test]
    fn a_child_repeats_neither_the_hosts_proxy_password_nor_its_own_keys() {
        let variables = [
            ("HTTPS_PROXY", "http://ann:proxy-word@proxy.test:3128/"),
            ("DATABASE_URL", "postgres://app:base-word@db.test/app"),
            ("NOTES_KEY", "notes-0123456"),
            ("HOME", "/home/ann-lee"),
        ];
        let variables = variables.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let mut redactor = Redactor::default();
        hide_environment(&mut redactor, &BTreeMap::from(variables));
        let told = redactor.clean_result(
            "http://ann:proxy-word@proxy.test base-word notes-0123456 /home/ann-lee".to_owned(),
        );
        assert_eq!(told, "http://ann:***@proxy.test *** *** /home/ann-lee");
    }
}
