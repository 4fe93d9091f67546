"""`Sentence` to `Bag`: group by pair, split by pair, refuse leakage, attach types and vectors, keep on disk."""
