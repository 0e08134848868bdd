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
