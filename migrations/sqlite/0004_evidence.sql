-- +goose Up

ALTER TABLE records ADD COLUMN
    pass INTEGER NOT NULL DEFAULT 0 /* the commit that began the pass that delivered it last; 0: a pass of one page */;

ALTER TABLE checkpoints ADD COLUMN
    evidence TEXT NOT NULL DEFAULT '' /* JSON: what the newest pass delivered, and what the provider said of the whole; '': nothing to be said */;
