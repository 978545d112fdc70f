//! Names and tokens that nobody can guess or has used.

use anyhow::{Context, Result};

/// Random bytes as lower-case hexadecimal digits.
pub(crate) fn hex<const BYTES: usize>() -> Result<String> {
    let mut bytes = [0_u8; BYTES];
    getrandom::fill(&mut bytes).context("the system gives no random bytes")?;
    Ok(to_hex(&bytes))
}

/// Bytes as lower-case hexadecimal digits.
pub(crate) fn to_hex(bytes: &[u8]) -> String {
    let digit = |value: u8| char::from_digit(u32::from(value), 16).unwrap_or('0');
    bytes.iter().flat_map(|byte| [digit(byte >> 4), digit(byte & 15)]).collect()
}
