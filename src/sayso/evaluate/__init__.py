"""Evaluation of runs on a store: metrics, reports and stored predictions."""
