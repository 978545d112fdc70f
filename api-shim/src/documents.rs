//! Documents: what is known of them is in SQL, their bytes are in a folder of the data
//! folder or in a storage account (CODE-29).

mod account;
mod link;

use std::{path::Path, sync::Arc, time::Duration};

use async_trait::async_trait;
use axum::body::Bytes;
use foundry_store::{DELETED_DOCUMENT, Delivery, Document, NewDocument, Reference, Store};
use jiff::Timestamp;
use object_store::{
    Attribute, Attributes, ObjectStore, ObjectStoreExt, PutOptions, local::LocalFileSystem,
    path::Path as ObjectPath, signer::Signer,
};
use sha2::{Digest, Sha256};

pub use self::{
    account::Account,
    link::{BadLink, Links},
};
use crate::{outbox::Destination, problem::Problem};

/// Folder of the documents' bytes, in the data folder.
const FOLDER: &str = "documents";
/// Container of the bytes in a storage account (CODE-29).
pub const CONTAINER: &str = "agent-storage";
/// How long a link to a document can be used (ROUTE-13).
pub const LINK_LASTS: Duration = Duration::from_mins(5);
/// Longest time that storage may take for one call.
const STORAGE_TIME: Duration = Duration::from_secs(20);

/// What made a coding plan.
const SOURCE: &str = "coding_plan";
/// Form of a plan.
const MARKDOWN: &str = "text/markdown; charset=utf-8";
/// Kind of the reference from a plan to its agent.
const AGENT_REFERENCE: &str = "foundry_agent";
/// What a plan is to its agent.
const PLAN_CATEGORY: &str = "coding-plan";

/// Where the bytes of documents are, and how a reader gets at them.
pub struct Documents {
    bytes: Arc<dyn ObjectStore>,
    readers: Readers,
}

/// How a reader gets at the bytes.
enum Readers {
    /// By this API, which checks its own signature.
    Links(Links),
    /// By the storage account, which checks its own.
    Account(Arc<dyn Signer>),
}

/// Documents cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The folder cannot be used.
    #[error("failed to use folder {path}: {source}; set FOUNDRY_DATA_DIR")]
    Folder {
        /// The folder.
        path: String,
        /// What is wrong with it.
        #[source]
        source: std::io::Error,
    },
    /// The storage account cannot be used.
    #[error(
        "failed to use storage account {account}: {source}; check FOUNDRY_FILE_STORAGE_KEY_FILE"
    )]
    Account {
        /// The account.
        account: String,
        /// What is wrong with it.
        #[source]
        source: account::AccountError,
    },
    /// The key of links in SQL is none.
    #[error("the signing key of document links is unreadable; delete its row in signing_key")]
    Key,
    /// The key of links cannot be kept.
    #[error("{0}")]
    Store(#[source] foundry_store::Error),
    /// No randomness.
    #[error("failed to make a signing key: {0}")]
    Random(#[source] getrandom::Error),
}

impl Documents {
    /// Documents in the data folder, with links that this API signs by a key that every
    /// replica has.
    pub async fn in_folder(
        data_folder: &Path,
        store: &Store,
        now: Timestamp,
    ) -> Result<Self, OpenError> {
        let folder = data_folder.join(FOLDER);
        let path = folder.display().to_string();
        let failed = |source| OpenError::Folder { path: path.clone(), source };
        tokio::fs::create_dir_all(&folder).await.map_err(failed)?;
        let bytes = LocalFileSystem::new_with_prefix(&folder)
            .map_err(|error| failed(std::io::Error::other(error)))?
            .with_automatic_cleanup(true)
            // What a harness was told is stored must be.
            .with_fsync(true);
        let links = Links::open(store, now).await?;
        Ok(Self { bytes: Arc::new(bytes), readers: Readers::Links(links) })
    }

    /// Documents in a storage account, with links that the account signs.
    pub async fn in_account(account: &Account) -> Result<Self, OpenError> {
        let opened = account
            .open()
            .await
            .map_err(|source| OpenError::Account { account: account.name.clone(), source })?;
        let opened = Arc::new(opened);
        Ok(Self { bytes: opened.clone(), readers: Readers::Account(opened) })
    }

    /// What is to be known of a plan. The same text of the same agent is the same
    /// document, so that a repeat stores nothing twice.
    pub fn plan(workspace: &str, agent: &str, uid: &str, markdown: &str) -> NewDocument {
        let sha256 = hex(&Sha256::digest(markdown.as_bytes()));
        let id = document_id(uid, &sha256);
        NewDocument {
            path: format!("{workspace}/{agent}/{id}.md"),
            id,
            source: SOURCE.to_owned(),
            container: CONTAINER.to_owned(),
            content_type: MARKDOWN.to_owned(),
            sha256,
            size_bytes: i64::try_from(markdown.len()).unwrap_or(i64::MAX),
            reference: plan_of(agent),
        }
    }

    /// Stores a document's bytes.
    pub async fn store(&self, document: &NewDocument, bytes: Bytes) -> Result<(), Problem> {
        let options = PutOptions { attributes: self.attributes(document), ..PutOptions::default() };
        let path = ObjectPath::from(document.path.as_str());
        let put = self.bytes.put_opts(&path, bytes.into(), options);
        in_time("store a document", put).await.map(drop)
    }

    /// What an account keeps beside the bytes; a folder keeps nothing.
    fn attributes(&self, document: &NewDocument) -> Attributes {
        let Readers::Account(_) = self.readers else { return Attributes::new() };
        let Reference { kind, id, category } = &document.reference;
        let metadata = |name: &'static str| Attribute::Metadata(name.into());
        [
            (Attribute::ContentType, document.content_type.clone()),
            (metadata("source"), document.source.clone()),
            (metadata("reference_type"), kind.clone()),
            (metadata("reference_id"), id.clone()),
            (metadata("reference_category"), category.clone()),
        ]
        .into_iter()
        .collect()
    }

    /// An address where whoever has it may read the document for a little while
    /// (ROUTE-13). `base` is where this API is reached.
    pub async fn link(
        &self,
        document: &Document,
        base: &str,
        now: Timestamp,
    ) -> Result<(String, Timestamp), Problem> {
        let expires = now + LINK_LASTS;
        match &self.readers {
            Readers::Links(links) => Ok((links.sign(base, &document.id, expires), expires)),
            Readers::Account(signer) => {
                let path = ObjectPath::from(document.path.as_str());
                let url = signer.signed_url(http::Method::GET, &path, LINK_LASTS);
                let url = in_time("sign a document's address", url).await?;
                Ok((url.into(), expires))
            }
        }
    }

    /// The links that this API signs itself, where it does.
    pub fn links(&self) -> Option<&Links> {
        match &self.readers {
            Readers::Links(links) => Some(links),
            Readers::Account(_) => None,
        }
    }

    /// The bytes of a document, as they were stored: a person approves a plan by the
    /// digest of what was stored, so nobody reads anything else.
    pub async fn read(&self, document: &Document) -> Result<Bytes, Problem> {
        let path = ObjectPath::from(document.path.as_str());
        let bytes = async { self.bytes.get(&path).await?.bytes().await };
        let bytes = in_time("read a document", bytes).await?;
        if hex(&Sha256::digest(&bytes)) == document.sha256 {
            return Ok(bytes);
        }
        tracing::error!(document = document.id, "the bytes of a document were changed");
        Err(away("read a document", "its bytes are not those that were stored"))
    }
}

/// How plans name their agent.
pub fn plan_of(agent: &str) -> Reference {
    Reference {
        kind: AGENT_REFERENCE.to_owned(),
        id: agent.to_owned(),
        category: PLAN_CATEGORY.to_owned(),
    }
}

/// An id that a repeat meets again, and that no other agent has, not even a later one
/// of the same name.
fn document_id(uid: &str, sha256: &str) -> String {
    let digest = Sha256::digest(format!("{uid}\n{sha256}"));
    let mut bytes = [0; 16];
    bytes.copy_from_slice(&digest[..16]);
    uuid::Builder::from_custom_bytes(bytes).into_uuid().to_string()
}

fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits.filter_map(|digit| char::from_digit(digit.into(), 16)).collect()
}

fn away(attempted: &str, words: &str) -> Problem {
    Problem::unavailable("StorageUnavailable", format!("failed to {attempted}: {words}"))
        .remedy("try again; if it lasts, look at the API's log and its document storage")
}

async fn in_time<T>(
    attempted: &str,
    call: impl Future<Output = object_store::Result<T>>,
) -> Result<T, Problem> {
    match tokio::time::timeout(STORAGE_TIME, call).await {
        Ok(Ok(value)) => Ok(value),
        Ok(Err(object_store::Error::NotFound { .. })) => {
            tracing::error!(%attempted, "the bytes of a document are gone");
            Err(away(attempted, "its bytes are not where they were stored"))
        }
        Ok(Err(error)) => {
            tracing::error!(%attempted, cause = %error, "document storage does not serve");
            Err(away(attempted, "document storage does not serve"))
        }
        Err(_) => {
            tracing::error!(%attempted, "document storage did not answer in time");
            Err(away(attempted, "document storage did not answer in time"))
        }
    }
}

/// Deletes the bytes of documents whose agent is gone.
pub struct DeletedDocuments(pub Arc<Documents>);

#[async_trait]
impl Destination for DeletedDocuments {
    const TOPIC: &'static str = DELETED_DOCUMENT;
    const LONGEST_WAIT: Duration = Duration::from_mins(5);

    async fn deliver(&self, delivery: &Delivery) -> Result<(), String> {
        let path = delivery.payload["path"].as_str().unwrap_or_default();
        match self.0.bytes.delete(&ObjectPath::from(path)).await {
            Ok(()) | Err(object_store::Error::NotFound { .. }) => Ok(()),
            Err(error) => Err(error.to_string()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// ROUTE-13
    #[test]
    fn the_same_text_of_one_agent_is_one_document_and_of_another_agent_another() {
        let id = document_id("uid-1", "digest");
        assert_eq!(id, document_id("uid-1", "digest"));
        assert_ne!(id, document_id("uid-1", "another digest"));
        assert_ne!(id, document_id("uid-2", "digest"));
        id.parse::<uuid::Uuid>().unwrap();
    }
}
