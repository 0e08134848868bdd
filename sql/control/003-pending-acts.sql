-- Acts that were decided and are not finished. An act changes members, invitations, keys or workspaces: it is decided,
-- and stored here in the same transaction; then its event is recorded in the workspace's log; then its changes are
-- applied and this row is deleted, in one transaction. A row that a crash left tells the next start which event to look
-- for, and what to apply if it is there.
CREATE TABLE pending_acts (
  workspace_id  TEXT    PRIMARY KEY,  -- one at a time for each workspace, which may be the one that the act creates
  event         TEXT    NOT NULL,     -- JSON: the event to record, with its id
  genesis       TEXT,                 -- JSON: the workspace that the act creates; NULL for other acts
  changes       TEXT    NOT NULL      -- JSON: what to change in this database
) STRICT;
