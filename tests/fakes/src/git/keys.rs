//! Key pairs of the server and of the one client that is let in.

use std::fs;
use std::io::Write as _;
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result};
use russh::keys::ssh_key::LineEnding;
use russh::keys::ssh_key::private::{Ed25519Keypair, Ed25519PrivateKey};
use russh::keys::{PrivateKey, PublicKey};

/// The keys, and the folder that keeps them.
pub(super) struct Keys {
    folder: PathBuf,
    host: PrivateKey,
    other_host: PrivateKey,
    client: PrivateKey,
    client_text: String,
}

impl Keys {
    /// The keys of this folder; those that are not there are made.
    pub(super) fn kept_in(folder: &Path) -> Result<Self> {
        fs::create_dir_all(folder)
            .with_context(|| format!("failed to make the folder {}", folder.display()))?;
        let host = kept(&folder.join("host_key"))?;
        let other_host = kept(&folder.join("other_host_key"))?;
        let client = kept(&folder.join("client_key"))?;
        let public = public_line(client.public_key())?;
        write(&folder.join("client_key.pub"), &format!("{public}\n"), 0o644)?;
        let client_text = text(&client)?;
        Ok(Self { folder: folder.to_owned(), host, other_host, client, client_text })
    }

    /// Writes the `known_hosts` file for this port.
    pub(super) fn write_known_hosts(&self, port: u16) -> Result<()> {
        let line = self.known_hosts_line(port)?;
        write(&self.folder.join("known_hosts"), &format!("{line}\n"), 0o644)
    }

    /// What a client has to know of the true host key.
    pub(super) fn known_hosts_line(&self, port: u16) -> Result<String> {
        Ok(format!("[127.0.0.1]:{port} {}", public_line(self.host.public_key())?))
    }

    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    pub(super) fn host(&self) -> &PrivateKey {
        &self.host
    }

    pub(super) fn other_host(&self) -> &PrivateKey {
        &self.other_host
    }

    pub(super) fn client(&self) -> &PublicKey {
        self.client.public_key()
    }

    /// The client's private key as a file has it.
    pub(super) fn client_text(&self) -> &str {
        &self.client_text
    }
}

fn public_line(key: &PublicKey) -> Result<String> {
    key.to_openssh().context("failed to write a public key")
}

fn text(key: &PrivateKey) -> Result<String> {
    let text = key.to_openssh(LineEnding::LF).context("failed to write a private key")?;
    Ok(text.to_string())
}

/// The key in this file; made there when it is the first time.
fn kept(file: &Path) -> Result<PrivateKey> {
    match fs::read(file) {
        Ok(found) => PrivateKey::from_openssh(&found)
            .with_context(|| format!("{} holds no key; remove it", file.display())),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let key = generate()?;
            write(file, &text(&key)?, 0o600)?;
            Ok(key)
        }
        Err(error) => Err(error).with_context(|| format!("failed to read {}", file.display())),
    }
}

fn generate() -> Result<PrivateKey> {
    let mut seed = [0; Ed25519PrivateKey::BYTE_SIZE];
    aws_lc_rs::rand::fill(&mut seed).map_err(|_| anyhow::anyhow!("failed to make a key"))?;
    Ok(Ed25519Keypair::from_seed(&seed).into())
}

/// Never half written.
fn write(file: &Path, text: &str, mode: u32) -> Result<()> {
    let beside = file.with_extension("new");
    let write = || {
        let mut options = fs::OpenOptions::new();
        let mut handle =
            options.create(true).truncate(true).write(true).mode(mode).open(&beside)?;
        handle.write_all(text.as_bytes())?;
        fs::rename(&beside, file)
    };
    write().with_context(|| format!("failed to write {}", file.display()))
}
