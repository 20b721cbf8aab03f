-- +goose Up

-- A record stored before has no mark until it is delivered again.
ALTER TABLE records ADD COLUMN
    mark_scale TEXT NOT NULL DEFAULT '' /* what mark counts: the field of the record and the kind of its values; '' for no mark */;

ALTER TABLE records ADD COLUMN
    mark TEXT NOT NULL DEFAULT '' /* when this version is from: sorts as text among those of one scale */;

ALTER TABLE slices ADD COLUMN
    older INTEGER NOT NULL DEFAULT 0 /* delivered, and not stored: a later version was there, by its mark */;

ALTER TABLE runs ADD COLUMN
    older INTEGER NOT NULL DEFAULT 0 /* delivered, and not stored: a later version was there, by its mark */;

-- Where a name has only ASCII letters, a record tells of its spelling when it
-- comes; the others are often spelled with escapes.
ALTER TABLE fields ADD COLUMN
    escaped INTEGER NOT NULL DEFAULT 0 /* 1: some records spell the name with an escape, as in "caf\u00e9" */;

UPDATE fields SET escaped = 1 WHERE name GLOB '*[^ -.0-~]*';

-- A person may have a view of that name.
CREATE VIEW IF NOT EXISTS owed AS SELECT
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

CREATE VIEW IF NOT EXISTS pace AS WITH
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
