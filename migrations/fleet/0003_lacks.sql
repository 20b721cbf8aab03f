-- What a worker lacks is seen by all. Older workers ignore it and go on, so that `least` stays.

ALTER TABLE fleet_workers ADD COLUMN lacks JSONB NOT NULL DEFAULT '{}';
COMMENT ON COLUMN fleet_workers.lacks IS 'By connector whose turns it leaves to others: why, in a sentence without any value, and until when. {"ants": {"why": "...", "until": "..."}}';
