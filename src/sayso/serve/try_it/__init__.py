"""Try: a run's model, in its own process, answers questions about pasted sentences."""
