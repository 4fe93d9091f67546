"""Pure functions on numbers; they know nothing of models."""
