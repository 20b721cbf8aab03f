-- +goose Up

-- SQLite does not notice a bit that flipped inside a value. What is stored
-- already is taken as it is found: there is nothing to compare it with.
ALTER TABLE records ADD COLUMN
    sum INTEGER NOT NULL DEFAULT 0 /* CRC-32C of the row, its id aside: tells what a disk changed */;

UPDATE records SET sum = record_sum(stream_id, partition_id, slice_id, key, data);
