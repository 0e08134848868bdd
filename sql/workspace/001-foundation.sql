-- One workspace: its audit log, and the data of its agents.
--
-- Positions in the log (`…_seq`) are the workspace's own count of events, 0, 1, 2 …
-- An agent is named here by the position of its first event, which never changes.
-- JSON texts are canonical (RFC 8785). Times are milliseconds since the Unix epoch, and repeat
-- what the event says: they are here to be indexed.

-- The head of the log: one row. It moves in the same transaction as every event.
CREATE TABLE head (
  one           INTEGER PRIMARY KEY CHECK (one = 1),
  workspace_id  TEXT    NOT NULL,  -- ws_…
  format        TEXT    NOT NULL,  -- of the events: governd.audit/1
  seq           INTEGER NOT NULL,  -- position of the newest event
  hash          TEXT    NOT NULL   -- its hash, hex
) STRICT;

-- The audit log. `body` is the record, in canonical bytes; the columns after `hash` are read out of
-- it and stored nowhere, so nothing that is shown is outside the hash.
CREATE TABLE events (
  seq           INTEGER PRIMARY KEY,  -- also the lock: two writers cannot both append one position
  body          TEXT    NOT NULL,
  hash          TEXT    NOT NULL,     -- hex SHA-256(0x00 || body)
  details       TEXT,                 -- what could be personal, bound by details_commitment; NULL once erased
  details_salt  TEXT,                 -- hex, 16 bytes; NULL once erased
  id            TEXT    GENERATED ALWAYS AS (body ->> '$.id') VIRTUAL,
  agent_id      TEXT    GENERATED ALWAYS AS (body ->> '$.agent_id') VIRTUAL,
  agent_seq     INTEGER GENERATED ALWAYS AS (body ->> '$.agent_seq') VIRTUAL,
  operation     TEXT    GENERATED ALWAYS AS (body ->> '$.operation') VIRTUAL,
  result        TEXT    GENERATED ALWAYS AS (body ->> '$.result') VIRTUAL,
  timestamp     TEXT    GENERATED ALWAYS AS (body ->> '$.timestamp') VIRTUAL
) STRICT;
-- The workspace's own events by the random part of their ids, by which an act on the control database finds its event.
CREATE UNIQUE INDEX events_by_random_part ON events (substr(id, 19)) WHERE agent_id IS NULL;
-- Filters of a query are answered from this index; the workspace's own events have agent_id NULL.
CREATE INDEX events_by_agent ON events (agent_id, agent_seq, operation, result, timestamp);
-- An agent's newest event of these states whether it is suspended.
CREATE INDEX events_of_suspension ON events (agent_id, agent_seq)
  WHERE operation IN ('agent.suspend', 'agent.resume');
-- Refused operations by time: few, whatever else the log holds.
CREATE INDEX events_refused ON events (timestamp, agent_id, result)
  WHERE result IN ('blocked', 'denied');

-- The Merkle tree over the log (RFC 6962), in tiles of 256 hashes (C2SP tlog-tiles): every full tile,
-- and above level 0 the one that is filling. Hash i of level l covers the 256^l events from i * 256^l
-- on; level 0 repeats events.hash. Follows from the events, and is checked against them.
CREATE TABLE tiles (
  level   INTEGER NOT NULL,
  tile    INTEGER NOT NULL,  -- hashes 256 * tile to 256 * tile + 255 of the level
  hashes  BLOB    NOT NULL,  -- 32 bytes each, one behind the other
  PRIMARY KEY (level, tile)
) STRICT;

-- The keys that seal this log: the first is named by the genesis, later ones by seal.rotate_key events,
-- each by the SHA-256 of its raw bytes. The newest one seals.
CREATE TABLE seal_keys (
  announced_seq  INTEGER PRIMARY KEY,  -- the event that names it
  verifier_key   TEXT    NOT NULL      -- C2SP signed-note form; its name is the origin of the seals
) STRICT;

-- Seals: signed heads of the tree (C2SP tlog-checkpoint), in the order in which they were made.
CREATE TABLE seals (
  id       INTEGER PRIMARY KEY,
  size     INTEGER NOT NULL,  -- events that it covers: 0 to size - 1
  note     TEXT    NOT NULL   -- the signed note, verbatim, with the cosignatures of witnesses
) STRICT;
CREATE INDEX seals_by_size ON seals (size);

-- One row for each agent that began, and one for the workspace's own chain (agent_id NULL).
CREATE TABLE agents (
  first_seq    INTEGER PRIMARY KEY,  -- position of its first event; names the agent in this file
  agent_id     TEXT    UNIQUE,
  head_seq     INTEGER NOT NULL,     -- agent_seq of its newest event
  head_hash    TEXT    NOT NULL,     -- hash of its newest event, hex
  live_entries INTEGER NOT NULL      -- rows of entries with live_to NULL
) STRICT;

-- Every version of an agent's configuration. Never changed, never deleted.
CREATE TABLE configs (
  agent             INTEGER NOT NULL,  -- agents.first_seq
  version           INTEGER NOT NULL,  -- 1, 2, 3 …, shown as v1, v2, v3 …
  config            TEXT    NOT NULL,  -- JSON
  salt              TEXT    NOT NULL,  -- of its digest in the event created_seq: hex, 16 bytes
  created_seq       INTEGER NOT NULL,  -- the event that made it
  rolled_back_from  INTEGER,           -- the version whose content this is, after a rollback or a restore
  PRIMARY KEY (agent, version)
) STRICT;

-- An agent's data, in versions. A version is visible at position S of the log when
-- live_from <= S and (live_to IS NULL or live_to > S); live_to NULL is the present.
-- An overwritten or deleted version stays only while a checkpoint sees it.
CREATE TABLE entries (
  id           INTEGER PRIMARY KEY,  -- names the row for the search index; means nothing else
  agent        INTEGER NOT NULL,     -- agents.first_seq
  key          TEXT    NOT NULL,
  value        TEXT    NOT NULL,     -- as a JSON string, since SQL text ends at U+0000
  metadata     TEXT    NOT NULL,     -- JSON object
  salt         TEXT    NOT NULL,     -- of the digest in the event written_seq: hex, 16 bytes
  written_seq  INTEGER NOT NULL,     -- the event that holds the digest of key, value and metadata
  created_seq  INTEGER NOT NULL,     -- the event that first wrote this key
  live_from    INTEGER NOT NULL,     -- the write, or the restore that brought it back
  live_to      INTEGER,              -- the write, delete or restore that ended it
  created_at   INTEGER NOT NULL,     -- time of created_seq
  updated_at   INTEGER NOT NULL,     -- time of written_seq: what retention counts from
  expires_at   INTEGER               -- when it ends by itself, as the event written_seq states it; NULL: never
) STRICT;
CREATE UNIQUE INDEX entries_live ON entries (agent, key) WHERE live_to IS NULL;
CREATE INDEX entries_ended ON entries (agent, live_to) WHERE live_to IS NOT NULL;
-- It holds only the few entries with such a time, so writes of the others do not pay for it.
CREATE INDEX entries_by_expiry ON entries (agent, expires_at) WHERE expires_at IS NOT NULL;

-- A checkpoint is a position in the log: making one copies nothing.
CREATE TABLE checkpoints (
  id              TEXT    PRIMARY KEY,  -- cp_…
  agent           INTEGER NOT NULL,     -- agents.first_seq
  as_of_seq       INTEGER NOT NULL,     -- the state is what was visible at this position
  event_seq       INTEGER NOT NULL,     -- the event that made it: as_of_seq, or the restore right after it
  config_version  INTEGER,              -- in force then; NULL when there was none
  entry_count     INTEGER NOT NULL,     -- unexpired entries then
  label           TEXT,
  metadata        TEXT    NOT NULL      -- JSON object
) STRICT;
CREATE INDEX checkpoints_by_agent ON checkpoints (agent, as_of_seq);

-- Answers to requests with an Idempotency-Key. The transaction of an operation stores its answer, which is kept for 24 hours.
-- A repeated request gets the stored answer and changes nothing. Answers are not part of the audit record.
CREATE TABLE answers (
  event_seq  INTEGER PRIMARY KEY,  -- the operation's last event
  retry      BLOB    NOT NULL,     -- names who asked and the Idempotency-Key: 16 bytes of a SHA-256
  request    BLOB    NOT NULL,     -- SHA-256 of the Idempotency-Key and the request
  stored_at  INTEGER NOT NULL,     -- ms since the Unix epoch
  through    INTEGER NOT NULL,     -- bytes of all answers that were ever stored, this one included
  reply      TEXT    NOT NULL,     -- JSON: what the answer says besides its body
  body       TEXT                  -- JSON; NULL once data that it may show was erased
) STRICT;
CREATE UNIQUE INDEX answers_by_retry ON answers (retry);

-- Receivers outside, to which the events of this workspace are delivered. Events state every column (log/row-effects.ts).
CREATE TABLE sinks (
  id                  TEXT    PRIMARY KEY,  -- snk_…
  type                TEXT    NOT NULL,     -- webhook, syslog, otlp, splunk_hec, file
  format              TEXT    NOT NULL,     -- governd, cloudevents, ocsf
  filter              TEXT    NOT NULL,     -- JSON: operations, results, agents; {} is all events
  include_details     INTEGER NOT NULL,     -- 1: the details of events are delivered, too
  start               TEXT    NOT NULL,     -- JSON: "now", "beginning", or the position of the first event
  enabled             INTEGER NOT NULL,     -- 0: nothing is delivered
  created_seq         INTEGER NOT NULL,     -- the event that made it
  -- Bound by settings_digest of the newest event that states it.
  url                 TEXT    NOT NULL,
  ca                  TEXT,                 -- PEM: what the receiver's certificate is checked with; NULL: as the system
  client_certificate  TEXT,                 -- PEM
  secrets             TEXT    NOT NULL,     -- JSON, encrypted with keys/sinks.key: the client's key, token, signing keys
  salt                TEXT    NOT NULL      -- hex, 16 bytes
) STRICT;

-- How far each sink has come. Not evidence: the delivery writes it without an event.
CREATE TABLE sink_positions (
  id            TEXT    PRIMARY KEY,  -- of the sink
  position      INTEGER,              -- the last event that was acknowledged; NULL before the first
  delivered_at  INTEGER,              -- when that was, ms since the Unix epoch
  last_error    TEXT                  -- JSON: at, message; NULL when the last delivery was acknowledged
) STRICT;
