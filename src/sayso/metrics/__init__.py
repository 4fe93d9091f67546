"""Metrics as pure functions, independent of models."""
