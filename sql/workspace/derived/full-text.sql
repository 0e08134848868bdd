-- The full-text index of agents that are too large for an index in memory. Created when the first such agent of the
-- workspace is searched. It derives from the entries and proves nothing.

-- The indexed agents, and the progress of each.
CREATE TABLE search_agents (
  agent              INTEGER PRIMARY KEY,  -- agents.first_seq
  phase              TEXT    NOT NULL,     -- adding: not all entries are in it; clearing: all are, and maybe more; merging: the words of those taken out leave the file; complete; dropping
  after              TEXT    NOT NULL,     -- key (adding, clearing) up to which the phase has come
  through_agent_seq  INTEGER NOT NULL,     -- the agent's events up to here are in it, or are by the end of the phase
  started_at_entries INTEGER NOT NULL      -- live entries when it was wanted; well below, it is dropped
) STRICT;

-- The indexed entries.
CREATE TABLE search_rows (
  entry        INTEGER PRIMARY KEY,  -- entries.id when it was added
  agent        INTEGER NOT NULL,
  key          TEXT    NOT NULL,
  written_seq  INTEGER NOT NULL      -- of the content that was added
) STRICT;
CREATE UNIQUE INDEX search_rows_by_key ON search_rows (agent, key);

-- Their words, each prefixed with its agent, so that the words of agents are counted separately.
CREATE VIRTUAL TABLE search_texts USING fts5 (
  words, content = '', contentless_delete = 1,
  tokenize = "unicode61 remove_diacritics 0 categories 'L* M* N* P* S* C*'"
);
CREATE VIRTUAL TABLE search_terms USING fts5vocab (search_texts, row);
