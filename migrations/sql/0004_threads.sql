-- A thread of an ephemeral agent that is over belongs to the persistent agent at the top
-- of its parents, also when the ephemeral agent's resource is gone (LIFE-18).
CREATE TABLE agent_thread (
    namespace TEXT   NOT NULL,
    agent     TEXT   NOT NULL, -- whom its messages reach now; goes with this agent
    of_agent  TEXT   NOT NULL, -- the ephemeral agent whose thread it was
    thread_id TEXT   NOT NULL,
    linked_at BIGINT NOT NULL,
    PRIMARY KEY (namespace, of_agent, thread_id)
);
CREATE INDEX agent_thread_by_agent ON agent_thread (namespace, agent);

-- The ephemeral agent that a wake was for, when another one got it.
ALTER TABLE agent_inbox ADD COLUMN addressed_to TEXT;
