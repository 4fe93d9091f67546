"""Try: run a model, in its own process, on pasted sentences."""
