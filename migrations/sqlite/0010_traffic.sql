-- +goose Up

CREATE TABLE traffic (
    -- What became of all that a connector ever asked for: attempts, calls, throttle
    -- signals, waits, and how long attempts took. Counts only grow, so that they are
    -- one counter across all runs. A run adds to its row every few seconds.
    connector TEXT NOT NULL PRIMARY KEY,
    counts    TEXT NOT NULL -- JSON
) STRICT, WITHOUT ROWID;
