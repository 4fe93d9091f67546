-- Finds the last change of a person's work on a fact, which every request that changes it is compared with.
CREATE INDEX event_fact ON event (fact, owner);
