-- OPS-02: every tool that can be granted, with the description and the JSON Schema
-- that the model reads. Harnesses say which of them they run (TOOLS-02). A later
-- migration may change a row; nothing else does.

-- agent: the agent's own memory and research checkpoint.
INSERT INTO tool_catalog (name, family, effect, description, input_schema) VALUES
('remember', 'agent', 'write',
 'Keep one fact for later evaluations. Write it so that it makes sense alone, with full identifiers and absolute dates. It goes to the archive: find it again with recall.',
 '{"type": "object", "additionalProperties": false, "required": ["text"], "properties": {
    "text": {"type": "string", "minLength": 1, "maxLength": 4000, "description": "The fact, in one or a few sentences."}}}'),
('recall', 'agent', 'read',
 'Search your memories. Finds those that contain every word of the query, in any case and order, newest first.',
 '{"type": "object", "additionalProperties": false, "required": ["query"], "properties": {
    "query": {"type": "string", "minLength": 1, "maxLength": 500, "description": "Words that the memory contains. Fewer words find more."},
    "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 10, "description": "Most memories to return."}}}'),
('save_research_checkpoint', 'agent', 'write',
 'Save where your research stands, so that the next evaluation goes on from there. Send the version you were given; a stale one is refused and you must reload. Keep full identifiers and field names.',
 '{"type": "object", "additionalProperties": false, "required": ["version", "investigation", "summary", "complete", "page", "next_tool", "next_args"], "properties": {
    "version": {"type": "integer", "minimum": 0, "description": "Version of the checkpoint you were given."},
    "investigation": {"type": "string", "minLength": 1, "maxLength": 2000, "description": "The question under investigation."},
    "summary": {"type": "string", "maxLength": 4000, "description": "What is established so far, with source identifiers."},
    "complete": {"type": "boolean", "description": "Whether this page is fully read; true schedules list_insights for the given page."},
    "page": {"type": "integer", "minimum": 1, "description": "Listing page; the next unread one when complete. Never lower than the stored page."},
    "next_tool": {"type": "string", "enum": ["list_insights", "search", "get_insight"], "description": "The read that the next evaluation begins with."},
    "next_args": {"type": "object", "description": "Complete arguments of that read."}}}');

-- intelligence: search, insights, evidence, conversations, outputs, files, queue.
INSERT INTO tool_catalog (name, family, effect, description, input_schema) VALUES
('search', 'intelligence', 'read',
 'Search what the organisation knows. Hits with a record_id say in source_retrieval how to read the original source; such a hint is no permission.',
 '{"type": "object", "additionalProperties": false, "required": ["q"], "properties": {
    "q": {"type": "string", "minLength": 1, "maxLength": 500, "description": "What to look for."},
    "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 10, "description": "Most hits to return."}}}'),
('list_insights', 'intelligence', 'read',
 'List published insights, newest first, page by page.',
 '{"type": "object", "additionalProperties": false, "properties": {
    "page": {"type": "integer", "minimum": 1, "default": 1, "description": "Page to read."},
    "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 3, "description": "Insights on a page."}}}'),
('get_insight', 'intelligence', 'read',
 'Read one insight in full.',
 '{"type": "object", "additionalProperties": false, "required": ["insight_id"], "properties": {
    "insight_id": {"type": "string", "format": "uuid", "description": "Full UUID of the insight, as list_insights or search gave it."}}}'),
('get_conversation', 'intelligence', 'read',
 'Read one workspace conversation. Without an id it reads your own. An evidence record_id is not a conversation id.',
 '{"type": "object", "additionalProperties": false, "properties": {
    "conversation_id": {"type": "string", "format": "uuid", "description": "Full UUID of the conversation; your own when left out."},
    "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20, "description": "Most turns to return, newest last."}}}'),
('get_evidence', 'intelligence', 'read',
 'Read the original record behind a search hit: source, kind, title, date, participants and, for a note, its body.',
 '{"type": "object", "additionalProperties": false, "required": ["record_id"], "properties": {
    "record_id": {"type": "string", "format": "uuid", "description": "Full record_id of the hit."}}}'),
('get_evidence_utterances', 'intelligence', 'read',
 'Read the lines of a meeting, thread or document, with speakers. A truncated result is incomplete even when it says hasMore=false: ask for a smaller page.',
 '{"type": "object", "additionalProperties": false, "required": ["record_id"], "properties": {
    "record_id": {"type": "string", "format": "uuid", "description": "Full record_id of the hit."},
    "limit": {"type": "integer", "minimum": 1, "maximum": 20, "default": 3, "description": "Lines to return."},
    "since_seq": {"type": "integer", "minimum": 0, "description": "Go on after this sequence number, the last one read."}}}'),
('list_discovery_packets', 'intelligence', 'read',
 'List the Discovery review queue, saved leads included; published insights are not in it. Each packet has its latest review mark, its source record ids and when it was stored.',
 '{"type": "object", "additionalProperties": false, "properties": {
    "lens": {"type": "string", "maxLength": 100, "description": "Only packets of this lens, for example culture or overlap."},
    "inquiry": {"type": "string", "maxLength": 200, "description": "Only packets of this inquiry."},
    "entity": {"type": "string", "maxLength": 200, "description": "Only packets whose entity text contains this."},
    "created_after": {"type": "string", "format": "date-time", "description": "Only packets stored after this instant, itself excluded. Not together with updated_after."},
    "updated_after": {"type": "string", "format": "date-time", "description": "Only packets changed after this instant, itself excluded. Not together with created_after."},
    "page": {"type": "integer", "minimum": 1, "default": 1, "description": "Page to read."},
    "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 10, "description": "Packets on a page."}}}'),
('get_discovery_packet', 'intelligence', 'read',
 'Read one investigation of the Discovery review queue with its supporting and opposing passages.',
 '{"type": "object", "additionalProperties": false, "required": ["packet_id"], "properties": {
    "packet_id": {"type": "string", "format": "uuid", "description": "Full UUID of the packet."}}}'),
('pulse', 'intelligence', 'read',
 'Read what the organisation is busy with at the moment: topics and how they have moved.',
 '{"type": "object", "additionalProperties": false, "properties": {
    "limit": {"type": "integer", "minimum": 1, "maximum": 50, "default": 10, "description": "Most topics to return."}}}'),
('save_note', 'intelligence', 'write',
 'Write an evidence note in markdown. Without a project it is filed under your own project; if you have none, only its author and platform admins can read it.',
 '{"type": "object", "additionalProperties": false, "required": ["title", "markdown"], "properties": {
    "title": {"type": "string", "minLength": 1, "maxLength": 200, "description": "Title of the note."},
    "markdown": {"type": "string", "minLength": 1, "maxLength": 100000, "description": "Body of the note."},
    "project_id": {"type": "string", "format": "uuid", "description": "Project to file it under."},
    "contributes_to_knowledge": {"type": "boolean", "default": false, "description": "Whether company knowledge may be extracted from it."}}}'),
('save_output', 'intelligence', 'write',
 'Save a finished output, such as a report, to your workspace, where people find it.',
 '{"type": "object", "additionalProperties": false, "required": ["title", "markdown"], "properties": {
    "title": {"type": "string", "minLength": 1, "maxLength": 200, "description": "Title of the output."},
    "markdown": {"type": "string", "minLength": 1, "maxLength": 200000, "description": "Body of the output."},
    "project_id": {"type": "string", "format": "uuid", "description": "Project to file it under."}}}'),
('list_queue_errors', 'intelligence', 'read',
 'Read the dead-letter queue of the intelligence service: which jobs failed, how often, and why.',
 '{"type": "object", "additionalProperties": false, "properties": {
    "queue": {"type": "string", "maxLength": 100, "description": "Only this queue."},
    "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20, "description": "Most jobs to return."}}}'),
('requeue_queue_jobs', 'intelligence', 'write',
 'Put failed jobs of the intelligence service back into their queue. Only when the cause is fixed and deployed.',
 '{"type": "object", "additionalProperties": false, "required": ["job_ids"], "properties": {
    "job_ids": {"type": "array", "minItems": 1, "maxItems": 100, "items": {"type": "string", "minLength": 1}, "description": "Ids as list_queue_errors gave them."}}}'),
('expire_queue_job', 'intelligence', 'write',
 'Give up one failed job of the intelligence service for good.',
 '{"type": "object", "additionalProperties": false, "required": ["job_id", "reason"], "properties": {
    "job_id": {"type": "string", "minLength": 1, "description": "Id as list_queue_errors gave it."},
    "reason": {"type": "string", "minLength": 1, "maxLength": 500, "description": "Why it is not worth another try."}}}');

-- communications: messages to and from people. Keys stay with that service (BIND-06).
INSERT INTO tool_catalog (name, family, effect, description, input_schema) VALUES
('send_message', 'communications', 'write',
 'Send a message to a person, or answer in a thread.',
 '{"type": "object", "additionalProperties": false, "required": ["text"], "properties": {
    "to": {"type": "string", "minLength": 1, "maxLength": 320, "description": "Who gets it: an address or a person. Left out when thread_id is given."},
    "thread_id": {"type": "string", "minLength": 1, "description": "Thread to answer in."},
    "text": {"type": "string", "minLength": 1, "maxLength": 20000, "description": "What it says."}}}'),
('get_message', 'communications', 'read',
 'Read one message, for example the one that woke you.',
 '{"type": "object", "additionalProperties": false, "required": ["message_id"], "properties": {
    "message_id": {"type": "string", "minLength": 1, "description": "Id of the message."}}}');

-- foundry: building and managing agents.
INSERT INTO tool_catalog (name, family, effect, description, input_schema) VALUES
('list_agents', 'foundry', 'read',
 'List the agents of your workspace, archived ones left out.',
 '{"type": "object", "additionalProperties": false, "properties": {
    "query": {"type": "string", "maxLength": 200, "description": "Only agents whose name or slug contains this."},
    "limit": {"type": "integer", "minimum": 1, "maximum": 100, "default": 20, "description": "Most agents to return."},
    "cursor": {"type": "string", "description": "next_cursor of the page before."}}}'),
('get_agent', 'foundry', 'read',
 'Read one agent: its state, instructions, model and tools. Your own id is in each evaluation; you need not look it up.',
 '{"type": "object", "additionalProperties": false, "required": ["agent_id"], "properties": {
    "agent_id": {"type": "string", "minLength": 1, "maxLength": 40, "description": "Id of the agent."}}}'),
('spawn_coding_agent', 'foundry', 'write',
 'Start a coding agent on one task in one repository. It works on its own branch, opens a pull request and ends.',
 '{"type": "object", "additionalProperties": false, "required": ["task", "remote"], "properties": {
    "task": {"type": "string", "minLength": 1, "maxLength": 20000, "description": "What to do, complete enough to work from alone."},
    "remote": {"type": "string", "minLength": 1, "maxLength": 500, "description": "SSH remote of the repository."},
    "base_ref": {"type": "string", "minLength": 1, "maxLength": 200, "description": "Branch to start from; the default branch when left out."},
    "harness_id": {"type": "string", "minLength": 1, "maxLength": 40, "default": "coding-v1", "description": "Harness to run it; one with the feature repo_scope."}}}'),
('spawn_swarm', 'foundry', 'write',
 'Start a swarm: several short-lived agents that work on one goal beside each other. They end at their time to live, or when you dismiss the swarm.',
 '{"type": "object", "additionalProperties": false, "required": ["goal", "members"], "properties": {
    "goal": {"type": "string", "minLength": 1, "maxLength": 4000, "description": "What the swarm is for."},
    "members": {"type": "array", "minItems": 1, "maxItems": 20, "description": "Its agents.", "items": {"type": "object", "additionalProperties": false, "required": ["name", "instructions"], "properties": {
      "name": {"type": "string", "minLength": 1, "maxLength": 40, "description": "Name of the member."},
      "instructions": {"type": "string", "minLength": 1, "maxLength": 20000, "description": "What this member does."},
      "harness_id": {"type": "string", "minLength": 1, "maxLength": 40, "default": "agent-v1", "description": "Harness of the member."},
      "model": {"type": "string", "minLength": 1, "default": "auto", "description": "auto or a wire id."},
      "tools": {"type": "array", "maxItems": 64, "items": {"type": "string"}, "description": "Tools the member is granted."}}}}}}'),
('dismiss_swarm', 'foundry', 'write',
 'End a swarm that you started: every member still active is expired.',
 '{"type": "object", "additionalProperties": false, "required": ["swarm_id"], "properties": {
    "swarm_id": {"type": "string", "minLength": 1, "maxLength": 40, "description": "Id of the swarm."}}}');

-- coding: the coding harness's own tools.
INSERT INTO tool_catalog (name, family, effect, description, input_schema) VALUES
('list_dir', 'coding', 'read',
 'List a folder of the clone; with a path prefix in force, only permitted paths.',
 '{"type": "object", "additionalProperties": false, "properties": {
    "path": {"type": "string", "default": ".", "description": "Folder, from the root of the clone."}}}'),
('glob', 'coding', 'read',
 'Find files by pattern. ** stands for any number of folders; .git and node_modules are left out.',
 '{"type": "object", "additionalProperties": false, "required": ["pattern"], "properties": {
    "pattern": {"type": "string", "minLength": 1, "description": "For example src/**/*.rs."}}}'),
('grep', 'coding', 'read',
 'Search the files of the clone for a regular expression.',
 '{"type": "object", "additionalProperties": false, "required": ["pattern"], "properties": {
    "pattern": {"type": "string", "minLength": 1, "description": "Regular expression."},
    "path": {"type": "string", "default": ".", "description": "Folder or file to search."}}}'),
('explore', 'coding', 'read',
 'Get an overview of a part of the clone: its folders, files and what they define.',
 '{"type": "object", "additionalProperties": false, "properties": {
    "path": {"type": "string", "default": ".", "description": "Folder to explore."}}}'),
('read_file', 'coding', 'read',
 'Read a text file, at most 2,000 lines at a time. Binary files are refused.',
 '{"type": "object", "additionalProperties": false, "required": ["path"], "properties": {
    "path": {"type": "string", "minLength": 1, "description": "File, from the root of the clone."},
    "offset": {"type": "integer", "minimum": 1, "default": 1, "description": "First line to read."},
    "limit": {"type": "integer", "minimum": 1, "maximum": 2000, "default": 2000, "description": "Most lines to read."}}}'),
('run_command', 'coding', 'write',
 'Run one allowed command without a shell. It is stopped after 10 minutes. git push is not allowed here: use git_push.',
 '{"type": "object", "additionalProperties": false, "required": ["command"], "properties": {
    "command": {"type": "array", "minItems": 1, "maxItems": 200, "items": {"type": "string"}, "description": "Program and arguments."},
    "path": {"type": "string", "default": ".", "description": "Folder to run it in."}}}'),
('code_intel', 'coding', 'read',
 'Ask the language server for a definition or for diagnostics.',
 '{"type": "object", "additionalProperties": false, "required": ["query", "path"], "properties": {
    "query": {"type": "string", "enum": ["definition", "diagnostics"], "description": "What to ask."},
    "path": {"type": "string", "minLength": 1, "description": "File, from the root of the clone."},
    "line": {"type": "integer", "minimum": 1, "description": "Line of the name; for a definition."},
    "column": {"type": "integer", "minimum": 1, "description": "Column of the name; for a definition."}}}'),
('list_tasks', 'coding', 'read',
 'Read the task list of this run.',
 '{"type": "object", "additionalProperties": false, "properties": {}}'),
('add_task', 'coding', 'write',
 'Add a task to the list of this run.',
 '{"type": "object", "additionalProperties": false, "required": ["title"], "properties": {
    "title": {"type": "string", "minLength": 1, "maxLength": 300, "description": "What is to be done."}}}'),
('update_task', 'coding', 'write',
 'Change the state of a task of this run.',
 '{"type": "object", "additionalProperties": false, "required": ["task_id", "status"], "properties": {
    "task_id": {"type": "integer", "minimum": 1, "description": "Number of the task."},
    "status": {"type": "string", "enum": ["open", "in_progress", "done", "dropped"], "description": "Its new state."}}}'),
('ask_question', 'coding', 'write',
 'Ask a person and wait for the answer.',
 '{"type": "object", "additionalProperties": false, "required": ["question"], "properties": {
    "question": {"type": "string", "minLength": 1, "maxLength": 4000, "description": "The question, with what is needed to answer it."},
    "options": {"type": "array", "maxItems": 10, "items": {"type": "string"}, "description": "Possible answers."},
    "recommended": {"type": "string", "description": "The answer you would take."}}}'),
('save_coding_plan', 'coding', 'write',
 'Save the plan of this task as a markdown document. Building starts when it is approved.',
 '{"type": "object", "additionalProperties": false, "required": ["markdown"], "properties": {
    "markdown": {"type": "string", "minLength": 1, "maxLength": 200000, "description": "The plan."}}}'),
('git_push', 'coding', 'write',
 'Push the working branch. The target branch of the pull request is refused.',
 '{"type": "object", "additionalProperties": false, "properties": {}}'),
('open_pull_request', 'coding', 'write',
 'Open the pull request of the working branch against the default branch.',
 '{"type": "object", "additionalProperties": false, "required": ["title", "description"], "properties": {
    "title": {"type": "string", "minLength": 1, "maxLength": 200, "description": "Title."},
    "description": {"type": "string", "minLength": 1, "maxLength": 50000, "description": "What changed, why, and how it was checked."}}}'),
('merge_pull_request', 'coding', 'write',
 'Merge the pull request. Refused unless the repository allows it.',
 '{"type": "object", "additionalProperties": false, "properties": {}}'),
('finish', 'coding', 'write',
 'End this run. completed needs a check that passed after the last edit, unless only documents changed.',
 '{"type": "object", "additionalProperties": false, "required": ["outcome", "summary"], "properties": {
    "outcome": {"type": "string", "enum": ["completed", "failed"], "description": "How it ended."},
    "summary": {"type": "string", "minLength": 1, "maxLength": 10000, "description": "What was done and what is left."}}}');
