-- Who may use this daemon: workspaces and their API keys. Accounts, sessions and members come in
-- later migrations; they refer to `workspaces`, and to people by `usr_…`.
--
-- Times are milliseconds since the Unix epoch. `…_by` names who did it as the audit log does:
-- `cli`, `usr_…` or `key_…`.

CREATE TABLE workspaces (
  id          TEXT    PRIMARY KEY,  -- ws_…; also the name of its file
  name        TEXT    NOT NULL,     -- for people; need not be unique
  created_at  INTEGER NOT NULL,
  created_by  TEXT    NOT NULL
) STRICT;
CREATE INDEX workspaces_by_age ON workspaces (created_at, id);

-- A key itself is never stored: it is shown once, when it is made.
CREATE TABLE api_keys (
  id            TEXT    PRIMARY KEY,  -- key_…; the actor of what is done with it
  workspace_id  TEXT    NOT NULL REFERENCES workspaces (id),
  digest        BLOB    NOT NULL,     -- SHA-256 of the key, 32 bytes
  label         TEXT,                 -- for people; NULL when none was given
  scope         TEXT    NOT NULL CHECK (scope IN ('full', 'agent', 'auditor')),
  agents        TEXT,                 -- JSON array of the agents that it is limited to; NULL is every agent
  created_at    INTEGER NOT NULL,
  created_by    TEXT    NOT NULL,
  expires_at    INTEGER,              -- from then on it is refused; NULL is never
  last_used_at  INTEGER,              -- written in batches, so up to half a minute late; NULL is never
  revoked_at    INTEGER,              -- NULL while it is in force; a revoked key stays, to be named
  revoked_by    TEXT
) STRICT;
CREATE UNIQUE INDEX api_keys_by_digest ON api_keys (digest);
CREATE INDEX api_keys_by_workspace ON api_keys (workspace_id, created_at, id);
