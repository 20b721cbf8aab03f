-- +goose Up

-- A cursor says nothing to a connector that was edited since: to a list with
-- pages of another size, or with another selection. What is stored already says
-- nothing about that, and is gone on with as before.
ALTER TABLE checkpoints ADD COLUMN
    meaning BLOB NOT NULL DEFAULT x'' /* the connector's note of what the cursor says something about */;

ALTER TABLE gaps ADD COLUMN
    meaning BLOB NOT NULL DEFAULT x'' /* part of the cursor, as in checkpoints */;
