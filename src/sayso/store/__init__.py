"""Turn sentences into bags on disk: group by pair, split by pair, refuse leakage, attach types and vectors."""
