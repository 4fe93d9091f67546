"""Predictions: a run's predicted facts as a table, one fact with its sentences, two runs side by side, the curve."""
