-- +goose Up

-- A piece that a person gave up is dead, and says so.
ALTER TABLE gaps ADD COLUMN
    waived_at TEXT /* NULL: it is not waived */;

ALTER TABLE gaps ADD COLUMN
    waived_by TEXT NOT NULL DEFAULT '' /* who waived it */;

ALTER TABLE gaps ADD COLUMN
    waived_why TEXT NOT NULL DEFAULT '' /* the reason that they gave */;
