-- Expired entries are found by this index, and every write pays for it: it goes where nothing expires.
-- From here on it is derived data (derived/entries-by-age.sql). A file in whose configurations a retention
-- stands keeps it, and this is not run.
DROP INDEX IF EXISTS entries_by_age;
