-- What a pruning kept, as of its event: the versions of entries, and the checkpoints, in the order in which the event's
-- digest covers them. Created with the first pruning, and replaced by each later one. Positions alone: keys and contents are
-- in the events, which the pruning keeps.
CREATE TABLE IF NOT EXISTS kept_rows (
  id          INTEGER PRIMARY KEY,  -- 1, 2, 3 …
  event_seq   INTEGER NOT NULL,     -- entries.written_seq; of a checkpoint its event_seq
  created_seq INTEGER,              -- entries.created_seq; NULL for a checkpoint
  live_from   INTEGER,              -- entries.live_from; NULL for a checkpoint
  live_to     INTEGER               -- entries.live_to
) STRICT;
