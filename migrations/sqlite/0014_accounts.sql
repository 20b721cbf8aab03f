-- +goose Up

-- Several accounts of a provider may take turns in one run.
ALTER TABLE runs ADD COLUMN
    accounts TEXT NOT NULL DEFAULT '[]' /* then all of them, as JSON: [{"domain", "from"}], that of domain first */;
