//! What an agent knows from one evaluation to the next (MEM-01, MEM-02, MEM-04).

use futures::TryStreamExt as _;
use jiff::Timestamp;

use crate::store::{read, write};
use crate::text::{containing, fold, instant, new_id, optional_instant, storable};
use crate::{AgentKey, Error, Page, PageRequest, Store};

/// Most memories one recall gives.
pub const MAX_RECALL: u32 = 50;
/// How many recent, unreviewed memories stand in an agent's thoughts (MEM-02). As
/// many as start a consolidation (MEM-08), so that none falls out unread.
pub const RECENT_WINDOW: u32 = 8;

/// Where a memory stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Tier {
    /// In every prompt.
    Core,
    /// Found by recall.
    Archive,
}

impl Tier {
    /// The tier's word, as stored and on the wire.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Core => "core",
            Self::Archive => "archive",
        }
    }
}

/// Who wrote a memory; what a person wrote, consolidation leaves alone.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Author {
    /// A person, by subject.
    Person(String),
    /// An agent, by id.
    Agent(String),
}

impl Author {
    /// `person` or `agent`.
    pub fn kind(&self) -> &'static str {
        match self {
            Self::Person(_) => "person",
            Self::Agent(_) => "agent",
        }
    }

    /// Subject or agent id.
    pub fn name(&self) -> &str {
        match self {
            Self::Person(name) | Self::Agent(name) => name,
        }
    }
}

/// A memory to keep. The caller decides its tier (MEM-04).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewMemory {
    /// The text.
    pub text: String,
    /// Where it goes.
    pub tier: Tier,
    /// Who wrote it.
    pub author: Author,
}

/// A memory that is kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Memory {
    /// Its id.
    pub id: String,
    /// The text.
    pub text: String,
    /// Where it stands.
    pub tier: Tier,
    /// Who wrote it.
    pub author: Author,
    /// When it was written.
    pub created_at: Timestamp,
    /// When consolidation looked at it.
    pub consolidated_at: Option<Timestamp>,
    /// Consolidation put another in its place.
    pub superseded: bool,
}

/// The rows an agent's thoughts are made of, oldest first (MEM-02).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Thoughts {
    /// The curated core.
    pub core: Vec<Memory>,
    /// The newest [`RECENT_WINDOW`] archive rows that consolidation has not seen.
    pub recent: Vec<Memory>,
}

const INSERT: &str = "\
    INSERT INTO agent_memory \
    (namespace, agent, id, text, search_text, tier, author_kind, author, created_at) \
    VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)";
const LIST: &str = "\
    SELECT id, text, search_text, tier, author_kind, author, created_at, consolidated_at, superseded \
    FROM agent_memory \
    WHERE namespace = $1 AND agent = $2 AND (created_at, id) < ($3, $4) AND ($6 = '' OR tier = $6) \
    ORDER BY created_at DESC, id DESC LIMIT $5";
const CONTAINING: &str = "\
    SELECT id, text, search_text, tier, author_kind, author, created_at, consolidated_at, superseded \
    FROM agent_memory \
    WHERE namespace = $1 AND agent = $2 AND search_text LIKE $3 ESCAPE '\\' \
    ORDER BY created_at DESC, id DESC";
const CORE: &str = "\
    SELECT id, text, search_text, tier, author_kind, author, created_at, consolidated_at, superseded \
    FROM agent_memory \
    WHERE namespace = $1 AND agent = $2 AND tier = 'core' AND NOT superseded \
    ORDER BY created_at, id";
const RECENT: &str = "\
    SELECT id, text, search_text, tier, author_kind, author, created_at, consolidated_at, superseded \
    FROM agent_memory \
    WHERE namespace = $1 AND agent = $2 AND tier = 'archive' AND consolidated_at IS NULL \
    AND NOT superseded \
    ORDER BY created_at DESC, id DESC LIMIT $3";
const DELETE: &str = "DELETE FROM agent_memory WHERE namespace = $1 AND agent = $2 AND id = $3";
const PURGE: &str = "DELETE FROM agent_memory WHERE namespace = $1 AND agent = $2";

#[derive(sqlx::FromRow)]
struct MemoryRow {
    id: String,
    text: String,
    search_text: String,
    tier: String,
    author_kind: String,
    author: String,
    created_at: i64,
    consolidated_at: Option<i64>,
    superseded: bool,
}

impl TryFrom<MemoryRow> for Memory {
    type Error = Error;

    fn try_from(row: MemoryRow) -> Result<Self, Error> {
        Ok(Self {
            id: row.id,
            text: row.text,
            tier: match row.tier.as_str() {
                "core" => Tier::Core,
                "archive" => Tier::Archive,
                _ => return Err(Error::Unreadable { what: "memory tier" }),
            },
            author: match row.author_kind.as_str() {
                "person" => Author::Person(row.author),
                "agent" => Author::Agent(row.author),
                _ => return Err(Error::Unreadable { what: "memory author" }),
            },
            created_at: instant(row.created_at)?,
            consolidated_at: optional_instant(row.consolidated_at)?,
            superseded: row.superseded,
        })
    }
}

impl Store {
    /// Keeps a memory.
    pub async fn remember(
        &self,
        key: &AgentKey,
        memory: NewMemory,
        now: Timestamp,
    ) -> Result<Memory, Error> {
        let memory = Memory {
            id: new_id(now),
            text: storable(&memory.text).into_owned(),
            tier: memory.tier,
            author: memory.author,
            created_at: instant(now.as_microsecond())?,
            consolidated_at: None,
            superseded: false,
        };
        write!(self, "remember", transaction => {
            sqlx::query(INSERT)
                .bind(&key.namespace)
                .bind(&key.agent)
                .bind(&memory.id)
                .bind(&memory.text)
                .bind(fold(&memory.text))
                .bind(memory.tier.as_str())
                .bind(memory.author.kind())
                .bind(storable(memory.author.name()))
                .bind(memory.created_at.as_microsecond())
                .execute(&mut *transaction)
                .await
                .map_err(|source| Error::statement("remember", source))?;
        });
        Ok(memory)
    }

    /// Lists the agent's memories, of one tier or of both, newest first.
    pub async fn list_memories(
        &self,
        key: &AgentKey,
        tier: Option<Tier>,
        request: &PageRequest,
    ) -> Result<Page<Memory>, Error> {
        let place = request.place()?;
        let rows: Vec<MemoryRow> = read!(self, "list memories", pool => sqlx::query_as(LIST)
            .bind(&key.namespace)
            .bind(&key.agent)
            .bind(place.micros)
            .bind(&place.id)
            .bind(request.rows_to_read())
            .bind(tier.map_or("", Tier::as_str))
            .fetch_all(pool))?;
        Ok(request.page(memories(rows)?, |memory| (memory.created_at, &memory.id)))
    }

    /// Finds memories that contain every word of `query`, in any case and order,
    /// newest first. A query without words gives the newest memories.
    pub async fn recall(
        &self,
        key: &AgentKey,
        query: &str,
        limit: u32,
    ) -> Result<Vec<Memory>, Error> {
        let query = fold(&storable(query));
        let words: Vec<&str> = query.split_whitespace().collect();
        let limit = limit.clamp(1, MAX_RECALL) as usize;
        // The longest word narrows most, so the database looks for that one; the
        // others are looked for here, for a statement has a fixed number of arguments.
        let longest = words.iter().copied().max_by_key(|word| word.len()).unwrap_or_default();
        let pattern = containing(longest);
        let rows = read!(self, "recall", pool => async {
            let mut found = Vec::new();
            let mut rows = sqlx::query_as::<_, MemoryRow>(CONTAINING)
                .bind(&key.namespace)
                .bind(&key.agent)
                .bind(&pattern)
                .fetch(pool);
            while let Some(row) = rows.try_next().await? {
                if words.iter().all(|word| row.search_text.contains(word)) {
                    found.push(row);
                }
                if found.len() == limit {
                    break;
                }
            }
            Ok::<_, sqlx::Error>(found)
        })?;
        memories(rows)
    }

    /// The rows that the agent's thoughts are made of (MEM-02).
    pub async fn thoughts_rows(&self, key: &AgentKey) -> Result<Thoughts, Error> {
        let core: Vec<MemoryRow> = read!(self, "read thoughts", pool => sqlx::query_as(CORE)
            .bind(&key.namespace)
            .bind(&key.agent)
            .fetch_all(pool))?;
        let mut recent: Vec<MemoryRow> = read!(self, "read thoughts", pool => sqlx::query_as(RECENT)
            .bind(&key.namespace)
            .bind(&key.agent)
            .bind(i64::from(RECENT_WINDOW))
            .fetch_all(pool))?;
        recent.reverse();
        Ok(Thoughts { core: memories(core)?, recent: memories(recent)? })
    }

    /// Deletes one memory; says whether it was there.
    pub async fn delete_memory(&self, key: &AgentKey, id: &str) -> Result<bool, Error> {
        let deleted = write!(self, "delete memory", transaction => {
            sqlx::query(DELETE)
                .bind(&key.namespace)
                .bind(&key.agent)
                .bind(storable(id))
                .execute(&mut *transaction)
                .await
                .map_err(|source| Error::statement("delete memory", source))?
                .rows_affected()
        });
        Ok(deleted > 0)
    }

    /// Deletes all memories of the agent; says how many there were.
    pub async fn purge_memories(&self, key: &AgentKey) -> Result<u64, Error> {
        Ok(write!(self, "purge memories", transaction => {
            sqlx::query(PURGE)
                .bind(&key.namespace)
                .bind(&key.agent)
                .execute(&mut *transaction)
                .await
                .map_err(|source| Error::statement("purge memories", source))?
                .rows_affected()
        }))
    }
}

fn memories(rows: Vec<MemoryRow>) -> Result<Vec<Memory>, Error> {
    rows.into_iter().map(Memory::try_from).collect()
}
