use pretty_assertions::assert_eq;
use rstest::rstest;

use super::*;

fn secret(key: &str) -> SecretString {
    SecretString::from(key)
}

/// BIND-11
#[test]
fn a_key_that_a_server_repeats_is_taken_out() {
    let said = "HTTP 401: wrong key sk-live-1234";
    let expected = "HTTP 401: wrong key [redacted]";
    assert_eq!(words(said, Some(&secret("sk-live-1234"))), expected);
    assert_eq!(data(said, Some(&secret("sk-live-1234"))), expected);
    assert_eq!(words("axsk-live-1234b", Some(&secret("sk-live-1234"))), "ax[redacted]b");
    for nothing in [None, Some(&secret(""))] {
        assert_eq!(words(said, nothing), said);
        assert_eq!(data(said, nothing), said);
    }
}

/// BIND-11
#[rstest]
#[case("abc", "wrong key abc", "wrong key [redacted]")]
#[case("abc", "abc: abcd, xabc, 'abc'", "[redacted]: abcd, xabc, '[redacted]'")]
#[case("x", "HTTP 400: max context x exceeded", "HTTP 400: max context [redacted] exceeded")]
#[case("é", "né é", "né [redacted]")]
fn a_short_key_is_taken_out_where_it_stands_alone(
    #[case] key: &str,
    #[case] said: &str,
    #[case] expected: &str,
) {
    assert_eq!(words(said, Some(&secret(key))), expected);
    assert_eq!(data(said, Some(&secret(key))), said, "what is yet to be read stays readable");
}
