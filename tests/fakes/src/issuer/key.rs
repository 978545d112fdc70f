//! The signing key.

use std::fs;
use std::io::Write;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use anyhow::Context;
use aws_lc_rs::rand::SystemRandom;
use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use jsonwebtoken::jwk::{Jwk, PublicKeyUse, ThumbprintHash};
use jsonwebtoken::{Algorithm, EncodingKey, Header};
use serde_json::Value;

/// An ES256 key and its public half.
pub(super) struct Key {
    private: EncodingKey,
    public: Jwk,
    id: String,
}

impl std::fmt::Debug for Key {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Key({})", self.id)
    }
}

impl Key {
    pub(super) fn generate() -> anyhow::Result<Self> {
        Self::of(&new_private_key()?)
    }

    /// The key in this folder; made there when it is the first time.
    pub(super) fn kept_in(folder: &Path) -> anyhow::Result<Self> {
        let file = folder.join("signing-key.der");
        let private = match fs::read(&file) {
            Ok(private) => private,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
                let private = new_private_key()?;
                keep(&file, &private)
                    .with_context(|| format!("failed to keep the key in {}", folder.display()))?;
                private
            }
            Err(error) => {
                return Err(error).with_context(|| format!("failed to read {}", file.display()));
            }
        };
        Self::of(&private).with_context(|| format!("{} holds no key; remove it", file.display()))
    }

    fn of(private: &[u8]) -> anyhow::Result<Self> {
        let private = EncodingKey::from_ec_der(private);
        let mut public = Jwk::from_encoding_key(&private, Algorithm::ES256)?;
        let id = public.thumbprint(ThumbprintHash::SHA256)?;
        public.common.key_id = Some(id.clone());
        public.common.public_key_use = Some(PublicKeyUse::Signature);
        Ok(Self { private, public, id })
    }

    pub(super) fn public(&self) -> &Jwk {
        &self.public
    }

    pub(super) fn sign(&self, claims: &Value) -> anyhow::Result<String> {
        let mut header = Header::new(Algorithm::ES256);
        header.kid = Some(self.id.clone());
        jsonwebtoken::encode(&header, claims, &self.private).context("failed to sign the token")
    }
}

fn new_private_key() -> anyhow::Result<Vec<u8>> {
    let random = SystemRandom::new();
    let document = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &random)
        .map_err(|_| anyhow::anyhow!("failed to make a key"))?;
    Ok(document.as_ref().to_vec())
}

/// Only its owner may read it; and it is never half written.
fn keep(file: &Path, private: &[u8]) -> std::io::Result<()> {
    let beside = file.with_extension("new");
    let mut options = fs::OpenOptions::new();
    let mut handle = options.create(true).truncate(true).write(true).mode(0o600).open(&beside)?;
    handle.write_all(private)?;
    fs::rename(&beside, file)
}
