-- +goose Up

CREATE TABLE pauses (
    -- Connectors that a person paused: no run of them begins.
    connector TEXT NOT NULL PRIMARY KEY,
    at        TEXT NOT NULL,
    who       TEXT NOT NULL,
    why       TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- What people ordered is asked for by itself. A breaker and a freeze change by
-- themselves, too; their events say who did it.
CREATE INDEX events_ordered ON events (id) WHERE kind IN ('gap.revived', 'gap.waived', 'schema.accepted', 'checkpoint.reset',
    'store.restored', 'history.pruned', 'breaker.changed', 'freeze.changed', 'budget.ordered', 'connector.paused', 'connector.unpaused');
