"""The tables of an annotation database, as migrations from any older version to the current one.

The version of a database is the number of migrations applied to it. Released migrations must never be edited; append a
new one instead.
"""

APPLICATION_ID = 0x53415953
"""Marks an SQLite file as an annotation database: `SAYS`."""

_FIRST = """
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
"""

# Only digests are stored, so reading the file does not allow signing in.
_ACCESS = """
CREATE TABLE session (digest TEXT PRIMARY KEY, annotator INTEGER NOT NULL REFERENCES annotator, created TEXT NOT NULL);
CREATE TABLE link (digest TEXT PRIMARY KEY, annotator INTEGER NOT NULL REFERENCES annotator, created TEXT NOT NULL);
"""

# Annotators who marked a pilot round have seen its answers, so its facts stay out of the queue when it ends.
_PAST_PILOT = """
ALTER TABLE pilot ADD COLUMN is_over INTEGER NOT NULL DEFAULT 0;
"""

# The terms of an assignment do not change: practice in a pilot round or real work, and how many annotators mark it
# (NULL: as many as the settings say). In older databases, work on a fact of a pilot round is practice if the answers
# existed before the annotator's first mark. A fact of a past round that nobody has practised on returns to the queue.
_FIXED_CLAIM = """
ALTER TABLE claim ADD COLUMN is_pilot INTEGER NOT NULL DEFAULT 0;
ALTER TABLE claim ADD COLUMN quota INTEGER;
UPDATE claim SET is_pilot = 1 WHERE fact IN (SELECT fact FROM pilot) AND NOT EXISTS (
  SELECT 1 FROM event WHERE event.owner = claim.annotator AND event.fact = claim.fact AND kind = 'mark'
    AND step < (SELECT min(step) FROM event AS known WHERE known.owner = -1 AND known.fact = claim.fact)
);
UPDATE claim SET quota = coalesce(
  (SELECT json_extract(value, '$.annotators_per_fact') FROM setting WHERE name = 'queue'), 2
) WHERE NOT is_pilot;
-- Facts that someone has submitted, not counting practice: used for agreement and exports.
CREATE VIEW finished (annotator, fact) AS SELECT owner, entry.fact FROM entry
  WHERE kind = 'submitted' AND sentence = 0 AND NOT EXISTS (
    SELECT 1 FROM claim WHERE claim.annotator = owner AND claim.fact = entry.fact AND is_pilot
  );
-- Facts that someone has submitted as practice, and whose answers they may have seen.
CREATE VIEW practised (annotator, fact) AS SELECT owner, entry.fact FROM entry
  JOIN claim ON claim.annotator = owner AND claim.fact = entry.fact AND is_pilot
  WHERE kind = 'submitted' AND sentence = 0;
DELETE FROM pilot WHERE is_over AND fact NOT IN (SELECT fact FROM practised);
"""

MIGRATIONS: tuple[str, ...] = (_FIRST, _ACCESS, _PAST_PILOT, _FIXED_CLAIM)
