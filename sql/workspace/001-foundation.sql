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
  vocabulary    INTEGER NOT NULL,  -- the greatest number that the log announces
  seq           INTEGER NOT NULL,  -- position of the newest event
  hash          BLOB    NOT NULL   -- its hash, 32 bytes
) STRICT;

-- The audit log. The record is the canonical text of the 14 members, and these columns are what differs from
-- event to event, so the text follows from them: every column up to `details_commitment` is under the hash.
CREATE TABLE events (
  seq                 INTEGER PRIMARY KEY,  -- also the lock: two writers cannot both append one position
  agent_id            TEXT,                 -- NULL: the workspace itself
  agent_seq           INTEGER NOT NULL,
  operation           TEXT    NOT NULL,
  result              TEXT    NOT NULL,
  blocked_by          TEXT,
  actor               TEXT    NOT NULL,
  config_version      INTEGER,              -- n of v<n>
  time                INTEGER NOT NULL,     -- the timestamp
  random              BLOB    NOT NULL,     -- 8 bytes: the end of the id, which begins with seq
  previous_hash       BLOB    NOT NULL,     -- 32 bytes
  details_commitment  BLOB    NOT NULL,     -- 32 bytes
  hash                BLOB    NOT NULL,     -- SHA-256(0x00 || canonical text), 32 bytes
  entries             INTEGER NOT NULL,     -- present entries of the agent after it: rows with live_to NULL; 0 without an agent
  details             TEXT,                 -- what could be personal, bound by details_commitment; NULL once erased
  details_salt        BLOB,                 -- 16 bytes; NULL once erased
  timestamp           TEXT GENERATED ALWAYS AS (strftime('%Y-%m-%dT%H:%M:%fZ', time / 1000.0, 'unixepoch')) VIRTUAL
) STRICT;
-- Filters of a query are answered from this index; the workspace's own events have agent_id NULL.
CREATE INDEX events_by_agent ON events (agent_id, agent_seq, operation, result, time);
-- An agent's newest event of these states whether it is suspended.
CREATE INDEX events_of_suspension ON events (agent_id, agent_seq)
  WHERE operation IN ('agent.suspend', 'agent.resume');
-- An agent's newest event of these states where its history begins.
CREATE INDEX events_of_expiry ON events (agent_id, agent_seq) WHERE operation IN ('data.expire');
-- Events of these state what is set aside.
CREATE INDEX events_of_quarantine ON events (seq) WHERE operation IN ('quarantine.set', 'quarantine.release');
-- Refused operations by time: few, whatever else the log holds.
CREATE INDEX events_refused ON events (time, agent_id, result)
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
  agent_id     TEXT    UNIQUE
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
-- An overwritten or deleted version stays for the days of its history, and while a checkpoint sees it.
CREATE TABLE entries (
  id           INTEGER PRIMARY KEY,  -- names the row for the search index; means nothing else
  agent        INTEGER NOT NULL,     -- agents.first_seq
  key          TEXT    NOT NULL,
  value        TEXT    NOT NULL,     -- as a JSON string, since SQL text ends at U+0000
  metadata     TEXT    NOT NULL,     -- JSON object
  salt         BLOB    NOT NULL,     -- of the digest in the event written_seq: 16 bytes
  written_seq  INTEGER NOT NULL,     -- the event that holds the digest of key, value and metadata
  created_seq  INTEGER NOT NULL,     -- the event that first wrote this key
  live_from    INTEGER NOT NULL,     -- the write, or the restore that brought it back
  live_to      INTEGER,              -- the write, delete or restore that ended it
  created_at   INTEGER NOT NULL,     -- time of created_seq
  updated_at   INTEGER NOT NULL,     -- time of written_seq: what retention counts from
  expires_at   INTEGER,              -- when it ends by itself, as the event written_seq states it; NULL: never
  quarantined  INTEGER               -- the event that set it aside: no program sees it; NULL: it is not
) STRICT;
CREATE UNIQUE INDEX entries_live ON entries (agent, key) WHERE live_to IS NULL;
CREATE INDEX entries_ended ON entries (agent, live_to) WHERE live_to IS NOT NULL;
-- It holds only the few entries with such a time, so writes of the others do not pay for it.
CREATE INDEX entries_by_expiry ON entries (agent, expires_at) WHERE expires_at IS NOT NULL;
-- The same of what is set aside.
CREATE INDEX entries_set_aside ON entries (agent, quarantined) WHERE quarantined IS NOT NULL;

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

-- API keys, also those that have ended. Events state every column (log/row-effects.ts). A key itself is never stored: it
-- is shown once, when it is made.
CREATE TABLE keys (
  id           TEXT    PRIMARY KEY,  -- key_…; the actor of what is done with it
  digest       TEXT    NOT NULL,     -- SHA-256 of the key, hex
  label        TEXT,                 -- for people; NULL when none was given
  scope        TEXT    NOT NULL,     -- full, agent, auditor
  agents       TEXT,                 -- JSON array of the agents that it is limited to; NULL is every agent
  networks     TEXT,                 -- JSON array of the addresses and networks (CIDR) it works from; NULL is everywhere
  expires_at   INTEGER,              -- from then on it is refused; NULL is never
  created_seq  INTEGER NOT NULL,     -- the event that made it
  ended_seq    INTEGER,              -- the event that revoked it; NULL while it is in force, or has expired
  replaced_by  TEXT                  -- the successor of a rotated key
) STRICT;
CREATE UNIQUE INDEX keys_by_digest ON keys (digest);

-- People who may use the workspace; in the log of the installation, its operators. Events state every column
-- (log/row-effects.ts).
CREATE TABLE members (
  account_id  TEXT    PRIMARY KEY,  -- usr_…
  role        TEXT    NOT NULL,     -- owner, member, auditor
  issuer      TEXT,                 -- whose groups give the role; NULL when a person or the operator gave it
  joined_seq  INTEGER NOT NULL,     -- the event with which the account joined
  role_seq    INTEGER NOT NULL      -- the event that gave the role
) STRICT;

-- Workloads that have acted in the workspace: whose token an actor wid_… has sent.
CREATE TABLE workloads (
  id       TEXT  PRIMARY KEY,  -- wid_…, random
  -- Bound by workload_digest.
  issuer   TEXT  NOT NULL,
  subject  TEXT  NOT NULL,
  salt     TEXT  NOT NULL
) STRICT;
CREATE UNIQUE INDEX workloads_by_subject ON workloads (issuer, subject);

-- Invitations, also those that have ended. Events state every column. The link's token is shown once, when it is made.
CREATE TABLE invitations (
  id           TEXT    PRIMARY KEY,  -- inv_…
  digest       TEXT    NOT NULL,     -- SHA-256 of the token, hex
  role         TEXT    NOT NULL,     -- the role of the new member
  label        TEXT,                 -- whom it is for, for people
  expires_at   INTEGER NOT NULL,
  created_seq  INTEGER NOT NULL,     -- the event that made it
  ended_seq    INTEGER,              -- the event with which it was used or withdrawn; NULL while it is open, or has expired
  used_by      TEXT                  -- the account that joined with it
) STRICT;
CREATE UNIQUE INDEX invitations_by_digest ON invitations (digest);
CREATE INDEX invitations_open ON invitations (created_seq) WHERE ended_seq IS NULL;

-- What events state of the workspace itself: one row.
CREATE TABLE workspace (
  id                   TEXT    PRIMARY KEY,  -- ws_…
  second_factor_since  INTEGER,              -- since when members need a second factor to use it; NULL is never
  -- In the log of the installation: 1: people sign in by the issuer only, 0: not, NULL: as the setting says.
  issuer_only          INTEGER
) STRICT;

-- When each key was last used. Not evidence: it is written without an event, up to half a minute late.
CREATE TABLE key_use (
  id            TEXT    PRIMARY KEY,  -- of the key
  last_used_at  INTEGER NOT NULL
) STRICT;

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

-- The tables from here to `session_use` have rows in the log of the installation only. Events state their columns.

-- The workspaces, also deleted ones, whose ids are never used again.
CREATE TABLE workspaces (
  id           TEXT    PRIMARY KEY,  -- ws_…; also the name of its file
  name         TEXT    NOT NULL,     -- for people; need not be unique
  genesis      TEXT    NOT NULL,     -- the hash of its first event, hex
  founder      TEXT,                 -- the account that made it; NULL when the operator did
  added_seq    INTEGER NOT NULL,     -- the event that says that it was made
  deleted_seq  INTEGER               -- the event that says that it was deleted; NULL while it is there
) STRICT;
CREATE INDEX workspaces_by_founder ON workspaces (founder) WHERE founder IS NOT NULL;

-- A person. Secrets that people or browsers hold (sessions, links, recovery codes) are long and random, and stored as SHA-256;
-- a password is stored as an Argon2id string; an authenticator's secret is encrypted with keys/second-factor.key, since the
-- codes are computed from it.
CREATE TABLE accounts (
  id                   TEXT    PRIMARY KEY,  -- usr_…; the actor of what is done with it
  created_seq          INTEGER NOT NULL,     -- the event that made it
  link_id              TEXT    UNIQUE,       -- the link or invitation that made it: none makes two; NULL without one
  -- Bound by account_digest of the newest event that states it.
  codes                TEXT    NOT NULL,     -- JSON: the SHA-256 of the recovery codes that are left, hex
  email                TEXT    NOT NULL,     -- lower case; a name to sign in with, never written to
  name                 TEXT    NOT NULL,     -- for people
  password             TEXT    NOT NULL,     -- PHC string, Argon2id; '' when there is none
  password_changed_at  INTEGER NOT NULL,
  totp_secret          TEXT,                 -- encrypted; NULL when none was ever begun, or it was disabled
  totp_since           INTEGER,              -- when it was confirmed; NULL before
  totp_step            INTEGER NOT NULL,     -- time step of the last code taken: none works twice
  salt                 TEXT    NOT NULL      -- hex, 16 bytes
) STRICT;
CREATE UNIQUE INDEX accounts_by_email ON accounts (email);

-- Passkeys (WebAuthn): the private key stays in the authenticator.
CREATE TABLE passkeys (
  id             TEXT    PRIMARY KEY,      -- pky_…
  account_id     TEXT    NOT NULL,
  host           TEXT    NOT NULL,         -- the host name under which it was made, and works
  created_seq    INTEGER NOT NULL,
  used_seq       INTEGER,                  -- the newest sign-in with it
  -- Bound by credential_digest.
  counter        INTEGER NOT NULL,         -- of the last signature; 0 when the authenticator does not count
  credential_id  TEXT    NOT NULL UNIQUE,  -- base64url
  name           TEXT    NOT NULL,
  public_key     TEXT    NOT NULL,         -- COSE key, base64url
  salt           TEXT    NOT NULL
) STRICT;
CREATE INDEX passkeys_by_account ON passkeys (account_id);

-- People who sign in by an OpenID issuer. Issuer and subject identify somebody; a mail address never does.
CREATE TABLE identities (
  id            TEXT    PRIMARY KEY,  -- idn_…
  account_id    TEXT    NOT NULL,
  linked_seq    INTEGER NOT NULL,
  multi_factor  INTEGER NOT NULL,     -- 1: at the last sign-in, the issuer had asked for more than one factor
  -- Bound by identity_digest.
  issuer        TEXT    NOT NULL,
  subject       TEXT    NOT NULL,
  salt          TEXT    NOT NULL
) STRICT;
CREATE UNIQUE INDEX identities_by_subject ON identities (issuer, subject);
CREATE UNIQUE INDEX identities_by_account ON identities (account_id, issuer);

-- Links that work once, also those that have ended: to create an account, or to set a password.
CREATE TABLE links (
  id                  TEXT    PRIMARY KEY,  -- inv_…
  digest              TEXT    NOT NULL,     -- SHA-256 of the token, hex
  kind                TEXT    NOT NULL,     -- setup, reset
  account_id          TEXT,                 -- of a reset
  second_factor_ends  INTEGER NOT NULL,     -- 1: a reset that ends the second factor, too
  expires_at          INTEGER NOT NULL,
  created_seq         INTEGER NOT NULL,     -- the event that made it
  ended_seq           INTEGER,              -- the event with which it was used or ended; NULL while it is open, or has expired
  used_by             TEXT                  -- the account that used it
) STRICT;
CREATE UNIQUE INDEX links_by_digest ON links (digest);
CREATE INDEX links_open ON links (created_seq) WHERE ended_seq IS NULL;

-- An ended session has no row; one that has expired may have one.
CREATE TABLE sessions (
  id              TEXT    PRIMARY KEY,  -- ses_…
  account_id      TEXT    NOT NULL,
  created_seq     INTEGER NOT NULL,
  expires_at      INTEGER NOT NULL,     -- whatever its use; an idle one ends before
  second_factor   TEXT,                 -- with which it began: totp, recovery_code, passkey; NULL without one
  -- Bound by session_digest.
  address         TEXT    NOT NULL,     -- where it was begun from
  digest          TEXT    NOT NULL,     -- SHA-256 of its cookie, hex
  issuer_session  TEXT,                 -- at the issuer; '' when it named none, NULL when it began with a password
  user_agent      TEXT    NOT NULL,     -- what it was begun with, shortened
  salt            TEXT    NOT NULL
) STRICT;
CREATE UNIQUE INDEX sessions_by_digest ON sessions (digest);
CREATE INDEX sessions_by_account ON sessions (account_id);

-- When each session was last used. Not evidence: it is written without an event, up to half a minute late.
CREATE TABLE session_use (
  id            TEXT    PRIMARY KEY,  -- of the session
  last_seen_at  INTEGER NOT NULL
) STRICT;

-- Where to find things, and which browsers are known. Not evidence either: what decides is in the workspaces' files.

-- Which workspaces each account has ever joined. A row is made before the account joins.
CREATE TABLE directory (
  account_id    TEXT NOT NULL,
  workspace_id  TEXT NOT NULL,
  PRIMARY KEY (account_id, workspace_id)
) STRICT;

-- Which workspaces have sinks: it wakes the delivery up, which then reads the workspace's file. It follows the files, and a
-- workspace that is opened with sinks is added again.
CREATE TABLE sink_workspaces (
  workspace_id  TEXT    PRIMARY KEY,
  changes       INTEGER NOT NULL  -- counts up with every change of the workspace's sinks
) STRICT;

-- Browsers that signed in before; their failed attempts are counted separately.
CREATE TABLE devices (
  digest        TEXT    PRIMARY KEY,  -- of the browser's secret, SHA-256, hex
  account_id    TEXT    NOT NULL,
  last_used_at  INTEGER NOT NULL      -- ms since the Unix epoch
) STRICT;

-- In the log of the installation only: the head of each workspace, as the newest `installation.heads` states by their
-- root.
CREATE TABLE heads (
  workspace_id  TEXT    PRIMARY KEY,  -- ws_…
  size          INTEGER NOT NULL,     -- the number of its events
  hash          TEXT    NOT NULL      -- of its last event, hex
) STRICT;

-- How far each sink has come. Not evidence: the delivery writes it without an event.
CREATE TABLE sink_positions (
  id            TEXT    PRIMARY KEY,  -- of the sink
  position      INTEGER,              -- the last event that was acknowledged; NULL before the first
  delivered_at  INTEGER,              -- when that was, ms since the Unix epoch
  last_error    TEXT                  -- JSON: at, message; NULL when the last delivery was acknowledged
) STRICT;
