PRAGMA application_id = 1668246636;

CREATE TABLE goose_db_version (
		id INTEGER PRIMARY KEY AUTOINCREMENT,
		version_id INTEGER NOT NULL,
		is_applied INTEGER NOT NULL,
		tstamp TIMESTAMP DEFAULT (datetime('now'))
	);

CREATE TABLE meta (
    -- What belongs to the file as a whole.
    name  TEXT NOT NULL PRIMARY KEY,
    value BLOB NOT NULL
) STRICT;

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
    name      TEXT NOT NULL, escaped INTEGER NOT NULL DEFAULT 0 /* 1: some records spell the name with an escape, as in "caf\u00e9" */,
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
    data         TEXT NOT NULL, sum INTEGER NOT NULL DEFAULT 0 /* CRC-32C of the row, its id aside: tells what a disk changed */, mark_scale TEXT NOT NULL DEFAULT '' /* what mark counts: the field of the record and the kind of its values; '' for no mark */, mark TEXT NOT NULL DEFAULT '' /* when this version is from: sorts as text among those of one scale */, pass INTEGER NOT NULL DEFAULT 0 /* the commit that began the pass that delivered it last; 0: a pass of one page */, deleted INTEGER NOT NULL DEFAULT 0 /* the commit that marked it as deleted, or 0; a later version of it ends that */,                          -- the bytes of the provider, unchanged
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
    last_slice   INTEGER NOT NULL, key TEXT NOT NULL DEFAULT '' /* that it would be stored under; '': not known */,           -- the last one
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
    saved_at     TEXT NOT NULL, evidence TEXT NOT NULL DEFAULT '' /* JSON: what the newest pass delivered, and what the provider said of the whole; '': nothing to be said */, meaning BLOB NOT NULL DEFAULT x'' /* the connector's note of what the cursor says something about */,
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
, older INTEGER NOT NULL DEFAULT 0 /* delivered, and not stored: a later version was there, by its mark */, deleted INTEGER NOT NULL DEFAULT 0 /* records that it marked as deleted */, span TEXT NOT NULL DEFAULT '' /* JSON: the window of time that this commit finished, and how many records the provider had for it; '' for none */) STRICT;

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
, meaning BLOB NOT NULL DEFAULT x'' /* part of the cursor, as in checkpoints */, waived_at TEXT /* NULL: it is not waived */, waived_by TEXT NOT NULL DEFAULT '' /* who waived it */, waived_why TEXT NOT NULL DEFAULT '' /* the reason that they gave */) STRICT;

CREATE UNIQUE INDEX gaps_owed ON gaps (partition_id, lane, digest)
    WHERE state IN ('open', 'leased', 'dead');

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
, older INTEGER NOT NULL DEFAULT 0 /* delivered, and not stored: a later version was there, by its mark */, deleted INTEGER NOT NULL DEFAULT 0 /* records that were marked as deleted */, accounts TEXT NOT NULL DEFAULT '[]' /* then all of them, as JSON: [{"domain", "from"}], that of domain first */) STRICT;

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

CREATE VIEW owed AS SELECT
    -- The pieces that are owed, oldest first. What is gone is owed by nobody.
    s.connector AS connector,
    s.name AS stream,
    p.partition AS partition,
    g.lane AS lane,
    g.shape AS shape,           -- DETAIL_GAP or SLICE_GAP
    g.reason AS reason,
    g.kind AS kind,             -- planned: the next run goes on; provider: time helps; stuck: a person
    g.attempts AS tries,
    g.not_before AS not_before, -- NULL: at any time
    g.state AS state,           -- open, leased by a run, or dead: nothing tries it by itself
    g.detail AS detail,
    g.opened_at AS opened_at,
    g.id AS gap
FROM gaps g JOIN streams s ON s.id = g.stream_id JOIN partitions p ON p.id = g.partition_id
WHERE g.state IN ('open', 'leased', 'dead') AND g.reason <> 'gone'
ORDER BY g.opened_at, g.id;

CREATE VIEW pace AS WITH
    -- What the next run begins with: one row for each account, and for each
    -- route of its requests that the provider counts apart.
    kept AS (SELECT domain, saved_at, CASE WHEN json_valid(state) THEN state END AS state FROM provider_state),
    holds AS (SELECT *, json_extract(state, '$.hold_until') AS one, json_extract(state, '$.routes[0].hold_until') AS two FROM kept),
    learned AS (
        SELECT domain, saved_at, state, '' AS route, max(coalesce(one, two), coalesce(two, one)) AS silent_until, state AS memory
        FROM holds
        UNION ALL
        SELECT k.domain, k.saved_at, k.state, coalesce(json_extract(r.value, '$.name'), json_extract(r.value, '$.key'), ''),
            json_extract(r.value, '$.hold_until'), json_extract(r.value, '$.memory')
        FROM kept k JOIN json_each(k.state, '$.routes') r WHERE r.key > 0
    )
SELECT
    rtrim(rtrim(domain, '0123456789abcdef'), '/') AS provider,
    domain AS account,          -- the provider and a salted hash of the credential, as in runs
    route,                      -- '' for requests without a route of their own
    json_extract(memory, '$.interval_ns') / 1e6 AS warm_start_ms,  -- between two requests; NULL: nothing was learned
    1e9 / json_extract(memory, '$.interval_ns') AS learned_per_second,
    json_extract(state, '$.ceiling_per_second') AS ceiling_per_second, -- NULL: none was declared
    json_extract(memory, '$.heard_at') AS heard_at,                -- when the provider last confirmed the pace
    silent_until,                                                  -- it asked for silence
    CASE WHEN json_extract(state, '$.breaker') IS NULL THEN 'closed'
        ELSE coalesce(json_extract(state, '$.breaker.forced.to'), 'open') END AS breaker,
    CASE WHEN json_extract(state, '$.breaker.forced') IS NULL THEN json_extract(state, '$.breaker.until')
        END AS breaker_until,   -- when a probe leaves; NULL: it is closed, or an operator holds it
    json_extract(state, '$.freeze.reason') AS freeze,              -- NULL: not frozen
    json_extract(state, '$.freeze.until') AS freeze_until,         -- when a test request leaves; NULL: an operator ends it
    saved_at
FROM learned
ORDER BY 1, 2, 3;

CREATE TABLE schemas (
    -- What the top-level fields of a stream's records were so far.
    stream_id INTEGER PRIMARY KEY REFERENCES streams,
    schema    TEXT NOT NULL -- JSON: the records that were looked at, and of each field the kinds of its values
) STRICT;

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

CREATE INDEX records_deleted ON records (stream_id, deleted) WHERE deleted <> 0;

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

CREATE TABLE traffic (
    -- What became of all that a connector ever asked for: attempts, calls, throttle
    -- signals, waits, and how long attempts took. Counts only grow, so that they are
    -- one counter across all runs. A run adds to its row every few seconds.
    connector TEXT NOT NULL PRIMARY KEY,
    counts    TEXT NOT NULL -- JSON
) STRICT, WITHOUT ROWID;

CREATE TABLE claims (
    -- The partitions that delivered a record which another one has now, or delivered
    -- with other bytes: a record that moved, or two records of one key.
    record_id    INTEGER NOT NULL REFERENCES records,
    partition_id INTEGER NOT NULL REFERENCES partitions,
    seen         INTEGER NOT NULL, -- the newest commit that is known to have brought it from there
    PRIMARY KEY (record_id, partition_id)
) STRICT, WITHOUT ROWID;

CREATE INDEX quarantine_by_digest ON quarantine (stream_id, digest);

CREATE INDEX quarantine_by_key ON quarantine (stream_id, key) WHERE key <> '';

CREATE TABLE pauses (
    -- Connectors that a person paused: no run of them begins.
    connector TEXT NOT NULL PRIMARY KEY,
    at        TEXT NOT NULL,
    who       TEXT NOT NULL,
    why       TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX events_ordered ON events (id) WHERE kind IN ('gap.revived', 'gap.waived', 'schema.accepted', 'checkpoint.reset',
    'store.restored', 'history.pruned', 'breaker.changed', 'freeze.changed', 'budget.ordered', 'connector.paused', 'connector.unpaused');

CREATE INDEX gaps_of_stream ON gaps (stream_id) WHERE state IN ('open', 'leased', 'dead');

INSERT INTO goose_db_version (version_id, is_applied) VALUES (0, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (1, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (2, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (3, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (4, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (5, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (6, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (7, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (8, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (9, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (10, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (11, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (12, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (13, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (14, 1);
INSERT INTO goose_db_version (version_id, is_applied) VALUES (15, 1);
INSERT INTO meta (name, value) VALUES ('salt', randomblob(32));
