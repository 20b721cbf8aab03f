-- +goose Up
CREATE TABLE paces (
    account TEXT COLLATE "C" PRIMARY KEY,
    lead    TEXT NOT NULL,
    state   TEXT
);
COMMENT ON TABLE paces IS 'The accounts whose pace the processes of several machines share.';
COMMENT ON COLUMN paces.account IS 'A hash of the provider and the credential, under the salt of this store.';
COMMENT ON COLUMN paces.lead IS 'Who leads, until when, in microseconds of the clock of the server, as JSON.';
COMMENT ON COLUMN paces.state IS 'What was learned and must not be forgotten, as JSON, with times of the clock of the server.';
