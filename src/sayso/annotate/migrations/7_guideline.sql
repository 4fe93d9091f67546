-- Every version of the guideline; the latest counts, and an empty one is the default. Older databases had only the latest.
CREATE TABLE guideline (
  id INTEGER PRIMARY KEY AUTOINCREMENT, text TEXT NOT NULL, author INTEGER REFERENCES annotator, time TEXT NOT NULL
);
INSERT INTO guideline (text, author, time) SELECT value, NULL, '' FROM setting WHERE name = 'guideline';
DELETE FROM setting WHERE name = 'guideline';
-- Every definition that a lead has entered; the latest of a relation replaces the store's.
CREATE TABLE definition (
  id INTEGER PRIMARY KEY AUTOINCREMENT, relation TEXT NOT NULL, definition TEXT NOT NULL, example TEXT NOT NULL,
  author INTEGER NOT NULL REFERENCES annotator, time TEXT NOT NULL
);
CREATE INDEX definition_relation ON definition (relation);
