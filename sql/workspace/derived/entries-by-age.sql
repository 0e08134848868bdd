-- Finds the entries of an agent that are past their retention. Made when a configuration with a retention first
-- comes into force in the workspace, and never dropped. It follows from the entries and proves nothing.
CREATE INDEX IF NOT EXISTS entries_by_age ON entries (agent, updated_at);
