-- +goose Up

-- Full-line comments before a statement are not stored in the database. What
-- a reader of .schema should know therefore stands inside the statements.

-- "coll": tells a store from any other SQLite file.
PRAGMA application_id = 0x636f6c6c;

CREATE TABLE meta (
    -- What belongs to the file as a whole.
    name  TEXT NOT NULL PRIMARY KEY,
    value BLOB NOT NULL
) STRICT;

-- 32 bytes from the generator of SQLite, which the operating system seeds.
INSERT INTO meta (name, value) VALUES ('salt', randomblob(32));

CREATE TABLE streams (
    -- The kinds of record a connector offers. Rows are never deleted.
    id        INTEGER PRIMARY KEY,
    connector TEXT NOT NULL,
    name      TEXT NOT NULL,
    role      TEXT NOT NULL,    -- list, or detail: fetched per parent record
    parent    TEXT NOT NULL,    -- the stream whose records are its partitions; '' for none
    refresh   TEXT NOT NULL,    -- each_run, when_changed, once: when a partition is collected again
    ordered   INTEGER NOT NULL, -- 1: records arrive oldest first
    position  INTEGER NOT NULL, -- in the order the connector declares
    view      TEXT NOT NULL,    -- the view that shows its records as columns
    records   INTEGER NOT NULL, -- how many it has: counting a million rows takes a second
    UNIQUE (connector, name)
) STRICT;

CREATE TABLE fields (
    -- The top-level fields seen in the records of a stream, in the order first seen.
    stream_id INTEGER NOT NULL REFERENCES streams,
    position  INTEGER NOT NULL,
    name      TEXT NOT NULL,
    PRIMARY KEY (stream_id, position)
) STRICT, WITHOUT ROWID;

CREATE TABLE partitions (
    -- The parents inside a stream, one row each, so that a record names its own by a number.
    id        INTEGER PRIMARY KEY,
    stream_id INTEGER NOT NULL REFERENCES streams,
    partition TEXT NOT NULL, -- a JSON object of what the parent binds; '' is the stream itself
    UNIQUE (stream_id, partition)
) STRICT;

CREATE TABLE records (
    -- What was collected: one row per record and key, the newest version delivered.
    -- Rows are never deleted.
    id           INTEGER PRIMARY KEY,
    stream_id    INTEGER NOT NULL REFERENCES streams,
    key          TEXT NOT NULL,
    partition_id INTEGER NOT NULL REFERENCES partitions, -- where it was found
    slice_id     INTEGER NOT NULL REFERENCES slices,     -- the commit that stored this version
    data         TEXT NOT NULL,                          -- the bytes of the provider, unchanged
    UNIQUE (stream_id, key)
) STRICT;

CREATE TABLE quarantine (
    -- What the provider sent and could not be stored under a key. Never dropped.
    id           INTEGER PRIMARY KEY,
    stream_id    INTEGER NOT NULL REFERENCES streams,
    partition_id INTEGER NOT NULL REFERENCES partitions,
    reason       TEXT NOT NULL,              -- no_key, bad_key, key_collision, too_large, not_an_object
    digest       BLOB NOT NULL,              -- SHA-256 of data: the same bytes are kept once
    data         BLOB NOT NULL,              -- bytes, because they need not be text; the shell prints them
    seen         INTEGER NOT NULL,           -- how often they were sent
    first_slice  INTEGER NOT NULL,           -- the first commit that brought them
    last_slice   INTEGER NOT NULL,           -- the last one
    UNIQUE (stream_id, partition_id, reason, digest)
) STRICT;

CREATE TABLE checkpoints (
    -- Where the walk of each place stands: everything before it is in records
    -- or quarantine, because both change in one transaction.
    partition_id INTEGER NOT NULL REFERENCES partitions,
    lane         TEXT NOT NULL,    -- incremental or backfill
    token        BLOB NOT NULL,    -- the provider's token of the next slice, byte for byte
    since        BLOB NOT NULL,    -- the high-water mark this walk asks from
    high         BLOB NOT NULL,    -- the highest mark seen by an unordered walk in progress
    version      BLOB NOT NULL,    -- the version of the parent, or the pass, that the walk covers
    done         INTEGER NOT NULL, -- 1: the walk reached its end
    digest       BLOB NOT NULL,    -- SHA-256 of the five, to compare by
    slice_id     INTEGER NOT NULL, -- the newest commit of the place; 0 for none
    epoch        INTEGER NOT NULL, -- the lease it was written under
    saved_at     TEXT NOT NULL,
    PRIMARY KEY (partition_id, lane)
) STRICT, WITHOUT ROWID;

CREATE TABLE slices (
    -- The commits, one row each: the audit trail of every checkpoint, and at
    -- the same time the event slice.committed. Rows are never deleted, so that
    -- numbers only grow.
    id           INTEGER PRIMARY KEY,
    partition_id INTEGER NOT NULL REFERENCES partitions,
    lane         TEXT NOT NULL,
    run          TEXT NOT NULL,
    epoch        INTEGER NOT NULL,
    previous     INTEGER NOT NULL, -- the commit before it at this place; 0 for none
    fills        INTEGER NOT NULL, -- the gap it fills; 0 for forward work
    records      INTEGER NOT NULL, -- delivered
    changed      INTEGER NOT NULL, -- new, or different from what was stored
    rejected     INTEGER NOT NULL, -- put in quarantine
    done         INTEGER NOT NULL, -- 1: the walk of its place reached its end
    committed_at TEXT NOT NULL
) STRICT;

CREATE TABLE gaps (
    -- The pieces that are owed, and the newest of those that were.
    --
    --   open --> leased --> recovered    its records were committed, in the same transaction
    --     ^        |  +---> superseded   a reset covers it
    --     +--------+  +---> dead         nothing will try it again by itself
    id            INTEGER PRIMARY KEY AUTOINCREMENT,
    stream_id     INTEGER NOT NULL REFERENCES streams,
    partition_id  INTEGER NOT NULL REFERENCES partitions,
    lane          TEXT NOT NULL,
    token         BLOB NOT NULL,    -- this and the next four: the cursor to go on at
    since         BLOB NOT NULL,
    high          BLOB NOT NULL,
    version       BLOB NOT NULL,
    done          INTEGER NOT NULL,
    digest        BLOB NOT NULL,    -- SHA-256 of the cursor, to find it by
    covers        BLOB NOT NULL,    -- the version of the parent, or the pass, the walk was to cover
    shape         TEXT NOT NULL,    -- SLICE_GAP or DETAIL_GAP
    reason        TEXT NOT NULL,
    kind          TEXT NOT NULL,    -- planned: the next run goes on; provider: time helps; stuck: a person
    detail        TEXT NOT NULL,
    state         TEXT NOT NULL,
    behind        INTEGER NOT NULL, -- 1: the walk went on behind it; only filling it closes it
    attempts      INTEGER NOT NULL, -- times it was really tried and failed
    not_before    TEXT,             -- NULL: at any time
    opened_at     TEXT NOT NULL,
    tried_at      TEXT,             -- NULL: never
    closed_at     TEXT,             -- NULL: still owed
    run           TEXT NOT NULL,    -- the run that opened it
    deferred_epoch INTEGER NOT NULL, -- the lease it was last opened or renewed under
    leased_epoch  INTEGER NOT NULL  -- the lease it was last tried under; 0: never
) STRICT;

-- At most one gap is owed at a cursor of a place.
CREATE UNIQUE INDEX gaps_owed ON gaps (partition_id, lane, digest)
    WHERE state IN ('open', 'leased', 'dead');

-- What a run may try, without a look at what is closed.
CREATE INDEX gaps_open ON gaps (stream_id, lane) WHERE state IN ('open', 'leased');

CREATE TABLE runs (
    -- Every execution of a connector, with its verdict.
    number     INTEGER PRIMARY KEY, -- in the order of their start
    id         TEXT NOT NULL UNIQUE,
    connector  TEXT NOT NULL,
    mode       TEXT NOT NULL,    -- run: forward work first; resume: gaps first
    lane       TEXT NOT NULL,
    params     TEXT NOT NULL,    -- JSON: the parameters of the connector
    domain     TEXT NOT NULL,    -- the pacing domain: see provider_state
    source     TEXT NOT NULL,    -- the connector file; '' if it was not one
    outcome    TEXT NOT NULL,    -- running, complete, nothing_new, deferred, waiting, blocked, interrupted, failed, abandoned
    reason     TEXT NOT NULL,    -- why it stopped before the end; '' if it did not
    host       TEXT NOT NULL,
    pid        INTEGER NOT NULL,
    epoch      INTEGER NOT NULL,
    started_at TEXT NOT NULL,
    beat_at    TEXT NOT NULL,    -- when it last said that it is alive
    ended_at   TEXT,             -- NULL while it runs
    exit_code  INTEGER NOT NULL, -- of its process; -1 until the run ends, and for ever if the process died
    requests   INTEGER NOT NULL, -- attempts, retries included
    retries    INTEGER NOT NULL,
    throttled  INTEGER NOT NULL,
    slices     INTEGER NOT NULL,
    records    INTEGER NOT NULL, -- delivered
    changed    INTEGER NOT NULL, -- new, or different from what was stored
    rejected   INTEGER NOT NULL,
    gaps_open  INTEGER NOT NULL, -- opened
    gaps_shut  INTEGER NOT NULL, -- recovered
    waited     TEXT NOT NULL     -- JSON: cause to nanoseconds
) STRICT;

CREATE INDEX runs_by_connector ON runs (connector, number);

CREATE TABLE leases (
    -- Who runs a connector. The lock itself is a file beside the database,
    -- which the kernel frees with its holder; this row says whose it is.
    connector TEXT NOT NULL PRIMARY KEY,
    epoch     INTEGER NOT NULL, -- grows each time the lease is taken; every write checks it
    run       TEXT,             -- NULL: released
    host      TEXT NOT NULL,
    pid       INTEGER NOT NULL,
    since     TEXT NOT NULL,
    beat_at   TEXT NOT NULL,
    writes    INTEGER NOT NULL  -- number of the newest write: tells, after an error, whether it took effect
) STRICT;

CREATE TABLE provider_state (
    -- What was learned of each provider's account: pace, breaker, freeze.
    domain   TEXT NOT NULL PRIMARY KEY,
    state    TEXT NOT NULL, -- JSON
    saved_at TEXT NOT NULL
) STRICT;

CREATE TABLE events (
    -- What happened, other than commits: those are rows of slices. The newest
    -- of each connector are kept.
    id        INTEGER PRIMARY KEY AUTOINCREMENT,
    at        TEXT NOT NULL,
    kind      TEXT NOT NULL,
    connector TEXT NOT NULL,
    run       TEXT NOT NULL,
    provider  TEXT NOT NULL,
    stream    TEXT NOT NULL,
    partition TEXT NOT NULL,
    lane      TEXT NOT NULL,
    info      TEXT NOT NULL  -- JSON: what belongs to the kind
) STRICT;

CREATE INDEX events_by_connector ON events (connector, id);
