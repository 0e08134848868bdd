-- Answers to requests with an Idempotency-Key. Each is stored in the transaction of its operation and kept for 24 hours.
-- When a request is repeated, it gets the stored answer, and nothing is done. Answers are not part of the audit record.
CREATE TABLE answers (
  event_seq  INTEGER PRIMARY KEY,  -- the operation's last event
  retry      BLOB    NOT NULL,     -- names who asked and the Idempotency-Key: 16 bytes of a SHA-256
  request    BLOB    NOT NULL,     -- SHA-256 of the Idempotency-Key and the request
  stored_at  INTEGER NOT NULL,     -- ms since the Unix epoch
  through    INTEGER NOT NULL,     -- bytes of all answers that were ever stored, this one included
  reply      TEXT    NOT NULL,     -- JSON: what the answer says besides its body
  body       TEXT                  -- JSON; NULL once data that it may show was erased
) STRICT;
CREATE UNIQUE INDEX answers_by_retry ON answers (retry);
