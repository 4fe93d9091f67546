-- What a person may do: an annotator marks and decides, a reviewer decides, a reader changes nothing.
ALTER TABLE annotator ADD COLUMN role TEXT NOT NULL DEFAULT 'annotator';
