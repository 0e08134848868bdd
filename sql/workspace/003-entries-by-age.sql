-- Drops the index that finds expired entries where no entry expires, since every write updates it. It is now derived
-- data (derived/entries-by-age.sql). This migration does not run on a file whose configurations have a retention.
DROP INDEX IF EXISTS entries_by_age;
