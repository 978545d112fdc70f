-- Coding agents: documents, how the task stands, questions. `agent_uid` is the UID of
-- the Agent resource: what one agent's harness said never speaks for another agent that
-- was made under the same name.

-- What is known of a document; its bytes are in a folder or a storage account (CODE-29).
CREATE TABLE document (
    id           TEXT   NOT NULL PRIMARY KEY,
    namespace    TEXT   NOT NULL,
    agent        TEXT   NOT NULL, -- goes with this agent
    agent_uid    TEXT   NOT NULL,
    source       TEXT   NOT NULL,
    container    TEXT   NOT NULL,
    path         TEXT   NOT NULL, -- in the container
    content_type TEXT   NOT NULL,
    sha256       TEXT   NOT NULL,
    size_bytes   BIGINT NOT NULL,
    created_at   BIGINT NOT NULL
);
CREATE INDEX document_by_agent ON document (namespace, agent);

-- What a document is to whom: an agent's coding plan, say (ROUTE-13).
CREATE TABLE document_reference (
    document_id    TEXT NOT NULL REFERENCES document (id) ON DELETE CASCADE,
    reference_type TEXT NOT NULL,
    reference_id   TEXT NOT NULL,
    category       TEXT NOT NULL,
    PRIMARY KEY (document_id, reference_type, reference_id, category)
);

-- One row an agent: the task of its newest start. Every write of a harness locks it
-- first, so that what an earlier start still sends comes too late.
CREATE TABLE coding_task (
    namespace           TEXT   NOT NULL,
    agent               TEXT   NOT NULL,
    agent_uid           TEXT   NOT NULL,
    generation          BIGINT NOT NULL,
    branch              TEXT,
    base_commit         TEXT,
    head_commit         TEXT,
    plan_document_id    TEXT,
    plan_sha256         TEXT,
    approved_sha256     TEXT,
    approved_by         TEXT,
    checks              TEXT,            -- JSON
    attempts            BIGINT NOT NULL DEFAULT 0,
    turns               BIGINT NOT NULL DEFAULT 0,
    pull_request_url    TEXT,
    pull_request_number BIGINT,
    outcome             TEXT,
    summary             TEXT,
    updated_at          BIGINT NOT NULL,
    PRIMARY KEY (namespace, agent, agent_uid)
);

-- A question to a person, with its one answer (ROUTE-12).
CREATE TABLE agent_question (
    namespace          TEXT   NOT NULL,
    agent              TEXT   NOT NULL,
    agent_uid          TEXT   NOT NULL,
    id                 TEXT   NOT NULL,
    generation         BIGINT NOT NULL,
    kind               TEXT   NOT NULL CHECK (kind IN ('plan', 'question')),
    text               TEXT   NOT NULL,
    options            TEXT   NOT NULL, -- JSON
    recommended        TEXT,
    plan_sha256        TEXT,
    asked_at           BIGINT NOT NULL,
    closed_at          BIGINT,          -- nobody waits for an answer any more
    answer             TEXT,
    answer_plan_sha256 TEXT,
    answered_by        TEXT,
    answered_at        BIGINT,
    PRIMARY KEY (namespace, agent, agent_uid, id)
);
CREATE INDEX agent_question_open ON agent_question (namespace, agent, agent_uid, asked_at, id)
    WHERE answered_at IS NULL AND closed_at IS NULL;

-- Keys of this installation's own making, the same for every replica.
CREATE TABLE signing_key (
    purpose    TEXT   NOT NULL PRIMARY KEY,
    key        TEXT   NOT NULL, -- hex
    created_at BIGINT NOT NULL
);

-- OPS-02: the coding harness's own editing tools.
INSERT INTO tool_catalog (name, family, effect, description, input_schema) VALUES
('edit_file', 'coding', 'write',
 'Replace text in one file. old_text must match exactly, with indentation and trailing spaces, and occur once; otherwise nothing is changed and the error says where it occurs. Line endings, encoding and mode of the file are kept.',
 '{"type": "object", "additionalProperties": false, "required": ["path", "old_text", "new_text"], "properties": {
    "path": {"type": "string", "minLength": 1, "description": "File, from the root of the clone."},
    "old_text": {"type": "string", "minLength": 1, "description": "Text to replace, as read_file shows it without the line numbers, with enough around it to occur once."},
    "new_text": {"type": "string", "description": "Text to put in its place; empty removes it."},
    "replace_all": {"type": "boolean", "default": false, "description": "Replace every occurrence."}}}'),
('write_file', 'coding', 'write',
 'Write a whole file; folders are made. For a change to part of a file use edit_file.',
 '{"type": "object", "additionalProperties": false, "required": ["path", "content"], "properties": {
    "path": {"type": "string", "minLength": 1, "description": "File, from the root of the clone."},
    "content": {"type": "string", "description": "The whole new content."}}}'),
('delete_file', 'coding', 'write',
 'Delete one file or symbolic link. Folders are not deleted.',
 '{"type": "object", "additionalProperties": false, "required": ["path"], "properties": {
    "path": {"type": "string", "minLength": 1, "description": "File, from the root of the clone."}}}');
