-- +goose Up

-- A commit before this has none: which days its records are of is not known.
ALTER TABLE slices ADD COLUMN
    span TEXT NOT NULL DEFAULT '' /* JSON: the window of time that this commit finished, and how many records the provider had for it; '' for none */;
