-- Receivers outside, to which the events of a workspace are delivered.
CREATE TABLE sinks (
  id                  TEXT    PRIMARY KEY,
  workspace_id        TEXT    NOT NULL REFERENCES workspaces (id),
  type                TEXT    NOT NULL,     -- webhook
  url                 TEXT    NOT NULL,
  format              TEXT    NOT NULL,     -- governd, cloudevents, ocsf
  filter              TEXT    NOT NULL,     -- JSON: operations, results, agents; {} is all events
  include_details     INTEGER NOT NULL,     -- 1: the details of events are delivered, too
  start               TEXT    NOT NULL,     -- JSON: "now", "beginning", or the position of the first event
  enabled             INTEGER NOT NULL,     -- 0: nothing is delivered
  ca                  TEXT,                 -- PEM: what the receiver's certificate is checked with; NULL: as the system
  client_certificate  TEXT,                 -- PEM
  secrets             TEXT    NOT NULL,     -- JSON, encrypted with keys/sinks.key: the client's key, token, signing keys
  created_at          INTEGER NOT NULL,     -- ms since the Unix epoch
  created_by          TEXT    NOT NULL,
  position            INTEGER,              -- the last event that was acknowledged; NULL before the first
  delivered_at        INTEGER,              -- when that was, ms since the Unix epoch
  last_error          TEXT                  -- JSON: at, message; NULL when the last delivery was acknowledged
) STRICT;
CREATE INDEX sinks_by_workspace ON sinks (workspace_id);
