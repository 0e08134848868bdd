-- When an entry ends by itself. NULL for most entries, and the index holds only the others, so writes of entries without
-- such a time do not pay for it.
ALTER TABLE entries ADD COLUMN expires_at INTEGER;  -- as the event written_seq states it, ms; NULL for no such time
CREATE INDEX entries_by_expiry ON entries (agent, expires_at) WHERE expires_at IS NOT NULL;
