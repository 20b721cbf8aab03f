-- +goose Up

-- What a stream owes is found without a look at what others owe, or at what is closed.
CREATE INDEX gaps_of_stream ON gaps (stream_id) WHERE state IN ('open', 'leased', 'dead');
