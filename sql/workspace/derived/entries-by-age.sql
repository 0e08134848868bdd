-- Finds the entries of an agent that are past their retention. Created with the first configuration of the
-- workspace that has a retention, and never dropped. It derives from the entries and proves nothing.
CREATE INDEX IF NOT EXISTS entries_by_age ON entries (agent, updated_at);
