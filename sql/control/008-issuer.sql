-- People who sign in by an OpenID issuer. Issuer and subject identify somebody; a mail address never does. Such an account
-- may have no password: '' in accounts.password.
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

-- The session at the issuer; '' when it named none, NULL for a session that began with a password.
ALTER TABLE sessions ADD COLUMN issuer_session TEXT;

-- What the operator chose at the command line over the setting `oidc_only`: one row.
CREATE TABLE issuer_only (
  one     INTEGER PRIMARY KEY CHECK (one = 1),
  chosen  INTEGER  -- NULL: the setting applies
) STRICT;
INSERT INTO issuer_only VALUES (1, NULL);
