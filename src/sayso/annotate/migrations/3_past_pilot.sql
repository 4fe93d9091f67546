-- Annotators who marked a pilot round have seen its answers, so its facts stay out of the queue when it ends.
ALTER TABLE pilot ADD COLUMN is_over INTEGER NOT NULL DEFAULT 0;
