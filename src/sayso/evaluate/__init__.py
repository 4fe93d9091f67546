"""Evaluation of runs on a store: figures, reports, and the stored predictions."""
