-- People: accounts, their sessions and second factors, and their roles in workspaces.
--
-- Secrets that people or browsers hold (sessions, links, recovery codes, devices) are long and random,
-- and stored as SHA-256; a password is stored as an Argon2id string. An authenticator's secret is
-- stored in plain text, since the codes are computed from it.

CREATE TABLE accounts (
  id                   TEXT    PRIMARY KEY,  -- usr_…; the actor of what is done with it
  email                TEXT    NOT NULL,     -- lower case; a name to sign in with, never written to
  name                 TEXT    NOT NULL,     -- for people
  password             TEXT    NOT NULL,     -- PHC string, Argon2id
  password_changed_at  INTEGER NOT NULL,
  totp_secret          TEXT,                 -- base32; NULL when none was ever begun, or it was disabled
  totp_since           INTEGER,              -- from then on a code is asked for; NULL while not confirmed
  totp_step            INTEGER NOT NULL DEFAULT 0,  -- time step of the last code taken: none works twice
  created_at           INTEGER NOT NULL
) STRICT;
CREATE UNIQUE INDEX accounts_by_email ON accounts (email);

-- A used code is deleted.
CREATE TABLE recovery_codes (
  account_id  TEXT NOT NULL REFERENCES accounts (id),
  digest      BLOB NOT NULL,
  PRIMARY KEY (account_id, digest)
) STRICT, WITHOUT ROWID;

-- An ended session is deleted.
CREATE TABLE sessions (
  id            TEXT    PRIMARY KEY,  -- ses_…
  account_id    TEXT    NOT NULL REFERENCES accounts (id),
  digest        BLOB    NOT NULL,
  created_at    INTEGER NOT NULL,
  last_seen_at  INTEGER NOT NULL,     -- written in batches, so up to half a minute late
  expires_at    INTEGER NOT NULL,     -- whatever its use; an idle one ends before
  address       TEXT    NOT NULL,     -- where it was begun from
  user_agent    TEXT    NOT NULL      -- what it was begun with, shortened
) STRICT;
CREATE UNIQUE INDEX sessions_by_digest ON sessions (digest);
CREATE INDEX sessions_by_account ON sessions (account_id);

-- Browsers that signed in before; their failed attempts are counted separately.
CREATE TABLE devices (
  digest        BLOB    PRIMARY KEY,
  account_id    TEXT    NOT NULL REFERENCES accounts (id),
  last_used_at  INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX devices_by_account ON devices (account_id, last_used_at);

CREATE TABLE members (
  workspace_id  TEXT    NOT NULL REFERENCES workspaces (id),
  account_id    TEXT    NOT NULL REFERENCES accounts (id),
  role          TEXT    NOT NULL CHECK (role IN ('owner', 'member', 'auditor')),
  joined_at     INTEGER NOT NULL,
  PRIMARY KEY (workspace_id, account_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX members_by_account ON members (account_id);

-- Links that work once: to create an account, to join a workspace, or to set a password.
CREATE TABLE links (
  id            TEXT    PRIMARY KEY,  -- inv_…
  kind          TEXT    NOT NULL CHECK (kind IN ('setup', 'invitation', 'reset')),
  digest        BLOB    NOT NULL,
  workspace_id  TEXT    REFERENCES workspaces (id),  -- of an invitation
  role          TEXT    CHECK (role IN ('owner', 'member', 'auditor')),  -- of an invitation
  account_id    TEXT    REFERENCES accounts (id),    -- of a reset
  drops_totp    INTEGER NOT NULL DEFAULT 0,          -- 1: a reset that ends the second factor, too
  label         TEXT,                 -- whom it is for, for people
  created_at    INTEGER NOT NULL,
  created_by    TEXT    NOT NULL,     -- `cli`, `usr_…`, or `system` for the one that a start prints
  expires_at    INTEGER NOT NULL,
  used_at       INTEGER,
  used_by       TEXT,
  revoked_at    INTEGER
) STRICT;
CREATE UNIQUE INDEX links_by_digest ON links (digest);
CREATE INDEX links_by_workspace ON links (workspace_id, created_at);

-- The successor of a rotated key.
ALTER TABLE api_keys ADD COLUMN replaced_by TEXT;
