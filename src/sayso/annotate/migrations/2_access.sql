-- Only digests are stored, so reading the file does not allow signing in.
CREATE TABLE session (digest TEXT PRIMARY KEY, annotator INTEGER NOT NULL REFERENCES annotator, created TEXT NOT NULL);
CREATE TABLE link (digest TEXT PRIMARY KEY, annotator INTEGER NOT NULL REFERENCES annotator, created TEXT NOT NULL);
