"""Pure functions on numbers, independent of models."""
