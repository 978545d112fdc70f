-- What Foundry remembers. One schema for PostgreSQL and SQLite: ids and JSON are
-- TEXT, instants are BIGINT microseconds since 1970 in UTC, and nothing here uses a
-- word that only one of the two knows. JSON is opaque to SQL on purpose: jsonb
-- refuses U+0000, which tool output may contain, and reorders keys.

-- MEM-01: one memory, one row.
CREATE TABLE agent_memory (
    namespace       TEXT    NOT NULL,
    agent           TEXT    NOT NULL,
    id              TEXT    NOT NULL,
    text            TEXT    NOT NULL,
    search_text     TEXT    NOT NULL, -- text, case-folded by us so that both databases match alike
    tier            TEXT    NOT NULL CHECK (tier IN ('core', 'archive')),
    author_kind     TEXT    NOT NULL CHECK (author_kind IN ('person', 'agent')),
    author          TEXT    NOT NULL,
    created_at      BIGINT  NOT NULL,
    consolidated_at BIGINT,           -- set by consolidation: the row leaves the recent window
    superseded      BOOLEAN NOT NULL DEFAULT FALSE,
    PRIMARY KEY (namespace, agent, id)
);
CREATE INDEX agent_memory_by_age ON agent_memory (namespace, agent, created_at, id);

-- One row an agent: hands out sequences without gaps, outlives pruned lines, and
-- knows the newest plan however far back its line is (ROUTE-03).
CREATE TABLE agent_log_head (
    namespace        TEXT   NOT NULL,
    agent            TEXT   NOT NULL,
    last_sequence    BIGINT NOT NULL,
    plan_document_id TEXT,
    PRIMARY KEY (namespace, agent)
);

CREATE TABLE agent_log (
    namespace   TEXT   NOT NULL,
    agent       TEXT   NOT NULL,
    sequence    BIGINT NOT NULL,
    event_id    TEXT   NOT NULL,
    at          BIGINT NOT NULL, -- by the harness's clock
    recorded_at BIGINT NOT NULL, -- by ours: retention counts from here
    kind        TEXT   NOT NULL,
    level       TEXT   NOT NULL,
    message     TEXT   NOT NULL,
    data        TEXT,            -- JSON
    PRIMARY KEY (namespace, agent, sequence),
    UNIQUE (namespace, agent, event_id)
);
CREATE INDEX agent_log_by_kind ON agent_log (namespace, agent, kind, sequence);
CREATE INDEX agent_log_by_age ON agent_log (namespace, agent, recorded_at, sequence);

-- A wake is pending until a run acknowledges it; a lease keeps two readers apart.
CREATE TABLE agent_inbox (
    namespace       TEXT   NOT NULL,
    agent           TEXT   NOT NULL,
    id              TEXT   NOT NULL,
    source          TEXT   NOT NULL,
    text            TEXT,
    message_id      TEXT,
    thread_id       TEXT,
    idempotency_key TEXT,
    created_at      BIGINT NOT NULL,
    leased_until    BIGINT NOT NULL DEFAULT 0,
    run_id          TEXT,
    acknowledged_at BIGINT,
    PRIMARY KEY (namespace, agent, id),
    UNIQUE (namespace, agent, idempotency_key)
);
CREATE INDEX agent_inbox_pending ON agent_inbox (namespace, agent, created_at, id)
    WHERE acknowledged_at IS NULL;

-- Ids, tokens and reason of a run; never the text of a prompt.
CREATE TABLE agent_run (
    namespace     TEXT   NOT NULL,
    agent         TEXT   NOT NULL,
    id            TEXT   NOT NULL,
    wake_id       TEXT,
    reason        TEXT   NOT NULL,
    started_at    BIGINT NOT NULL,
    finished_at   BIGINT NOT NULL,
    turns         BIGINT NOT NULL,
    input_tokens  BIGINT NOT NULL,
    output_tokens BIGINT NOT NULL,
    outcome       TEXT   NOT NULL,
    PRIMARY KEY (namespace, agent, id)
);
CREATE INDEX agent_run_by_age ON agent_run (namespace, agent, started_at, id);

-- One row an agent, never appended to its log.
CREATE TABLE agent_heartbeat (
    namespace       TEXT   NOT NULL,
    agent           TEXT   NOT NULL,
    at              BIGINT NOT NULL,
    process_id      TEXT   NOT NULL,
    generation      BIGINT NOT NULL,
    context_percent BIGINT,
    PRIMARY KEY (namespace, agent)
);

-- One model call, one row (BIND-04, BIND-05).
CREATE TABLE broker_usage_records (
    id                   TEXT    NOT NULL PRIMARY KEY,
    namespace            TEXT    NOT NULL,
    agent                TEXT    NOT NULL,
    mailbox              TEXT,             -- the usage person the call is attributed to
    request_id           TEXT    NOT NULL,
    model                TEXT    NOT NULL, -- wire id
    upstream_model       TEXT    NOT NULL,
    wire                 TEXT    NOT NULL,
    status               BIGINT  NOT NULL, -- HTTP status of the provider, 0 without an answer
    outcome              TEXT    NOT NULL,
    started_at           BIGINT  NOT NULL,
    finished_at          BIGINT  NOT NULL,
    input_tokens         BIGINT  NOT NULL,
    output_tokens        BIGINT  NOT NULL,
    cache_read_tokens    BIGINT  NOT NULL,
    cache_write_tokens   BIGINT  NOT NULL,
    cache_savings_micros BIGINT  NOT NULL,
    cost_micros          BIGINT  NOT NULL,
    estimated            BOOLEAN NOT NULL, -- the provider gave no usage
    retired_at           BIGINT            -- the agent is gone; the bill stays
);
CREATE INDEX broker_usage_by_agent ON broker_usage_records (namespace, agent, finished_at);
CREATE INDEX broker_usage_by_mailbox ON broker_usage_records (mailbox, finished_at);

-- Every tool that can be granted (OPS-02); rows come from migrations alone.
CREATE TABLE tool_catalog (
    name         TEXT NOT NULL PRIMARY KEY,
    family       TEXT NOT NULL CHECK (family IN ('agent', 'communications', 'intelligence', 'foundry', 'coding')),
    effect       TEXT NOT NULL CHECK (effect IN ('read', 'write')),
    description  TEXT NOT NULL, -- for the model
    input_schema TEXT NOT NULL  -- JSON Schema
);

-- What must still reach somewhere else. A newer message of the same topic and
-- subject replaces a waiting one; `version` keeps an older delivery from
-- completing it.
CREATE TABLE outbox (
    id         TEXT   NOT NULL PRIMARY KEY,
    namespace  TEXT   NOT NULL,
    agent      TEXT   NOT NULL,
    topic      TEXT   NOT NULL,
    subject    TEXT   NOT NULL,
    version    BIGINT NOT NULL,
    payload    TEXT   NOT NULL, -- JSON
    created_at BIGINT NOT NULL,
    due_at     BIGINT NOT NULL,
    attempts   BIGINT NOT NULL,
    last_error TEXT,
    UNIQUE (namespace, agent, topic, subject)
);
CREATE INDEX outbox_due ON outbox (topic, due_at);
