//! The digest by which a plan is approved.

use sha2::{Digest, Sha256};

/// SHA-256 of a text's UTF-8 bytes, in lower-case hex.
pub fn sha256(text: &str) -> String {
    let nibbles = Sha256::digest(text).into_iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    nibbles.filter_map(|nibble| char::from_digit(nibble.into(), 16)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// CODE-31
    #[test]
    fn a_digest_is_what_sha256sum_prints() {
        assert_eq!(
            sha256("abc"),
            "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
        );
    }
}
