"""Try: ask a run's model, in its own process, about pasted sentences."""
