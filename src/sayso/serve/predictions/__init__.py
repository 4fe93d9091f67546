"""Predictions: a run's facts as a table, one fact with its sentences, two runs side by side, the curve."""
