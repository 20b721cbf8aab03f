-- +goose Up

-- What the provider deleted keeps its data: it is marked, and never removed.
ALTER TABLE records ADD COLUMN
    deleted INTEGER NOT NULL DEFAULT 0 /* the commit that marked it as deleted, or 0; a later version of it ends that */;

-- They are counted, and few.
CREATE INDEX records_deleted ON records (stream_id, deleted) WHERE deleted <> 0;

ALTER TABLE slices ADD COLUMN
    deleted INTEGER NOT NULL DEFAULT 0 /* records that it marked as deleted */;

ALTER TABLE runs ADD COLUMN
    deleted INTEGER NOT NULL DEFAULT 0 /* records that were marked as deleted */;

CREATE TABLE sweeps (
    -- The streams in which a complete walk marks what it did not show.
    stream_id INTEGER PRIMARY KEY REFERENCES streams,
    accepted  INTEGER NOT NULL -- how many records it may mark was left to it by a person: 0 no, 1 the next time, more: the pass that did
) STRICT;

CREATE TABLE sightings (
    -- Of streams in sweeps: which partition showed a record, and when last. A record may be shown by several.
    record_id    INTEGER NOT NULL REFERENCES records,
    partition_id INTEGER NOT NULL REFERENCES partitions,
    seen         INTEGER NOT NULL, -- the commit; 0: before the stream was in sweeps
    PRIMARY KEY (record_id, partition_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX sightings_by_partition ON sightings (partition_id);
