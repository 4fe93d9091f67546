-- The terms of an assignment do not change: practice in a pilot round or real work, and how many annotators mark it
-- (NULL: as many as the settings say). In older databases, work on a fact of a pilot round is practice if the answers
-- existed before the annotator's first mark. A fact of a past round that nobody has practised on returns to the queue.
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
