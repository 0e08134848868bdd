-- Who may use this daemon: workspaces with their API keys; people with their sessions, second factors and roles
-- in workspaces.
--
-- Times are milliseconds since the Unix epoch. `…_by` names who did it as the audit log does: `cli`, `usr_…` or `key_…`.
--
-- Secrets that people or browsers hold (sessions, links, recovery codes, devices) are long and random, and stored as
-- SHA-256; a password is stored as an Argon2id string. An authenticator's secret is encrypted with
-- keys/second-factor.key, since the codes are computed from it.

-- How many transactions changed this database, as 16 hexadecimal digits: one row. Each transaction changes this page, so
-- that the daemon notices when another program overwrites the file.
CREATE TABLE commits (
  one     INTEGER PRIMARY KEY CHECK (one = 1),
  number  TEXT    NOT NULL
) STRICT;
INSERT INTO commits VALUES (1, '0000000000000000');

CREATE TABLE workspaces (
  id                   TEXT    PRIMARY KEY,  -- ws_…; also the name of its file
  name                 TEXT    NOT NULL,     -- for people; need not be unique
  created_at           INTEGER NOT NULL,
  created_by           TEXT    NOT NULL,
  second_factor_since  INTEGER               -- since when members need a second factor to use it; NULL is never
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
  revoked_by    TEXT,
  replaced_by   TEXT,                 -- the successor of a rotated key
  networks      TEXT                  -- JSON array of the addresses and networks (CIDR) it works from; NULL is everywhere
) STRICT;
CREATE UNIQUE INDEX api_keys_by_digest ON api_keys (digest);
CREATE INDEX api_keys_by_workspace ON api_keys (workspace_id, created_at, id);

-- Which workspaces have sinks: only an index that wakes the delivery up, which then reads the workspace's file. It follows
-- the files, and a workspace that is opened with sinks is added again.
CREATE TABLE sink_workspaces (
  workspace_id  TEXT    PRIMARY KEY,
  changes       INTEGER NOT NULL  -- counts up with every change of the workspace's sinks
) STRICT;

-- A person.
CREATE TABLE accounts (
  id                   TEXT    PRIMARY KEY,  -- usr_…; the actor of what is done with it
  email                TEXT    NOT NULL,     -- lower case; a name to sign in with, never written to
  name                 TEXT    NOT NULL,     -- for people
  password             TEXT    NOT NULL,     -- PHC string, Argon2id; '' when there is none
  password_changed_at  INTEGER NOT NULL,
  totp_secret          TEXT,                 -- encrypted; NULL when none was ever begun, or it was disabled
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
  id              TEXT    PRIMARY KEY,  -- ses_…
  account_id      TEXT    NOT NULL REFERENCES accounts (id),
  digest          BLOB    NOT NULL,
  created_at      INTEGER NOT NULL,
  last_seen_at    INTEGER NOT NULL,     -- written in batches, so up to half a minute late
  expires_at      INTEGER NOT NULL,     -- whatever its use; an idle one ends before
  address         TEXT    NOT NULL,     -- where it was begun from
  user_agent      TEXT    NOT NULL,     -- what it was begun with, shortened
  issuer_session  TEXT                  -- at the issuer; '' when it named none, NULL when it began with a password
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

-- Passkeys (WebAuthn): the private key stays in the authenticator.
CREATE TABLE passkeys (
  id             TEXT    PRIMARY KEY,  -- pky_…
  account_id     TEXT    NOT NULL REFERENCES accounts (id),
  name           TEXT    NOT NULL,
  rp_id          TEXT    NOT NULL,     -- the host name under which it was made, and works
  credential_id  TEXT    NOT NULL UNIQUE,  -- base64url
  public_key     TEXT    NOT NULL,     -- COSE key, base64url
  counter        INTEGER NOT NULL,     -- of the last signature; 0 when the authenticator does not count
  created_at     INTEGER NOT NULL,     -- ms since the Unix epoch
  last_used_at   INTEGER
) STRICT;
CREATE INDEX passkeys_by_account ON passkeys (account_id);

-- People who sign in by an OpenID issuer. Issuer and subject identify somebody; a mail address never does.
CREATE TABLE identities (
  issuer        TEXT    NOT NULL,
  subject       TEXT    NOT NULL,
  account_id    TEXT    NOT NULL REFERENCES accounts (id),
  linked_at     INTEGER NOT NULL,
  multi_factor  INTEGER NOT NULL DEFAULT 0,  -- 1: at the last sign-in, the issuer had asked for more than one factor
  PRIMARY KEY (issuer, subject)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX identities_by_account ON identities (account_id, issuer);

-- The members whose role came from the issuer's groups: it is read again at each of their sign-ins.
CREATE TABLE issued_roles (
  workspace_id  TEXT NOT NULL REFERENCES workspaces (id),
  account_id    TEXT NOT NULL REFERENCES accounts (id),
  PRIMARY KEY (workspace_id, account_id)
) STRICT, WITHOUT ROWID;

-- What the operator chose at the command line over the setting `oidc_only`: one row.
CREATE TABLE issuer_only (
  one     INTEGER PRIMARY KEY CHECK (one = 1),
  chosen  INTEGER  -- NULL: the setting applies
) STRICT;
INSERT INTO issuer_only VALUES (1, NULL);

-- Acts that were decided and are not finished. An act changes members, invitations, keys or workspaces: it is decided,
-- and stored here in the same transaction; then its event is recorded in the workspace's log; then its changes are
-- applied and this row is deleted, in one transaction. A row that a crash left tells the next start which event to look
-- for, and what to apply if it is there.
CREATE TABLE pending_acts (
  workspace_id  TEXT    PRIMARY KEY,  -- one at a time for each workspace, which may be the one that the act creates
  event         TEXT    NOT NULL,     -- JSON: the event to record, with the random part of its id
  genesis       TEXT,                 -- JSON: the workspace that the act creates; NULL for other acts
  changes       TEXT    NOT NULL      -- JSON: what to change in this database
) STRICT;
