//! A fresh, empty store on either database.

use foundry_store::{AfterResult, AgentKey, AgentStart, NewDocument, Reference, Store};
use jiff::{SignedDuration, Timestamp};
use tempfile::TempDir;

/// Which database a test runs on.
#[derive(Clone, Copy, Debug)]
pub enum Backend {
    Sqlite,
    Postgres,
}

/// A database of the test's own.
pub struct Fresh {
    pub store: Store,
    pub url: String,
    pub folder: TempDir,
}

impl Backend {
    pub async fn fresh(self) -> Fresh {
        let folder = tempfile::Builder::new().prefix("with blank ").tempdir().unwrap();
        let url = match self {
            Self::Sqlite => format!("sqlite:{}", folder.path().join("foundry.db").display()),
            Self::Postgres => testenv::postgres().await.database().await,
        };
        Fresh { store: Store::open(&url).await.unwrap(), url, folder }
    }

    pub async fn store(self) -> (Store, TempDir) {
        let fresh = self.fresh().await;
        (fresh.store, fresh.folder)
    }
}

pub fn ann() -> AgentKey {
    AgentKey::new("foundry-agents", "ann")
}

pub fn bob() -> AgentKey {
    AgentKey::new("foundry-agents", "bob")
}

/// The same name in another workspace.
pub fn other_ann() -> AgentKey {
    AgentKey::new("elsewhere", "ann")
}

/// An instant `seconds` after the day all tests play on.
pub fn at(seconds: i64) -> Timestamp {
    "2026-03-01T08:00:00Z".parse::<Timestamp>().unwrap() + SignedDuration::from_secs(seconds)
}

/// A start of Ann's, whose agent has one task.
pub fn start(generation: i64) -> AgentStart {
    let after_result = AfterResult::Refuse;
    AgentStart { key: ann(), uid: "uid-1".into(), generation, after_result }
}

/// A plan of Ann's with this digest.
pub fn plan(sha256: &str) -> NewDocument {
    NewDocument {
        id: format!("document-{sha256}"),
        source: "coding_plan".into(),
        container: "agent-storage".into(),
        path: format!("foundry-agents/ann/{sha256}.md"),
        content_type: "text/markdown".into(),
        sha256: sha256.into(),
        size_bytes: 7,
        reference: reference("ann"),
    }
}

pub fn reference(agent: &str) -> Reference {
    Reference { kind: "foundry_agent".into(), id: agent.into(), category: "coding-plan".into() }
}
