-- +goose Up

CREATE TABLE schemas (
    -- What the top-level fields of a stream's records were so far.
    stream_id INTEGER PRIMARY KEY REFERENCES streams,
    schema    TEXT NOT NULL -- JSON: the records that were looked at, and of each field the kinds of its values
) STRICT;
