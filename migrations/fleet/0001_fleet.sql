-- What a fleet keeps beside the store, and beside the tables of River, in the same schema.

CREATE TABLE fleet_version (
    version INT NOT NULL
);
COMMENT ON TABLE fleet_version IS 'The newest migration of the tables fleet_*. A worker of an older version hands its turns over and ends.';
INSERT INTO fleet_version VALUES (0);

CREATE TABLE fleet_workers (
    id         TEXT PRIMARY KEY,
    host       TEXT NOT NULL,
    pid        BIGINT NOT NULL,
    version    TEXT NOT NULL,
    at_most    INT NOT NULL,
    started_at TIMESTAMPTZ NOT NULL,
    seen_at    TIMESTAMPTZ NOT NULL,
    draining   BOOLEAN NOT NULL DEFAULT false,
    lock       BIGINT NOT NULL,
    jobs       BIGINT[] NOT NULL
);
COMMENT ON TABLE fleet_workers IS 'The workers that are there, by their beats.';
COMMENT ON COLUMN fleet_workers.seen_at IS 'The newest beat, by the clock of this server.';
COMMENT ON COLUMN fleet_workers.lock IS 'The advisory lock that its session has: one without it is dead.';
COMMENT ON COLUMN fleet_workers.jobs IS 'The rows of river_job whose turns it has in hand.';

CREATE TABLE fleet_schedules (
    connector  TEXT PRIMARY KEY,
    cron       TEXT NOT NULL,
    zone       TEXT NOT NULL,
    jitter     INTERVAL NOT NULL,
    catch_up   TEXT NOT NULL CHECK (catch_up IN ('once', 'none')),
    next_at    TIMESTAMPTZ NOT NULL,
    changed_at TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp()
);
COMMENT ON COLUMN fleet_schedules.catch_up IS 'What becomes of a time at which no worker was there: one late turn, or none.';
COMMENT ON COLUMN fleet_schedules.next_at IS 'When the next turn is due, the jitter included, by the clock of this server.';

CREATE TABLE fleet_orders (
    id        BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    at        TIMESTAMPTZ NOT NULL DEFAULT clock_timestamp(),
    kind      TEXT NOT NULL,
    connector TEXT NOT NULL,
    who       TEXT NOT NULL,
    host      TEXT NOT NULL,
    pid       BIGINT NOT NULL,
    why       TEXT NOT NULL,
    what      TEXT NOT NULL
);
COMMENT ON TABLE fleet_orders IS 'What people ordered, in the transaction of what it did: enqueue, schedule.add, schedule.remove.';
