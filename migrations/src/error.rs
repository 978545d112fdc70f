//! What can go wrong with the store, said so that a person knows what to do.

use std::fmt;

use sqlx::migrate::MigrateError;
use uuid::Uuid;

/// Who can do something about an error.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Class {
    /// It may pass by itself: try again later.
    Transient,
    /// The caller or the person who runs the store must change something.
    Refused,
    /// A mistake of ours.
    Bug,
}

/// Everything the store can answer with instead of what was asked.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The database URL names no database we can open.
    #[error("database url {reason}; use sqlite:<path> or postgres://user@host/name")]
    Url {
        /// What is wrong with it; never the URL, which may hold a password.
        reason: &'static str,
    },
    /// The folder of the SQLite file is not there.
    #[error("folder {folder} does not exist; create it, or point the database at another path")]
    MissingFolder {
        /// The folder.
        folder: String,
    },
    /// The database would not open.
    #[error("failed to open database {database}: {problem}")]
    Open {
        /// File, or host and name; never a password.
        database: String,
        /// What is the matter.
        problem: Problem,
        /// The driver's words.
        #[source]
        source: Option<sqlx::Error>,
    },
    /// The schema was made by a newer Foundry.
    #[error(
        "database {database} has schema version {version}, which this binary does not know; \
         run the newer foundry, or restore a backup from before its upgrade"
    )]
    NewerSchema {
        /// File, or host and name.
        database: String,
        /// The first version this binary does not know.
        version: i64,
    },
    /// A migration did not go through; the database is as it was before.
    #[error("failed to migrate database {database}: {problem}")]
    Migrate {
        /// File, or host and name.
        database: String,
        /// What is the matter.
        problem: Problem,
        /// The driver's words.
        #[source]
        source: Box<MigrateError>,
    },
    /// A statement failed; nothing of its transaction was kept.
    #[error("failed to {doing}: {problem}")]
    Statement {
        /// What was being done, as `append log events`.
        doing: &'static str,
        /// What is the matter.
        problem: Problem,
        /// The driver's words.
        #[source]
        source: sqlx::Error,
    },
    /// A call asked for more than its named limit.
    #[error("{given} {what} in one call; the limit is {limit}")]
    TooMany {
        /// Of what.
        what: &'static str,
        /// How many came.
        given: usize,
        /// How many may come.
        limit: usize,
    },
    /// A page cursor that this store did not hand out.
    #[error("cursor is not one of this list; start again without a cursor")]
    Cursor,
    /// A run names a wake that its agent never had.
    #[error("wake {id} is not in the inbox of agent {agent}; send the run without wake_id")]
    UnknownWake {
        /// The wake.
        id: String,
        /// The agent.
        agent: String,
    },
    /// A harness speaks of a start that is over.
    #[error(
        "start {generation} of agent {agent} is over, for a later one has begun; end this process"
    )]
    Superseded {
        /// The agent.
        agent: String,
        /// The start.
        generation: i64,
    },
    /// A harness goes on after the result of its one task.
    #[error("the task of agent {agent} has ended with a result; restart the agent to begin again")]
    TaskEnded {
        /// The agent.
        agent: String,
    },
    /// The plan that is spoken of is not the newest one.
    #[error(
        "this is not the newest plan of agent {agent}; read the newest one and give its digest"
    )]
    PlanChanged {
        /// The agent.
        agent: String,
    },
    /// There is no such question.
    #[error("there is no question {id}; list the questions that wait for an answer")]
    UnknownQuestion {
        /// The question.
        id: Uuid,
    },
    /// Nobody waits for an answer to the question any more.
    #[error("question {id} is closed; list the questions that wait for an answer")]
    QuestionClosed {
        /// The question.
        id: Uuid,
    },
    /// The question has its one answer, and it says something else.
    #[error("question {id} is already answered; read its answer in the agent's log")]
    AlreadyAnswered {
        /// The question.
        id: Uuid,
    },
    /// An agent has made all it may for now.
    #[error("agent {agent} has {limit} {what}, and may have no more; go on without, or wait")]
    LimitReached {
        /// The agent.
        agent: String,
        /// Of what.
        what: &'static str,
        /// How many it may have.
        limit: i64,
    },
    /// A stored value that this version cannot read.
    #[error("stored {what} cannot be read; was it written by another version?")]
    Unreadable {
        /// Which column.
        what: &'static str,
    },
}

impl Error {
    pub(crate) fn open(database: String, source: sqlx::Error) -> Self {
        Self::Open { database, problem: Problem::of(&source), source: Some(source) }
    }

    pub(crate) fn migrate(database: String, source: MigrateError) -> Self {
        match source {
            // An applied migration that is unknown here was made by a newer binary.
            MigrateError::VersionMissing(version) => Self::NewerSchema { database, version },
            source => {
                let problem = match &source {
                    MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => {
                        Problem::of(error)
                    }
                    _ => Problem::Other,
                };
                Self::Migrate { database, problem, source: Box::new(source) }
            }
        }
    }

    pub(crate) fn statement(doing: &'static str, source: sqlx::Error) -> Self {
        Self::Statement { doing, problem: Problem::of(&source), source }
    }

    /// Who can do something about it.
    pub fn class(&self) -> Class {
        match self {
            Self::Open { problem, .. }
            | Self::Migrate { problem, .. }
            | Self::Statement { problem, .. } => problem.class(),
            Self::Url { .. }
            | Self::MissingFolder { .. }
            | Self::NewerSchema { .. }
            | Self::TooMany { .. }
            | Self::Cursor
            | Self::UnknownWake { .. }
            | Self::Superseded { .. }
            | Self::TaskEnded { .. }
            | Self::PlanChanged { .. }
            | Self::UnknownQuestion { .. }
            | Self::QuestionClosed { .. }
            | Self::AlreadyAnswered { .. }
            | Self::LimitReached { .. } => Class::Refused,
            Self::Unreadable { .. } => Class::Bug,
        }
    }

    /// One stable word for metrics and conditions.
    pub fn category(&self) -> &'static str {
        match self {
            Self::Url { .. } => "BadDatabaseUrl",
            Self::MissingFolder { .. } => "MissingFolder",
            Self::NewerSchema { .. } => "NewerSchema",
            Self::TooMany { .. } => "TooMany",
            Self::Cursor => "BadCursor",
            Self::UnknownWake { .. } => "UnknownWake",
            Self::Superseded { .. } => "Superseded",
            Self::TaskEnded { .. } => "TaskEnded",
            Self::PlanChanged { .. } => "PlanChanged",
            Self::UnknownQuestion { .. } => "UnknownQuestion",
            Self::QuestionClosed { .. } => "QuestionClosed",
            Self::AlreadyAnswered { .. } => "AlreadyAnswered",
            Self::LimitReached { .. } => "LimitReached",
            Self::Unreadable { .. } => "UnreadableRow",
            Self::Open { problem, .. }
            | Self::Migrate { problem, .. }
            | Self::Statement { problem, .. } => problem.category(),
        }
    }
}

/// What is the matter with a database, as far as its answer tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Problem {
    /// No space, or a file-size limit.
    Full,
    /// The file is damaged.
    Corrupt,
    /// The file is something else.
    NotADatabase,
    /// The file or its folder may not be read or written.
    Denied,
    /// The server does not answer, or is no longer asked.
    Unreachable,
    /// The server knows neither this user nor this database, or not this password.
    Login,
    /// Another writer holds the database, or all connections are in use.
    Busy,
    /// Anything else.
    Other,
}

impl Problem {
    fn class(self) -> Class {
        match self {
            Self::Full | Self::Unreachable | Self::Busy => Class::Transient,
            Self::Corrupt | Self::NotADatabase | Self::Denied | Self::Login => Class::Refused,
            Self::Other => Class::Bug,
        }
    }

    fn category(self) -> &'static str {
        match self {
            Self::Full => "DiskFull",
            Self::Corrupt => "DatabaseCorrupt",
            Self::NotADatabase => "NotADatabase",
            Self::Denied => "DatabaseDenied",
            Self::Unreachable => "DatabaseUnreachable",
            Self::Login => "DatabaseLogin",
            Self::Busy => "DatabaseBusy",
            Self::Other => "DatabaseError",
        }
    }

    pub(crate) fn of(error: &sqlx::Error) -> Self {
        match error {
            sqlx::Error::Database(database) => {
                let code = database.code().unwrap_or_default();
                if database.try_downcast_ref::<sqlx::sqlite::SqliteError>().is_some() {
                    code.parse().map_or(Self::Other, Self::of_sqlite_code)
                } else {
                    Self::of_sql_state(&code)
                }
            }
            sqlx::Error::PoolTimedOut => Self::Busy,
            // A closed pool is this process at its end; another one may serve.
            sqlx::Error::Io(_)
            | sqlx::Error::Tls(_)
            | sqlx::Error::WorkerCrashed
            | sqlx::Error::PoolClosed => Self::Unreachable,
            _ => Self::Other,
        }
    }

    /// SQLite result codes; the low byte is the primary code.
    fn of_sqlite_code(code: i32) -> Self {
        // What a file-size limit looks like, to the file and to its shared memory.
        const IOERR_WRITE: i32 = 778;
        const IOERR_SHMSIZE: i32 = 4874;
        match (code, code & 0xff) {
            (IOERR_WRITE | IOERR_SHMSIZE, _) | (_, 13) => Self::Full,
            (_, 5 | 6) => Self::Busy,
            (_, 11) => Self::Corrupt,
            (_, 26) => Self::NotADatabase,
            (_, 3 | 8 | 14 | 23) => Self::Denied,
            _ => Self::Other,
        }
    }

    /// PostgreSQL SQLSTATEs.
    fn of_sql_state(state: &str) -> Self {
        match state {
            "53100" => Self::Full,
            "3D000" | "28000" | "28P01" => Self::Login,
            "42501" => Self::Denied,
            "53300" | "40001" | "40P01" | "55P03" | "57014" => Self::Busy,
            "57P01" | "57P02" | "57P03" => Self::Unreachable,
            "XX001" | "XX002" => Self::Corrupt,
            _ if state.starts_with("08") => Self::Unreachable,
            _ => Self::Other,
        }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Full => "the disk is full, or a file-size limit is reached; free some space",
            Self::Corrupt => {
                "the database is damaged; restore a backup, or move the file away to start empty"
            }
            Self::NotADatabase => {
                "the file is not a SQLite database; move it away, or name another file"
            }
            Self::Denied => {
                "access is denied; let this user read and write the database and its folder"
            }
            Self::Unreachable => "the database server does not answer; check that it runs",
            Self::Login => "the server refuses this user, password or database name",
            Self::Busy => "the database is busy; try again in a moment",
            Self::Other => "the database refused it",
        })
    }
}
