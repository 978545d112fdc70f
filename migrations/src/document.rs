//! What is known of documents; their bytes are in a folder or a storage account.

use jiff::Timestamp;

use crate::coding::{AgentStart, CodingPlan, CodingTask, lock_task, put_task};
use crate::store::{read, write};
use crate::text::{day_before, instant, storable};
use crate::{Error, Store};

/// Topic of the deliveries that name a document whose agent is gone; the payload is
/// `{"container": …, "path": …}`.
pub const DELETED_DOCUMENT: &str = "deleted-document";

/// What a document is to whom.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// Kind of thing that is referred to, `foundry_agent` for one.
    pub kind: String,
    /// Its id.
    pub id: String,
    /// What the document is to it.
    pub category: String,
}

/// A document whose bytes are stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NewDocument {
    /// Its id; the same content of the same agent has the same one.
    pub id: String,
    /// What made it.
    pub source: String,
    /// Container of its bytes.
    pub container: String,
    /// Path of its bytes in the container.
    pub path: String,
    /// Their form.
    pub content_type: String,
    /// Their digest.
    pub sha256: String,
    /// How many there are.
    pub size_bytes: i64,
    /// Whose it is, and as what.
    pub reference: Reference,
}

/// A document.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Document {
    /// Its id.
    pub id: String,
    /// Workspace it belongs to.
    pub namespace: String,
    /// What made it.
    pub source: String,
    /// Container of its bytes.
    pub container: String,
    /// Path of its bytes in the container.
    pub path: String,
    /// Their form.
    pub content_type: String,
    /// Their digest.
    pub sha256: String,
    /// How many there are.
    pub size_bytes: i64,
    /// When it was first stored.
    pub created_at: Timestamp,
}

/// Plans that an agent may store within a day: what it holds in rows and bytes grows no
/// faster, whatever its model does.
pub const MAX_PLANS_A_DAY: i64 = 200;
/// What `MAX_PLANS_A_DAY` counts.
const PLANS: &str = "plans of one day";

// The same text again is no other document.
const COUNT_OTHERS: &str = "\
    SELECT COUNT(*) FROM document WHERE namespace = $1 AND agent = $2 AND agent_uid = $3 \
    AND created_at > $4 AND id <> $5";
const INSERT: &str = "\
    INSERT INTO document (id, namespace, agent, agent_uid, source, container, path, content_type, \
    sha256, size_bytes, created_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) \
    ON CONFLICT (id) DO NOTHING";
const REFER: &str = "\
    INSERT INTO document_reference (document_id, reference_type, reference_id, category) \
    VALUES ($1, $2, $3, $4) ON CONFLICT DO NOTHING";
const GET: &str = "\
    SELECT id, namespace, source, container, path, content_type, sha256, size_bytes, created_at \
    FROM document WHERE id = $1";
const GET_REFERENCED: &str = "\
    SELECT id, namespace, source, container, path, content_type, sha256, size_bytes, created_at \
    FROM document JOIN document_reference ON document_reference.document_id = document.id \
    WHERE document.id = $1 AND namespace = $2 AND reference_type = $3 AND reference_id = $4 \
    AND category = $5";

/// Where the bytes of a document are.
#[derive(sqlx::FromRow)]
pub(crate) struct Place {
    pub(crate) container: String,
    pub(crate) path: String,
}

#[derive(sqlx::FromRow)]
struct DocumentRow {
    id: String,
    namespace: String,
    source: String,
    container: String,
    path: String,
    content_type: String,
    sha256: String,
    size_bytes: i64,
    created_at: i64,
}

impl TryFrom<DocumentRow> for Document {
    type Error = Error;

    fn try_from(row: DocumentRow) -> Result<Self, Error> {
        Ok(Self {
            id: row.id,
            namespace: row.namespace,
            source: row.source,
            container: row.container,
            path: row.path,
            content_type: row.content_type,
            sha256: row.sha256,
            size_bytes: row.size_bytes,
            created_at: instant(row.created_at)?,
        })
    }
}

impl Store {
    /// Whether a plan would be kept now, for its bytes not to be stored when it is not.
    pub async fn check_plan(
        &self,
        start: &AgentStart,
        document: &NewDocument,
        now: Timestamp,
    ) -> Result<(), Error> {
        if let Some(task) = self.coding_task(&start.key, &start.uid).await? {
            task.of(start)?;
        }
        let others: i64 = read!(self, "count plans", pool => sqlx::query_scalar(COUNT_OTHERS)
            .bind(&start.key.namespace)
            .bind(&start.key.agent)
            .bind(&start.uid)
            .bind(day_before(now))
            .bind(&document.id)
            .fetch_one(pool))?;
        CodingTask::check_count(start, PLANS, others, MAX_PLANS_A_DAY)
    }

    /// Keeps what is known of a plan and makes it the newest of its task, both or
    /// neither.
    pub async fn save_plan(
        &self,
        start: &AgentStart,
        document: &NewDocument,
        now: Timestamp,
    ) -> Result<(), Error> {
        let failed = |source| Error::statement("save plan", source);
        write!(self, "save plan", transaction => {
            let mut task = lock_task!(transaction, "save plan", start, now).of(start)?;
            let others: i64 = sqlx::query_scalar(COUNT_OTHERS)
                .bind(&start.key.namespace)
                .bind(&start.key.agent)
                .bind(&start.uid)
                .bind(day_before(now))
                .bind(&document.id)
                .fetch_one(&mut *transaction)
                .await
                .map_err(failed)?;
            CodingTask::check_count(start, PLANS, others, MAX_PLANS_A_DAY)?;
            sqlx::query(INSERT)
                .bind(&document.id)
                .bind(&start.key.namespace)
                .bind(&start.key.agent)
                .bind(&start.uid)
                .bind(&document.source)
                .bind(&document.container)
                .bind(&document.path)
                .bind(&document.content_type)
                .bind(&document.sha256)
                .bind(document.size_bytes)
                .bind(now.as_microsecond())
                .execute(&mut *transaction)
                .await
                .map_err(failed)?;
            sqlx::query(REFER)
                .bind(&document.id)
                .bind(&document.reference.kind)
                .bind(&document.reference.id)
                .bind(&document.reference.category)
                .execute(&mut *transaction)
                .await
                .map_err(failed)?;
            task.plan = Some(CodingPlan {
                document_id: document.id.clone(),
                sha256: document.sha256.clone(),
            });
            put_task!(transaction, "save plan", start, &task, now);
        });
        Ok(())
    }

    /// A document.
    pub async fn document(&self, id: &str) -> Result<Option<Document>, Error> {
        let row: Option<DocumentRow> = read!(self, "read document", pool => sqlx::query_as(GET)
            .bind(storable(id))
            .fetch_optional(pool))?;
        row.map(Document::try_from).transpose()
    }

    /// A document of this workspace, when it is what `reference` says (ROUTE-13).
    pub async fn referenced_document(
        &self,
        namespace: &str,
        id: &str,
        reference: &Reference,
    ) -> Result<Option<Document>, Error> {
        let row: Option<DocumentRow> = read!(self, "read document", pool => {
            sqlx::query_as(GET_REFERENCED)
                .bind(storable(id))
                .bind(namespace)
                .bind(&reference.kind)
                .bind(&reference.id)
                .bind(&reference.category)
                .fetch_optional(pool)
        })?;
        row.map(Document::try_from).transpose()
    }
}
