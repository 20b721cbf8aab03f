-- +goose Up

CREATE TABLE claims (
    -- The partitions that delivered a record which another one has now, or delivered
    -- with other bytes: a record that moved, or two records of one key.
    record_id    INTEGER NOT NULL REFERENCES records,
    partition_id INTEGER NOT NULL REFERENCES partitions,
    seen         INTEGER NOT NULL, -- the newest commit that is known to have brought it from there
    PRIMARY KEY (record_id, partition_id)
) STRICT, WITHOUT ROWID;

-- A rejected record that comes again and is stored is not rejected any more.
ALTER TABLE quarantine ADD COLUMN
    key TEXT NOT NULL DEFAULT '' /* that it would be stored under; '': not known */;

CREATE INDEX quarantine_by_digest ON quarantine (stream_id, digest);

CREATE INDEX quarantine_by_key ON quarantine (stream_id, key) WHERE key <> '';
