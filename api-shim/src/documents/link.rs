//! Links to documents that this API signs itself.

use foundry_store::Store;
use hmac::{Hmac, KeyInit, Mac};
use jiff::Timestamp;
use secrecy::{ExposeSecret, SecretBox};
use sha2::Sha256;

use super::{OpenError, hex};

/// What the key is for, as SQL names it.
const PURPOSE: &str = "document-links";
/// Bytes of the key: as many as the block of the digest, so that HMAC takes them as they
/// are.
const KEY: usize = 64;

/// Signs links to documents, and knows its own again.
pub struct Links {
    key: SecretBox<[u8; KEY]>,
}

/// Why a link opens nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BadLink {
    /// It is not one of ours.
    Forged,
    /// Its time is over.
    Expired,
}

impl Links {
    /// Links by the one key that every replica finds in SQL, after a restart too.
    pub async fn open(store: &Store, now: Timestamp) -> Result<Self, OpenError> {
        let mut random = [0; KEY];
        getrandom::fill(&mut random).map_err(OpenError::Random)?;
        let kept = store.signing_key(PURPOSE, &hex(&random), now).await;
        let key = unhex(&kept.map_err(OpenError::Store)?).ok_or(OpenError::Key)?;
        let key: [u8; KEY] = key.try_into().map_err(|_| OpenError::Key)?;
        Ok(Self { key: SecretBox::new(Box::new(key)) })
    }

    /// An address of this document at this API.
    pub fn sign(&self, base: &str, document: &str, expires: Timestamp) -> String {
        let expires = expires.as_second();
        let signature = hex(&self.mac(document, expires).finalize().into_bytes());
        format!("{base}/v1/documents/{document}?expires={expires}&signature={signature}")
    }

    /// Whether the signature is this API's, for this document until then, and it is not
    /// too late. The comparison takes as long for every signature.
    pub fn check(
        &self,
        document: &str,
        expires: i64,
        signature: &str,
        now: Timestamp,
    ) -> Result<(), BadLink> {
        let given = unhex(signature).ok_or(BadLink::Forged)?;
        self.mac(document, expires).verify_slice(&given).map_err(|_| BadLink::Forged)?;
        if now.as_second() >= expires {
            return Err(BadLink::Expired);
        }
        Ok(())
    }

    fn mac(&self, document: &str, expires: i64) -> Hmac<Sha256> {
        let mut mac = Hmac::<Sha256>::new(self.key.expose_secret().into());
        mac.update(format!("GET\n{document}\n{expires}").as_bytes());
        mac
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).and_then(|digit| u8::try_from(digit).ok());
    let (pairs, rest) = text.as_bytes().as_chunks::<2>();
    if !rest.is_empty() {
        return None;
    }
    pairs.iter().map(|[high, low]| Some(digit(*high)? * 16 + digit(*low)?)).collect()
}

#[cfg(test)]
mod tests {
    use pretty_assertions::assert_eq;
    use rstest::rstest;

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn links(byte: u8) -> Links {
        Links { key: SecretBox::new(Box::new([byte; KEY])) }
    }

    fn signature(url: &str) -> String {
        url.rsplit_once("signature=").unwrap().1.to_owned()
    }

    /// ROUTE-13
    #[test]
    fn a_link_opens_its_own_document_until_its_time_is_over() {
        let url = links(1).sign("http://api", "d-1", at(1_000));
        let own = signature(&url);
        assert_eq!(url, format!("http://api/v1/documents/d-1?expires=1000&signature={own}"));
        assert_eq!(links(1).check("d-1", 1_000, &own, at(999)), Ok(()));
        assert_eq!(links(1).check("d-1", 1_000, &own, at(1_000)), Err(BadLink::Expired));
    }

    /// ROUTE-13
    #[rstest]
    #[case::another_document("d-2", 1_000, None)]
    #[case::a_later_end("d-1", 2_000, None)]
    #[case::no_signature("d-1", 1_000, Some(""))]
    #[case::half_a_byte("d-1", 1_000, Some("abc"))]
    #[case::no_hex("d-1", 1_000, Some("zz"))]
    #[case::letters_beyond_ascii("d-1", 1_000, Some("éé"))]
    fn a_link_that_was_changed_opens_nothing(
        #[case] document: &str,
        #[case] expires: i64,
        #[case] other: Option<&str>,
    ) {
        let own = signature(&links(1).sign("http://api", "d-1", at(1_000)));
        let given = other.unwrap_or(&own);
        assert_eq!(links(1).check(document, expires, given, at(1)), Err(BadLink::Forged));
        assert_eq!(links(1).check("d-1", 1_000, &own[..62], at(1)), Err(BadLink::Forged));
        assert_eq!(links(2).check("d-1", 1_000, &own, at(1)), Err(BadLink::Forged));
    }
}
