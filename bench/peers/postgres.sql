-- Entries, and a trail of their changes that is chained with SHA-256 by a trigger.
CREATE TABLE entries (
  agent_id text NOT NULL,
  key text NOT NULL,
  value text NOT NULL,
  metadata jsonb NOT NULL,
  PRIMARY KEY (agent_id, key)
);
CREATE TABLE events (seq bigint PRIMARY KEY, body text NOT NULL, previous bytea NOT NULL, hash bytea NOT NULL);
-- The last event. Its row is the lock that keeps the chain in one line.
CREATE TABLE head (single boolean PRIMARY KEY DEFAULT true CHECK (single), seq bigint NOT NULL, hash bytea NOT NULL)
  WITH (fillfactor = 10);
INSERT INTO head (seq, hash) VALUES (0, sha256(''));

CREATE FUNCTION append_event() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  last head%ROWTYPE;
  body text;
  digest bytea;
BEGIN
  SELECT * INTO last FROM head FOR UPDATE;
  body := jsonb_build_object(
    'seq', last.seq + 1, 'operation', 'data.write', 'at', clock_timestamp(), 'agent', NEW.agent_id, 'key', NEW.key,
    'value', encode(sha256(convert_to(NEW.value, 'UTF8')), 'hex'),
    'metadata', encode(sha256(convert_to(NEW.metadata::text, 'UTF8')), 'hex'))::text;
  digest := sha256(last.hash || convert_to(body, 'UTF8'));
  INSERT INTO events VALUES (last.seq + 1, body, last.hash, digest);
  UPDATE head SET seq = last.seq + 1, hash = digest;
  RETURN NULL;
END
$$;
CREATE TRIGGER chained AFTER INSERT OR UPDATE ON entries FOR EACH ROW EXECUTE FUNCTION append_event();
