"""`Bag` to `Bag` with a sentence that should not count: choose one, put it in (SPEC: learning from distractors)."""
