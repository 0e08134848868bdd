-- Vectors of the entries by an external model. Created when a model is first set. They derive from the entries and
-- prove nothing; each is deleted together with its content.
CREATE TABLE search_vectors (
  made         INTEGER PRIMARY KEY AUTOINCREMENT,  -- the order in which they were made
  entry        INTEGER NOT NULL UNIQUE,            -- entries.id
  agent        INTEGER NOT NULL,                   -- agents.first_seq
  written_seq  INTEGER NOT NULL,                   -- of the content
  model        TEXT    NOT NULL,                   -- whose vectors they are
  dimensions   INTEGER NOT NULL,
  vectors      BLOB    NOT NULL                    -- 32-bit floats, little-endian, one vector behind the other
) STRICT;
CREATE INDEX search_vectors_by_agent ON search_vectors (agent, made);
CREATE TRIGGER search_vectors_deleted AFTER DELETE ON entries BEGIN
  DELETE FROM search_vectors WHERE entry = old.id;
END;
CREATE TRIGGER search_vectors_overwritten AFTER UPDATE OF written_seq, live_to ON entries BEGIN
  DELETE FROM search_vectors WHERE entry = old.id;
END;

-- Progress of the computation: one row.
CREATE TABLE search_embedding (
  one          INTEGER PRIMARY KEY CHECK (one = 1),
  model        TEXT    NOT NULL,
  after        INTEGER,           -- entries.id up to which a pass over all entries has come; NULL when none is needed
  through_seq  INTEGER NOT NULL   -- events up to here are followed, or are met by the pass
) STRICT;
