-- +goose Up

CREATE TABLE lanes (
    -- What is known of the partitions of a stream in a lane, counted with each
    -- commit: to look at a hundred thousand of them takes a third of a second. What
    -- stands for a parent that no partition could be made of is not counted.
    stream_id  INTEGER NOT NULL REFERENCES streams,
    lane       TEXT NOT NULL,    -- incremental or backfill
    partitions INTEGER NOT NULL, -- with a checkpoint
    done       INTEGER NOT NULL, -- of these, walked to the end
    sum        INTEGER NOT NULL, -- of checkpoint_sum over them: tells one state of all checkpoints from another
    saved_at   TEXT NOT NULL,    -- when one of them was saved last
    PRIMARY KEY (stream_id, lane)
) STRICT, WITHOUT ROWID;

INSERT INTO lanes (stream_id, lane, partitions, done, sum, saved_at)
SELECT p.stream_id, c.lane, count(*), sum(c.done), sum(checkpoint_sum(p.partition, c.digest)), max(c.saved_at)
FROM partitions p CROSS JOIN checkpoints c ON c.partition_id = p.id
WHERE p.partition <> '' AND substr(p.partition, 1, 11) <> '{"_parent":'
GROUP BY p.stream_id, c.lane;
