-- Entries, and a trail of their changes that is chained with SHA-256 by a trigger.
CREATE TABLE entries (
  agent_id text NOT NULL,
  key text NOT NULL,
  value text NOT NULL,
  metadata jsonb NOT NULL,
  PRIMARY KEY (agent_id, key)
);
CREATE TABLE events (seq bigint PRIMARY KEY, body text NOT NULL, previous bytea NOT NULL, hash bytea NOT NULL);
INSERT INTO events VALUES (0, '', '', sha256(''));

CREATE FUNCTION append_event() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  last events%ROWTYPE;
  body text;
  digest bytea;
BEGIN
  -- Keeps the chain in one line until the commit.
  PERFORM pg_advisory_xact_lock(1);
  SELECT * INTO last FROM events ORDER BY seq DESC LIMIT 1;
  body := jsonb_build_object(
    'seq', last.seq + 1, 'operation', 'data.write', 'at', clock_timestamp(), 'agent', NEW.agent_id, 'key', NEW.key,
    'value', encode(sha256(convert_to(NEW.value, 'UTF8')), 'hex'),
    'metadata', encode(sha256(convert_to(NEW.metadata::text, 'UTF8')), 'hex'))::text;
  digest := sha256(last.hash || convert_to(body, 'UTF8'));
  INSERT INTO events VALUES (last.seq + 1, body, last.hash, digest);
  RETURN NULL;
END
$$;
CREATE TRIGGER chained AFTER INSERT OR UPDATE ON entries FOR EACH ROW EXECUTE FUNCTION append_event();
