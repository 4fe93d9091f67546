"""Predictions: the facts of a run as a table, one fact with its sentences, two runs side by side, the curve."""
