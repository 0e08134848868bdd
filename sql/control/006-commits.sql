-- How many transactions changed this database, as 16 hexadecimal digits: one row. Each transaction changes this page, so
-- that the daemon notices when another program overwrites the file.
CREATE TABLE commits (
  one     INTEGER PRIMARY KEY CHECK (one = 1),
  number  TEXT    NOT NULL
) STRICT;
INSERT INTO commits VALUES (1, '0000000000000000');
