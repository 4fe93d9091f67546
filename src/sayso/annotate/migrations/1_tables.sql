CREATE TABLE setting (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE annotator (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE COLLATE NOCASE, created TEXT NOT NULL);
CREATE TABLE fact (
  id INTEGER PRIMARY KEY, head_id TEXT NOT NULL, relation TEXT NOT NULL, tail_id TEXT NOT NULL,
  UNIQUE (head_id, relation, tail_id)
);
CREATE TABLE sentence (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);

-- One user action, which is undone as a whole. The client chooses `key`, so that a repeated request has no effect.
CREATE TABLE step (
  id INTEGER PRIMARY KEY AUTOINCREMENT, key TEXT NOT NULL, actor INTEGER NOT NULL REFERENCES annotator,
  scope TEXT NOT NULL, time TEXT NOT NULL, undoes INTEGER REFERENCES step, UNIQUE (actor, key)
);
CREATE INDEX step_undoes ON step (undoes);
CREATE TABLE event (
  id INTEGER PRIMARY KEY AUTOINCREMENT, step INTEGER NOT NULL REFERENCES step, owner INTEGER NOT NULL,
  fact INTEGER NOT NULL REFERENCES fact, sentence INTEGER NOT NULL, kind TEXT NOT NULL,
  value TEXT NOT NULL, before TEXT NOT NULL
);
CREATE INDEX event_step ON event (step);
-- The resulting state: the last non-empty value of each entry. Sentence 0 stands for the whole fact.
CREATE TABLE entry (
  owner INTEGER NOT NULL, fact INTEGER NOT NULL REFERENCES fact, sentence INTEGER NOT NULL, kind TEXT NOT NULL,
  value TEXT NOT NULL, step INTEGER NOT NULL REFERENCES step, PRIMARY KEY (owner, fact, sentence, kind)
) WITHOUT ROWID;
CREATE INDEX entry_fact ON entry (fact, kind);

-- Which facts are assigned to whom, in which order, and each annotator's last position.
CREATE TABLE claim (
  id INTEGER PRIMARY KEY AUTOINCREMENT, annotator INTEGER NOT NULL REFERENCES annotator,
  fact INTEGER NOT NULL REFERENCES fact, time REAL NOT NULL, UNIQUE (annotator, fact)
);
CREATE INDEX claim_fact ON claim (fact);
CREATE TABLE place (
  annotator INTEGER PRIMARY KEY REFERENCES annotator, fact INTEGER NOT NULL REFERENCES fact, sentence INTEGER NOT NULL
);
CREATE TABLE pilot (fact INTEGER PRIMARY KEY REFERENCES fact);
